#pragma once

#include <fmt/core.h>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"

namespace ergometer::spec {

class YamlDocument;
struct YamlValue;

/// Strict access to one mapping of a YAML file. As with ConfigReader the first thing wrong is kept,
/// shared by all mappings of the file, and asked for once at the end. Messages read
/// `cluster.yaml:7: node.gpus: found "eight"; allowed: a whole number from 1 to 64`.
class YamlMap {
 public:
  /// The file's top mapping. Empty files, syntax errors and anything else than a mapping are errors
  /// at once.
  static Result<YamlMap> parse(std::string_view text, const std::string& file);

  bool has(std::string_view key) const;
  /// Refuses keys that are not in the list, naming the nearest one that is.
  void allow(std::initializer_list<std::string_view> keys);
  void require(std::string_view key);

  std::string text(std::string_view key, std::string_view fallback = "");
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max);
  double real(std::string_view key, double fallback, double min, double max);
  std::vector<int64_t> integers(std::string_view key, int64_t min, int64_t max);
  /// The index of the word in `words`.
  int choice(std::string_view key, std::initializer_list<std::string_view> words, int fallback) {
    return choice(key, std::vector<std::string>(words.begin(), words.end()), fallback);
  }
  int choice(std::string_view key, const std::vector<std::string>& words, int fallback);
  /// A value as the catalog writes it, `{value: 80 GB, source: ..., grade: datasheet}`, or the bare
  /// value; then the source is the file and line, and the grade `assumed`.
  base::Parameter parameter(std::string_view key, std::string_view unit, double min, double max);
  /// A nested mapping; nothing when the key is absent or holds a scalar.
  std::optional<YamlMap> map(std::string_view key);
  /// The same, and a scalar is refused: `found a word; allowed: ...`.
  std::optional<YamlMap> map(std::string_view key, std::string_view allowed);
  /// A list of mappings; empty when absent.
  std::vector<YamlMap> maps(std::string_view key);
  /// A list of scalars and mappings; a single scalar or mapping is a list of one.
  struct Element;
  std::vector<Element> elements(std::string_view key);
  /// A list of scalars and nothing else; empty when absent.
  std::vector<std::string> texts(std::string_view key);
  std::vector<std::string> keys() const;
  /// The mapping's keys and values in file order; a value that is not a scalar becomes inline JSON.
  struct Item {
    std::string key, value;
    int line;
    bool is_map;
    bool is_scalar;
  };
  std::vector<Item> items();
  /// All of it as one line of JSON, which reads as the same mapping: what a job file holds inline.
  std::string as_json() const;

  void refuse(std::string_view key, const std::string& message);
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void refuse(std::string_view key, fmt::format_string<Parts...> form, Parts&&... parts) {
    refuse(key, fmt::format(form, std::forward<Parts>(parts)...));
  }
  void refuse_at(int line, std::string_view key, const std::string& message);
  const std::optional<base::Error>& error() const { return *error_; }
  int line_of(std::string_view key) const;
  /// The file's name, as `parse` was told.
  const std::string& file() const { return file_; }

 private:
  YamlMap(const YamlValue& node, std::shared_ptr<const YamlDocument> document, std::string file,
          std::string prefix, std::shared_ptr<std::optional<base::Error>> error);
  const YamlValue* find(std::string_view key) const;
  YamlMap nested(const YamlValue& node, const std::string& prefix);

  struct Entry;
  std::shared_ptr<std::vector<Entry>> entries_;
  std::shared_ptr<const YamlDocument> document_;  ///< holds what the entries point to
  std::string file_;
  std::string prefix_;  ///< "node." in a nested mapping
  int line_ = 0;        ///< where the mapping starts
  std::shared_ptr<std::optional<base::Error>> error_;
};

struct YamlMap::Element {
  std::string
      text;  ///< a scalar as it stands; a list of scalars joined by commas; else inline JSON
  int line;
  std::optional<YamlMap> map;  ///< of a mapping
};

}  // namespace ergometer::spec
