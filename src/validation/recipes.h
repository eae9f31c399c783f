#pragma once

#include <string>
#include <string_view>

#include "validation/job_draft.h"

namespace ergometer::validation {

/// Row of the table of recipe defaults (catalog/tables/recipe_defaults.csv), by column.
struct Recipe {
  size_t row = 0;
  std::string_view cell(std::string_view column) const;
};

/// The recipe behind a measured row: its source, model, task, kind of GPU and number format must
/// match; among those, the one whose release is nearest, and then the one whose layout (GPUs, tp,
/// pp, cp, ep, batches in `vpp_note`) has most in common with the row. Nothing if there is none.
std::optional<Recipe> find_recipe(const JobDraft& draft);

}  // namespace ergometer::validation
