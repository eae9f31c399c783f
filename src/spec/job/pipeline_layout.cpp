#include "spec/job/pipeline_layout.h"

#include <optional>
#include <string>

namespace ergometer::spec {
namespace {

constexpr size_t kLongest = 100'000;

/// Unfolds repetitions: "t*4|" is "tttt|".
class LayoutParser {
 public:
  explicit LayoutParser(std::string_view text) : text_(text) {}

  std::optional<std::string> unfold() {
    auto all = sequence(0);
    if (!all || at_ != text_.size()) return std::nullopt;
    return all;
  }

 private:
  std::optional<std::string> sequence(int depth) {
    std::string all;
    while (at_ < text_.size() && text_[at_] != ')') {
      const auto next = repeated(depth);
      if (!next || all.size() + next->size() > kLongest) return std::nullopt;
      all += *next;
    }
    return all;
  }

  std::optional<std::string> repeated(int depth) {
    auto once = unit(depth);
    if (!once || at_ >= text_.size() || text_[at_] != '*') return once;
    ++at_;
    size_t times = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && times <= kLongest; ++at_)
      times = times * 10 + static_cast<size_t>(text_[at_] - '0');
    if (at_ == start || times * once->size() > kLongest) return std::nullopt;
    std::string all;
    for (size_t i = 0; i < times; ++i) all += *once;
    return all;
  }

  std::optional<std::string> unit(int depth) {
    const char c = text_[at_++];
    if (c != '(')
      return std::string_view("EtmL|").find(c) == std::string_view::npos
                 ? std::nullopt
                 : std::optional(std::string(1, c));
    if (depth >= 16) return std::nullopt;
    auto inner = sequence(depth + 1);
    if (!inner || at_ >= text_.size()) return std::nullopt;
    ++at_;  // the closing bracket, which ended the sequence
    return inner;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<int64_t>> parse_pipeline_layout(std::string_view text) {
  std::string compact;
  for (const char c : text)
    if (c != ' ' && c != ',') compact += c;
  const auto unfolded = LayoutParser(compact).unfold();
  const bool whole = unfolded && unfolded->find('E') == 0 && unfolded->ends_with('L') &&
                     unfolded->find('E', 1) == std::string::npos &&
                     unfolded->find('L') == unfolded->size() - 1;
  if (!whole)
    return input_error(
        "found \"{}\"; allowed: one E first, one L last, t, m, | and repetitions such "
        "as t*4 or (tt|)*30 between",
        text.substr(0, 200));
  std::vector<int64_t> layers(1, 0);
  for (const char c : *unfolded) {
    if (c == '|') layers.push_back(0);
    if (c == 't') ++layers.back();
  }
  return layers;
}

}  // namespace ergometer::spec
