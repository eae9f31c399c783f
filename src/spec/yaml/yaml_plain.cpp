// The part of YAML that people write by hand: mappings and lists by indentation, mappings and lists
// in brackets on one line, words, quoted texts without escapes, comments. Whatever else a text
// holds, and whatever is no YAML, makes the whole text somebody else's: no error is found here.
#include <algorithm>
#include <string>

#include "spec/yaml/yaml_document.h"

namespace ergometer::spec {
namespace {

using Kind = YamlValue::Kind;

constexpr int kDeepest = 32;
constexpr size_t kLongestKey = 200;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_printable(char c) { return c == '\n' || (c >= ' ' && c <= '~'); }
bool is_in_key(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-' || c == '/';
}
/// Begins a word and nothing else; of signs only what numbers and paths begin with.
bool begins_word(char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '/'; }
bool says_nothing(std::string_view word) {
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

class PlainReader {
 public:
  PlainReader(std::string_view text, YamlDocument& document) : text_(text), document_(document) {}

  bool read() {
    if (!std::ranges::all_of(text_, is_printable)) return false;
    if (!next_line() || indent_ != 0) return false;
    const YamlValue* root = block(0, 0);
    if (root == nullptr || at_ < text_.size()) return false;
    document_.set_root(root);
    return true;
  }

 private:
  /// Goes to the first word of the next line that has one; `indent_` is its column. False at the
  /// end.
  bool next_line() {
    for (;;) {
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      if (at_ >= text_.size()) return false;
      indent_ = at_ - begin;
      if (text_[at_] != '\n' && text_[at_] != '#') return true;
      at_ = std::min(text_.find('\n', at_), text_.size());
      end_line();
    }
  }
  void end_line() {
    if (at_ >= text_.size()) return;
    ++at_;
    ++line_;
  }
  char here() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  char behind() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
  void skip_spaces() {
    while (here() == ' ' && at_ < text_.size()) ++at_;
  }
  /// Behind a value only a comment may stand. Goes to the next line with words.
  bool finish_line(size_t parent_column) {
    const bool spaced = here() == ' ';
    skip_spaces();
    if (here() == '#' && spaced) at_ = std::min(text_.find('\n', at_), text_.size());
    if (here() != '\n') return false;
    end_line();
    // A line further in would go on with the value.
    return !next_line() || indent_ <= parent_column;
  }

  /// What begins here, at `column`, and goes on at the same column of later lines.
  const YamlValue* block(size_t column, int depth) {
    if (depth > kDeepest) return nullptr;
    return here() == '-' && behind() == ' ' ? block_list(column, depth) : block_map(column, depth);
  }

  const YamlValue* block_list(size_t column, int depth) {
    YamlValue* list = document_.add(Kind::kList, line_);
    do {
      if (here() != '-' || behind() != ' ') return nullptr;
      const size_t dash = at_++;
      skip_spaces();
      const YamlValue* item =
          begins_pair() ? block(column + (at_ - dash), depth + 1) : value_on_line(column, depth);
      if (item == nullptr) return nullptr;
      list->items.push_back(item);
    } while (at_ < text_.size() && indent_ == column);
    return at_ < text_.size() && indent_ > column ? nullptr : list;
  }

  const YamlValue* block_map(size_t column, int depth) {
    YamlValue* map = document_.add(Kind::kMap, line_);
    do {
      const YamlValue* key = read_key();
      if (key == nullptr) return nullptr;
      const YamlValue* value = value_of_key(column, depth);
      if (value == nullptr) return nullptr;
      map->pairs.emplace_back(key, value);
    } while (at_ < text_.size() && indent_ == column);
    return at_ < text_.size() && indent_ > column ? nullptr : map;
  }

  const YamlValue* value_of_key(size_t column, int depth) {
    const bool spaced = here() == ' ';
    skip_spaces();
    const bool ends = here() == '\n' || (here() == '#' && spaced);
    if (!ends) return value_on_line(column, depth);
    at_ = std::min(text_.find('\n', at_), text_.size());
    end_line();
    if (!next_line() || indent_ <= column) return nullptr;
    return begins_pair() || (here() == '-' && behind() == ' ') ? block(indent_, depth + 1)
                                                               : nullptr;
  }

  const YamlValue* value_on_line(size_t column, int depth) {
    const YamlValue* value = inline_value(false, depth);
    return value != nullptr && finish_line(column) ? value : nullptr;
  }

  /// A word and a colon: `key: ` or `key:` at the end of the line.
  bool begins_pair() const { return key_length() > 0; }
  size_t key_length() const {
    if (!begins_word(here())) return 0;
    size_t end = at_;
    while (end < text_.size() && is_in_key(text_[end])) ++end;
    if (end >= text_.size() || text_[end] != ':' || end - at_ > kLongestKey) return 0;
    const bool separated =
        end + 1 >= text_.size() || text_[end + 1] == ' ' || text_[end + 1] == '\n';
    return separated ? end - at_ : 0;
  }
  const YamlValue* read_key() {
    const size_t length = key_length();
    if (length == 0) return nullptr;
    const YamlValue* key = word(text_.substr(at_, length));
    at_ += length + 1;
    // `...: ` and `...` alone end a document.
    return key->is_null() || key->scalar.starts_with("...") ? nullptr : key;
  }

  const YamlValue* word(std::string_view text) {
    const bool nothing = says_nothing(text);
    YamlValue* value = document_.add(nothing ? Kind::kNull : Kind::kScalar, line_);
    if (!nothing) value->scalar = text;
    return value;
  }

  const YamlValue* inline_value(bool in_brackets, int depth) {
    if (depth > kDeepest) return nullptr;
    switch (here()) {
      case '[': return inline_list(depth);
      case '{': return inline_map(depth);
      case '"':
      case '\'': return quoted();
      default: return plain(in_brackets);
    }
  }

  const YamlValue* quoted() {
    const char quote = text_[at_];
    const size_t end = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\n", at_ + 1);
    if (end == text_.npos || text_[end] != quote) return nullptr;
    YamlValue* value = document_.add(Kind::kScalar, line_);
    value->quoted = true;
    value->scalar = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return here() == '\'' || here() == '"' || here() == ':' ? nullptr : value;
  }

  /// Up to the end of the line, a comment or, in brackets, what ends a value there.
  const YamlValue* plain(bool in_brackets) {
    const bool signed_number = (here() == '-' || here() == '+') && is_letter_or_digit(behind());
    const bool tilde = here() == '~';
    if (!begins_word(here()) && !signed_number && !tilde) return nullptr;
    size_t end = at_;
    for (; end < text_.size() && text_[end] != '\n'; ++end) {
      const char c = text_[end];
      const char next = end + 1 < text_.size() ? text_[end + 1] : '\n';
      if (c == '#' && text_[end - 1] == ' ') break;
      if (c == ':' && (next == ' ' || next == '\n')) return nullptr;
      if (!in_brackets) continue;
      if (c == ',' || c == ']' || c == '}') break;
      if (c == '[' || c == '{' || c == '?' || c == ':') return nullptr;
    }
    std::string_view text = text_.substr(at_, end - at_);
    text = text.substr(0, text.find_last_not_of(' ') + 1);
    if (text.starts_with("...")) return nullptr;
    at_ += text.size();
    return word(text);
  }

  const YamlValue* inline_list(int depth) {
    YamlValue* list = document_.add(Kind::kList, line_);
    ++at_;
    skip_spaces();
    if (here() == ']') return ++at_, list;
    do {
      skip_spaces();
      const YamlValue* item = inline_value(true, depth + 1);
      if (item == nullptr) return nullptr;
      list->items.push_back(item);
    } while (another(']'));
    return closed(']') ? list : nullptr;
  }

  const YamlValue* inline_map(int depth) {
    YamlValue* map = document_.add(Kind::kMap, line_);
    ++at_;
    skip_spaces();
    if (here() == '}') return ++at_, map;
    do {
      skip_spaces();
      const YamlValue* key = read_key();
      if (key == nullptr || here() != ' ') return nullptr;
      skip_spaces();
      const YamlValue* value = inline_value(true, depth + 1);
      if (value == nullptr) return nullptr;
      map->pairs.emplace_back(key, value);
    } while (another('}'));
    return closed('}') ? map : nullptr;
  }

  /// Goes behind a comma.
  bool another(char end) {
    skip_spaces();
    if (here() == end || here() != ',') return false;
    ++at_;
    return true;
  }
  bool closed(char end) {
    if (here() != end) return false;
    ++at_;
    // `[a]: b` has a list as its key.
    return here() != ':';
  }

  std::string_view text_;
  YamlDocument& document_;
  size_t at_ = 0, indent_ = 0;
  int line_ = 1;
};

}  // namespace

std::shared_ptr<const YamlDocument> parse_plain_yaml(std::string_view text) {
  auto document = std::make_shared<YamlDocument>();
  const std::string_view kept = document->keep(std::string(text));
  if (!PlainReader(kept, *document).read()) return nullptr;
  return document;
}

}  // namespace ergometer::spec
