#include "import/history/scalar_steps.h"

#include <array>

#include "base/collection.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/step_lines.h"

namespace ergometer::importer {
namespace {

constexpr double kMostSeconds = 1e6;
/// Names under which programs write what a step took, in seconds, and tokens a second and GPU.
constexpr std::array<std::string_view, 3> kStepTags = {"iteration-time", "train_step_timing in s",
                                                       "time_metrics/end_to_end(s)"};
constexpr std::string_view kRateTag = "throughput(tps)";

}  // namespace

void ScalarSteps::begin(int64_t step, int64_t time_ns, int64_t written_ns) {
  const auto [at, is_new] = steps_.try_emplace({starts_, step});
  current_ = &at->second;
  if (!is_new) return;
  current_->first_ns = time_ns;
  current_->written_ns = written_ns;
}

void ScalarSteps::add(std::string_view name, double value) {
  if (name == kRateTag && value > 0) current_->tokens_per_s_per_gpu = value;
  if (!base::contains(kStepTags, name) || !(value > 0 && value <= kMostSeconds)) return;
  current_->seconds = value;
  any_seconds_ = true;
}

std::vector<run::TrainingStep> ScalarSteps::take() const {
  std::vector<run::TrainingStep> result;
  StepReader reader;
  int64_t start = 0;
  for (const auto& [key, step] : steps_) {
    if (any_seconds_ && !step.seconds) continue;
    if (key.first != start) reader = {};
    start = key.first;
    auto ended = reader.take({key.second, step.seconds, step.first_ns, step.tokens_per_s_per_gpu});
    if (!ended) continue;
    ended->end_ns = step.written_ns;
    result.push_back(*ended);
  }
  return result;
}

}  // namespace ergometer::importer
