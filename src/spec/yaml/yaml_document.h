#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ergometer::spec {

/// One value of a YAML document.
struct YamlValue {
  enum class Kind { kNull, kScalar, kList, kMap };
  using Pair = std::pair<const YamlValue*, const YamlValue*>;

  Kind kind = Kind::kNull;
  bool quoted = false;                  ///< of a scalar: a text even where it reads as a number
  int line = 1;                         ///< on which it begins
  std::string_view scalar;              ///< of a scalar; the document holds it
  std::vector<const YamlValue*> items;  ///< of a list
  std::vector<Pair> pairs;              ///< of a mapping, in the file's order

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
};

/// A YAML file, parsed. Values that the file names twice (anchors) are one value.
class YamlDocument {
 public:
  YamlDocument() = default;
  YamlDocument(const YamlDocument&) = delete;
  YamlDocument& operator=(const YamlDocument&) = delete;

  /// Null for a file without values.
  const YamlValue& root() const { return *root_; }

  YamlValue* add(YamlValue::Kind kind, int line);
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  void set_root(const YamlValue* root) { root_ = root; }

 private:
  std::deque<YamlValue> values_;
  std::deque<std::string> texts_;
  const YamlValue* root_ = add(YamlValue::Kind::kNull, 1);
};

/// The file's only document that says something. Syntax errors read `file:line:column: not valid
/// YAML: ...`; a second document that says something is an error as well.
Result<std::shared_ptr<const YamlDocument>> parse_yaml(std::string_view text,
                                                       const std::string& file);

/// The two that `parse_yaml` is made of. What people write by hand, every file of the catalog among
/// it, needs little of YAML: `parse_plain_yaml` reads that little, twenty times as fast, and
/// returns null for any text of which it is not sure; that, and every mistake, is the library's.
std::shared_ptr<const YamlDocument> parse_plain_yaml(std::string_view text);
Result<std::shared_ptr<const YamlDocument>> parse_any_yaml(std::string_view text,
                                                           const std::string& file);

/// Reads all documents of a text and keeps nothing. Throws YAML::Exception where the text is no
/// YAML, also where YAML::LoadAll would not end.
void walk_yaml(const std::string& text);

/// The error of a file with another document behind its first, whose first value is on `line`.
tl::unexpected<base::Error> second_document(const std::string& file, int line);

}  // namespace ergometer::spec
