#pragma once

#include <fmt/core.h>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ergometer::spec {

/// Strict access to one object of a config.json. A key is asked for by its Hugging Face name;
/// families that spell it differently (`n_embd` for `hidden_size`) are found through one table of
/// aliases. The first thing wrong is kept as the error and later calls return their fallback, so
/// that a reader can ask for everything and check `error()` once:
///
///     const int64_t hidden = config.size("hidden_size", 4096);
///     const bool bias = config.flag("attention_bias", false);
///     if (config.error()) return *config.error();
class ConfigReader {
 public:
  /// `text` is the whole file, for line numbers; all three must outlive the reader.
  ConfigReader(const nlohmann::json& object, std::string_view text, const std::string& file);
  ~ConfigReader();
  ConfigReader(const ConfigReader&) = delete;
  ConfigReader& operator=(const ConfigReader&) = delete;

  /// Present and not null, under any of its spellings.
  bool has(std::string_view key);
  /// Written out as null, which in some families means something else than absent.
  bool is_null(std::string_view key);
  /// A whole number of at least one.
  int64_t size(std::string_view key, int64_t fallback);
  int64_t required_size(std::string_view key);
  /// A whole number of at least zero; null counts as absent.
  int64_t count(std::string_view key, int64_t fallback);
  double real(std::string_view key, double fallback, double min, double max);
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key, const std::string& fallback);
  std::vector<std::string> texts(std::string_view key);
  std::vector<int64_t> counts(std::string_view key);
  /// A nested object; null when absent. Its unknown keys are listed by this reader, too.
  ConfigReader* child(std::string_view key);
  bool is_nested() const { return !prefix_.empty(); }
  /// The value as it stands, null when absent, for what no call above covers.
  const nlohmann::json* raw(std::string_view key);

  /// Keeps `found ...; allowed ...` as the error about `key`.
  void refuse(std::string_view key, const std::string& found_and_allowed);
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void refuse(std::string_view key, fmt::format_string<Parts...> form, Parts&&... parts) {
    refuse(key, fmt::format(form, std::forward<Parts>(parts)...));
  }
  const std::optional<base::Error>& error() const { return *error_; }
  /// Keys nobody asked for and that are not known to be harmless, `parent.key` for nested ones.
  std::vector<std::string> unknown_keys() const;

 private:
  ConfigReader(const nlohmann::json& object, ConfigReader& parent, std::string_view key);
  const nlohmann::json* find(std::string_view key, std::string_view* spelling = nullptr);
  int64_t whole_number(std::string_view key, int64_t fallback, int64_t min);
  void refuse_value(std::string_view spelling, const nlohmann::json& value,
                    std::string_view allowed);
  size_t line_of(std::string_view spelling) const;

  const nlohmann::json& object_;
  std::string_view text_;
  const std::string& file_;
  std::string prefix_;  ///< "text_config." in a nested object
  std::vector<std::string> used_;
  std::vector<std::pair<std::string, std::unique_ptr<ConfigReader>>> children_;
  std::shared_ptr<std::optional<base::Error>> error_;
};

/// "a string", "4096.5", "null": a value as messages show it.
std::string describe(const nlohmann::json& value);

}  // namespace ergometer::spec
