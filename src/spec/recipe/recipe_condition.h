#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::spec {

class RecipeDraft;

/// What must hold of a job for a line of a recipe: terms between commas, all of them.
///
///   fsdp=false            a setting by any of its names, or a fact (below), equals a word
///   gpu=B300*|GB300*      one of several words; a star stands for any ending
///   tp>1  release<25.07   numbers; also >=, <=, !=
///   lora  !tp             given by the user or settled by a line above; not
///
/// Facts: release (of the recipe), architecture, gpu, gpu_gb (memory), vendor, model (the catalog's
/// name, by shape for other files), task (pretrain, sft, lora), experts (their number), hidden
/// (size), latent (whether attention is), dp. Sizes that nobody gave are 1, switches false.
class RecipeCondition {
 public:
  /// Empty text always holds.
  static Result<RecipeCondition> parse(std::string_view text);
  bool holds(const RecipeDraft& draft) const;

 private:
  enum class Comparison { kEqual, kUnequal, kMore, kAtLeast, kLess, kAtMost, kGiven, kAbsent };
  struct Term {
    std::string name;  ///< a fact, or a setting as in the table
    Comparison comparison = Comparison::kEqual;
    std::vector<std::string> values;
  };
  static Result<Term> parse_term(std::string_view text);
  static bool holds(const Term& term, const RecipeDraft& draft);

  std::vector<Term> terms_;
};

/// "25.07" is 2507, "5.1" 501, "26" 2600: what releases are compared by. 0 without digits.
int release_number(std::string_view text);

}  // namespace ergometer::spec
