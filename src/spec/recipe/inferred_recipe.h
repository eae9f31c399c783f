#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/recipe/recipe_draft.h"

namespace ergometer::spec {

/// The recipe that a job suggests whose software nobody names: the first line of
/// catalog/tables/inferred_recipes.csv that holds.
struct InferredRecipe {
  std::string software;
  bool only = false;  ///< other software has no word for what the line asks for
  size_t row = 0;     ///< of the table; later lines hold for more jobs, the last for all
};
Result<InferredRecipe> infer_recipe(const RecipeDraft& draft);

/// The origin of a `software` that was inferred of a job, and is said so that another one has it:
/// predictions are no surer for it.
inline constexpr std::string_view kAssumedSoftware = "software assumed";

}  // namespace ergometer::spec
