#include "spec/job/run_phases.h"

#include <array>
#include <string>

#include "spec/job/named_numbers.h"

namespace ergometer::spec {
namespace {

constexpr double kMostS = 3.2e8, kMostSteps = 1e9;
constexpr std::array kParts = std::to_array<NamedNumber<RunPhases>>({
    {"steps", {"", 1, kMostSteps}, &RunPhases::steps},
    {"length", {"s", 1, kMostS}, &RunPhases::length_s},
    {"eval-every", {"", 1, kMostSteps}, &RunPhases::eval_every},
    {"eval-from", {"", 1, kMostSteps}, &RunPhases::eval_from},
    {"eval-batches", {"", 1e-3, kMostSteps}, &RunPhases::eval_batches},
    {"eval-pause", {"s", 0, kMostS}, &RunPhases::eval_pause_s},
    {"pause", {"s", 0, kMostS}, &RunPhases::pause_s},
});

/// What the parts cannot say together; empty: nothing.
std::string_view flaw(const RunPhases& phases) {
  if (phases.steps > 0 && phases.length_s > 0)
    return "steps and length both say how long the run is; leave one out";
  if (!phases.given()) return "lacks how long the run is: steps=1000 or length=2h";
  if ((phases.eval_every > 0) != (phases.eval_batches > 0))
    return "eval-every and eval-batches go together";
  if (phases.eval_every == 0 && phases.eval_from > 0) return "eval-from needs eval-every";
  if (phases.eval_every == 0 && phases.eval_pause_s > 0) return "eval-pause needs eval-every";
  if (phases.length_s > 0 && phases.pause_s >= phases.length_s)
    return "pause is as long as the run";
  return {};
}

}  // namespace

Result<RunPhases> parse_run_phases(std::string_view text) {
  RunPhases phases;
  ERGOMETER_TRY(
      read_named(text, kParts, "steps=1000,eval-every=100,eval-batches=10,pause=1min", phases));
  if (const std::string_view found = flaw(phases); !found.empty())
    return input_error(std::string(found));
  if (phases.eval_every > 0 && phases.eval_from == 0) phases.eval_from = phases.eval_every;
  return phases;
}

}  // namespace ergometer::spec
