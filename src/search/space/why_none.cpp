#include "search/space/why_none.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace ergometer::search {
namespace {

/// Messages that differ in numbers alone say the same; what they propose helps one layout only.
std::string without_numbers(std::string_view message) {
  std::string text;
  for (const char c : message.substr(0, message.find(';')))
    if (!base::is_digit(c)) text += c;
  return text;
}

}  // namespace

WhyNone why_none(const Space& space) {
  WhyNone answer;
  std::map<std::string, RuledOut> reasons;
  LegalityCheck legal(space);
  space.for_each_division([&](const Layout& plain) {
    ++answer.divisions;
    const bool any = !space.for_each_layout_of(plain, legal, [](const Layout&) { return false; });
    if (any) {
      ++answer.legal;
      return;
    }
    const std::string why = space.refusal(plain, legal);
    RuledOut& reason = reasons[without_numbers(why)];
    ++reason.divisions;
    if (reason.why.empty()) reason.why = why.substr(0, why.find(';'));
  });
  for (auto& [text, reason] : reasons) answer.ruled_out.push_back(std::move(reason));
  std::ranges::stable_sort(answer.ruled_out, std::ranges::greater{}, &RuledOut::divisions);
  return answer;
}

}  // namespace ergometer::search
