#include "spec/model/layer_pattern.h"

#include <string>

#include "base/text.h"

namespace ergometer::spec {
namespace {

class PatternParser {
 public:
  PatternParser(std::string_view text, size_t max_entries)
      : text_(text), max_entries_(max_entries) {}

  std::optional<std::vector<int64_t>> parse() {
    auto list = sum(0);
    skip_blanks();
    if (!list || at_ != text_.size()) return std::nullopt;
    return list;
  }

 private:
  using List = std::optional<std::vector<int64_t>>;
  static constexpr int kDeepest = 16;

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<int64_t> number() {
    skip_blanks();
    int64_t value = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > 1'000'000) return std::nullopt;
    }
    return at_ == start ? std::nullopt : std::optional(value);
  }

  List sum(int depth) {
    List total = product(depth);
    while (total && take('+')) {
      const List next = product(depth);
      if (!next || total->size() + next->size() > max_entries_) return std::nullopt;
      total->insert(total->end(), next->begin(), next->end());
    }
    return total;
  }

  List product(int depth) {
    List list = factor(depth);
    while (list && take('*')) {
      const auto times = number();
      if (!times || list->size() * static_cast<size_t>(*times) > max_entries_) return std::nullopt;
      const std::vector<int64_t> once = *list;
      list->clear();
      for (int64_t i = 0; i < *times; ++i) list->insert(list->end(), once.begin(), once.end());
    }
    return list;
  }

  List factor(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (take('(')) {
      const List inner = sum(depth + 1);
      return take(')') ? inner : std::nullopt;
    }
    if (!take('[')) return std::nullopt;
    std::vector<int64_t> list;
    do {
      const auto value = number();
      if (!value || list.size() >= max_entries_) return std::nullopt;
      list.push_back(*value);
    } while (take(','));
    return take(']') ? List(list) : std::nullopt;
  }

  std::string_view text_;
  size_t max_entries_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::vector<int64_t>> parse_layer_pattern(std::string_view text, size_t max_entries) {
  const bool bare = !base::contains(text, "[");
  const std::string list = bare ? "[" + std::string(text) + "]" : std::string(text);
  return PatternParser(list, max_entries).parse();
}

std::optional<int64_t> parse_attention_window(std::string_view text) {
  constexpr int64_t kWidest = 1'000'000'000;
  const std::vector<std::string> sides = base::split(base::trimmed(text, "()[] "), ',');
  const auto before = base::parse_integer(sides.size() == 2 ? base::trimmed(sides.front()) : "");
  if (!before || *before < -1 || *before > kWidest) return std::nullopt;
  return *before + 1;
}

}  // namespace ergometer::spec
