#pragma once

#include <span>
#include <string_view>

#include "run/run.h"

namespace ergometer::run {

/// One number of the summary under the name the interface contract gives it, group first:
/// "performance.breakdown_s.idle". The Run file, the JSON document and --explain all walk this one
/// table.
struct SummaryField {
  std::string_view name;
  double (*get)(const Run&);
  void (*set)(Run&, double);
};

/// Whether the Run says anything about it: power and heat only where `has_power`, of
/// traces only steps.
bool is_known(const SummaryField& field, const Run& run);

/// In the contract's order. `memory.fits` is 0 or 1 here; strings, lists, links, stages and ranks
/// are not in it.
std::span<const SummaryField> summary_fields();
const SummaryField* find_summary_field(std::string_view name);

}  // namespace ergometer::run
