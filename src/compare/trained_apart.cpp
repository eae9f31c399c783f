#include "compare/trained_apart.h"

#include <fmt/format.h>

#include "base/text.h"

namespace ergometer::compare {

Result<TrainedApart> trained_apart(const spec::Job& job, const run::Run& apart) {
  spec::Job together = job;
  together.parallelism.stage_training = spec::StageTraining::kTogether;
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(together, {.intervals = false}));
  return TrainedApart{.apart_s = apart.performance.step_time_s,
                      .together_s = run.performance.step_time_s,
                      .recovery_steps = job.parallelism.recovery_steps,
                      .together_peak_bytes = run.memory.peak_bytes,
                      .together_fits = run.memory.fits};
}

std::string to_text(const TrainedApart& trained) {
  std::string text =
      fmt::format("--stage-training: {} a step where stages train apart, {} together",
                  base::format_seconds(trained.apart_s), base::format_seconds(trained.together_s));
  if (trained.recovery_steps == 0) return text;
  return text + fmt::format(
                    "; with {:.3g} % of steps together {} on average, and these take at least {}{}",
                    100 * trained.recovery_steps, base::format_seconds(trained.mean_s()),
                    base::format_binary_bytes(trained.together_peak_bytes),
                    trained.together_fits ? "" : ", which does not fit");
}

}  // namespace ergometer::compare
