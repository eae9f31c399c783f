#pragma once

#include <fmt/core.h>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Typed access to a configuration file's values by dotted path. What was asked for is used, the
/// rest becomes leftovers; the first thing wrong is kept (`error`), later calls return nothing.
class FlatReader {
 public:
  /// `framework`: of catalog/tables/framework_options.csv. A value of line 0 is a default, one of
  /// a negative line stands on a command line.
  FlatReader(const spec::FlatYaml& values, const std::string& file, std::string framework)
      : values_(values), file_(file), framework_(std::move(framework)) {}

  /// Null where there is none, and for "auto": the framework takes another file's value.
  const spec::FlatValue* find(std::string_view key);
  bool has(std::string_view key) { return find(key) != nullptr; }
  /// The first of several spellings that is there; empty if none is.
  std::string_view present(std::initializer_list<std::string_view> keys);
  /// Whether anything stands under the section.
  bool has_section(std::string_view section) const;
  std::string text(std::string_view key, std::string_view fallback = "");
  /// Yes and no as YAML, JSON, Python and TOML write them; anything else is refused.
  bool flag(std::string_view key, bool fallback);
  std::optional<bool> said_flag(std::string_view key);
  /// Whether the value is this word, in small letters; any other one is left to be classified.
  bool says(std::string_view key, std::string_view word);
  /// A whole number from `least` on; anything else is refused.
  std::optional<int64_t> integer(std::string_view key, int64_t least);
  /// The same of what a setting is worked out from, which a placeholder there leaves open.
  std::optional<int64_t> count_for(std::string_view setting, std::string_view key, int64_t least);
  bool is_open(std::string_view setting) const { return reading_.open.contains(setting); }
  /// What must be there, from 1 to 100 million, so that products of two stay whole; else refused.
  int64_t size(std::string_view key);

  /// A setting with the value as it stands, if there is one; false if there is none.
  bool copy(std::string_view key, std::string_view setting);
  /// As `copy`, of a number of `least` or more; less and "null" say nothing ("-1": all).
  bool copy_count(std::string_view key, std::string_view setting, int64_t least = 1);
  bool copy_flag(std::string_view key, std::string_view setting);
  /// A setting because of what stands at `key`.
  void set(std::string_view setting, std::string value, std::string_view key);
  void set_flag(std::string_view setting, bool on, std::string_view key);
  void set_count(std::string_view setting, int64_t number, std::string_view key);
  /// As `copy_count`, with a number where the file says none; which one it is.
  int64_t copy_count_or(std::string_view key, std::string_view setting, int64_t fallback);
  /// What holds because nothing is said: weaker than every file's word.
  void set_default(std::string_view setting, std::string value, std::string_view reason);
  /// What holds where no other file names a framework that does otherwise.
  void set_fallback(std::string_view setting, std::string value, std::string_view reason);
  /// Names the recipe of the file's framework, unless the file names one.
  void set_framework(const char* recipe);
  void note(std::string text) { reading_.notes.push_back(std::move(text)); }
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void note(fmt::format_string<Parts...> form, Parts&&... parts) {
    note(fmt::format(form, std::forward<Parts>(parts)...));
  }
  /// Something that was read, and that the prediction knows not: "memory: ...".
  void not_modelled(std::string_view key, std::string says);

  /// So many GPUs of each of several nodes: a cluster whose nodes have others is warned of.
  void set_node_gpus(int64_t each, int64_t nodes, std::string_view key);

  spec::Origin origin(std::string_view key) const;
  const std::string& file() const { return file_; }
  const std::optional<base::Error>& error() const { return error_; }
  void refuse(std::string_view key, std::string_view allowed);
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void refuse(std::string_view key, fmt::format_string<Parts...> form, Parts&&... parts) {
    refuse(key, fmt::format(form, std::forward<Parts>(parts)...));
  }
  void fail(base::Error error);

  Reading& reading() { return reading_; }
  /// What was set so far.
  const spec::Settings& said() const { return reading_.settings; }
  /// The reading, with what nobody asked for among its leftovers; or the first error. A size of
  /// parallelism that nobody asked for is an error: the job would be another one.
  Result<Reading> finish(std::string form);

 private:
  void add_leftovers();
  std::string perhaps_meant(const std::string& key) const;
  bool is_switched_off(const std::string& key) const;

  const spec::FlatYaml& values_;
  const std::string file_;
  std::string framework_;
  std::set<std::string, std::less<>> asked_;
  Reading reading_;
  std::optional<base::Error> error_;
};

/// JSON as YAML reads it, with messages that speak of JSON.
Result<spec::FlatYaml> flatten_json(const std::string& text, const std::string& file,
                                    const spec::YamlContext& context = {});
/// The one or the other: JSON begins with a brace.
Result<spec::FlatYaml> flatten_either(const std::string& text, const std::string& file,
                                      const spec::YamlContext& context = {});

/// Whether a key's last word divides a job over GPUs: "model.tensor_parallel_size".
bool divides_job(std::string_view key);

/// Whether a value says that its option is off: false, no, none, 0, nothing.
bool is_off(std::string_view text);

}  // namespace ergometer::intake
