#include "spec/recipe/recipe_condition.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "spec/recipe/recipe_draft.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

constexpr std::array kFacts =
    std::to_array<std::string_view>({"release", "architecture", "gpu", "gpu_gb", "vendor", "model",
                                     "task", "experts", "hidden", "latent", "dp"});

std::string_view trimmed(std::string_view text) { return base::trimmed(text, " "); }

bool matches(std::string_view pattern, std::string_view text) {
  if (!pattern.ends_with('*')) return pattern == text;
  pattern.remove_suffix(1);
  return text.starts_with(pattern);
}

/// As a number that the fact or setting is compared with.
Result<double> number_of(std::string_view name, std::string_view text) {
  if (name == "release") return static_cast<double>(release_number(text));
  return base::parse_number(text);
}

}  // namespace

int release_number(std::string_view text) {
  constexpr int kMost = 9999, kMinor = 100;
  size_t at = 0;
  const auto digits = [&] {
    int value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      value = std::min(kMost, value * 10 + (text[at] - '0'));
    return value;
  };
  const int major = digits();
  if (at == 0) return 0;
  if (at >= text.size() || text[at] != '.') return major * kMinor;
  ++at;
  return major * kMinor + std::min(digits(), kMinor - 1);
}

Result<RecipeCondition::Term> RecipeCondition::parse_term(std::string_view text) {
  struct Operator {
    std::string_view sign;
    Comparison comparison;
  };
  constexpr std::array kOperators = std::to_array<Operator>({{">=", Comparison::kAtLeast},
                                                             {"<=", Comparison::kAtMost},
                                                             {"!=", Comparison::kUnequal},
                                                             {"=", Comparison::kEqual},
                                                             {">", Comparison::kMore},
                                                             {"<", Comparison::kLess}});
  Term term;
  term.comparison = text.starts_with('!') ? Comparison::kAbsent : Comparison::kGiven;
  std::string_view name = text.starts_with('!') ? text.substr(1) : text;
  for (const Operator& op : kOperators) {
    const size_t at = text.find(op.sign);
    if (at == text.npos) continue;
    term.comparison = op.comparison;
    name = trimmed(text.substr(0, at));
    for (const std::string& value : base::split(text.substr(at + op.sign.size()), '|'))
      term.values.emplace_back(trimmed(value));
    break;
  }
  const SettingInfo* setting = find_setting(name);
  const bool fact = base::contains(kFacts, name);
  if (!fact && setting == nullptr)
    return input_error("{} is neither a setting nor a fact of a job", name);
  term.name = fact ? name : setting->name;
  const bool ordered =
      term.comparison == Comparison::kMore || term.comparison == Comparison::kLess ||
      term.comparison == Comparison::kAtLeast || term.comparison == Comparison::kAtMost;
  if (ordered && (term.values.size() != 1 || !number_of(term.name, term.values[0])))
    return input_error("{}: allowed behind the sign: one number", text);
  return term;
}

Result<RecipeCondition> RecipeCondition::parse(std::string_view text) {
  RecipeCondition condition;
  if (trimmed(text).empty()) return condition;
  for (const std::string& part : base::split(text, ',')) {
    ERGOMETER_ASSIGN(Term term, parse_term(trimmed(part)));
    condition.terms_.push_back(std::move(term));
  }
  return condition;
}

bool RecipeCondition::holds(const Term& term, const RecipeDraft& draft) {
  if (term.comparison == Comparison::kGiven) return draft.has(term.name);
  if (term.comparison == Comparison::kAbsent) return !draft.has(term.name);
  const std::string text = draft.text(term.name);
  if (term.comparison == Comparison::kEqual || term.comparison == Comparison::kUnequal) {
    const bool equal =
        std::ranges::any_of(term.values, [&](const std::string& v) { return matches(v, text); });
    return equal == (term.comparison == Comparison::kEqual);
  }
  const auto ours = number_of(term.name, text), theirs = number_of(term.name, term.values[0]);
  if (!ours || !theirs) return false;
  switch (term.comparison) {
    case Comparison::kMore: return *ours > *theirs;
    case Comparison::kAtLeast: return *ours >= *theirs;
    case Comparison::kLess: return *ours < *theirs;
    default: return *ours <= *theirs;
  }
}

bool RecipeCondition::holds(const RecipeDraft& draft) const {
  return std::ranges::all_of(terms_, [&](const Term& term) { return holds(term, draft); });
}

}  // namespace ergometer::spec
