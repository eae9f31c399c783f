#include "validation/rows/outcome.h"

#include "validation/rows/names.h"

namespace ergometer::validation {

std::optional<Outcome> outcome_of(const MeasuredRun& run) {
  const std::string_view text = run.cell("outcome");
  if (text == "OOM") return Outcome::kOutOfMemory;
  if (text == "fits") return Outcome::kFits;
  return std::nullopt;
}

bool is_near_miss(const MeasuredRun& run) {
  return outcome_of(run) == Outcome::kOutOfMemory &&
         contains(run.cell("notes"), "the same layout fits at");
}

void Called::add(run::FitState state) {
  ++rows;
  if (state == run::FitState::kDoesNotFit) ++does_not_fit;
  if (state == run::FitState::kAtRisk) ++at_risk;
}

void OutcomeScore::add(const MeasuredRun& run, Outcome outcome, double fit_probability) {
  const run::FitState state = run::fit_state(fit_probability);
  if (outcome == Outcome::kFits) return ran.add(state);
  out_of_memory.add(state);
  if (is_near_miss(run)) near_misses.add(state);
}

}  // namespace ergometer::validation
