#include "import/otlp/otlp_steps.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/collection.h"
#include "import/text/decimal.h"
#include "run/exported_names.h"

// What tells of steps:
//   spans    "training_single_iteration": NeMo's and Megatron's one logger (nv_one_logger), one an
//            iteration; others that wrap a whole iteration under a plain name
//   metrics  of seconds: our own recorder's; those that Megatron-LM, NeMo and torchtitan write for
//            TensorBoard, of which OTLP allows no spaces and brackets
//            of counts: Megatron-LM's one logger, "train_iterations_end" and
//            "train_iterations_time_msecs_total": a step's time is the mean since the last ones
// Names are recalled from the programs' documentation, not held to their files; spans and metrics
// of other meaning are passed over.

namespace ergometer::importer {
namespace {

constexpr double kLongestToldStep = 1e6, kToldMillisecond = 1e-3, kToldNs = 1e-9;
constexpr int64_t kMostStepNumber = 1'000'000'000'000'000;
constexpr std::array<std::string_view, 3> kStepSpans = {"training_single_iteration",
                                                        "train_iteration", "training_iteration"};
constexpr std::array<std::string_view, 4> kStepMetrics = {
    run::kStepSeconds, "iteration_time", "train_step_timing_in_s", "time_metrics_end_to_end_s"};
constexpr std::array<std::string_view, 2> kRateMetrics = {run::kStepRate, "throughput_tps"};
constexpr std::string_view kCountMetric = "train_iterations_end",
                           kCountedMsMetric = "train_iterations_time_msecs_total";
constexpr std::array<std::string_view, 5> kNumberAttributes = {
    "iteration", "global_step", "step", "current_iteration", "train_iterations_end"};

/// What is written of it with a unit behind it is another spelling of the same.
std::string_view plain_metric(std::string_view named) {
  for (const std::string_view end : {"_seconds", "_milliseconds"})
    if (named.ends_with(end) && named != run::kStepSeconds) named.remove_suffix(end.size());
  while (named.ends_with('_')) named.remove_suffix(1);
  return named;
}

std::optional<int64_t> step_number_in(const std::vector<Label>& labels) {
  for (const std::string_view name : kNumberAttributes)
    for (const Label& label : labels)
      if (label.name == name)
        if (const auto number = whole_number(label.value);
            number && *number >= 0 && *number <= kMostStepNumber)
          return *number;
  return std::nullopt;
}

bool is_duration(double seconds) { return seconds > 0 && seconds <= kLongestToldStep; }

}  // namespace

bool OtlpSteps::is_of_step(std::string_view metric) {
  metric = plain_metric(metric);
  return base::contains(kStepMetrics, metric) || base::contains(kRateMetrics, metric) ||
         metric == run::kStepNumber || metric == kCountMetric || metric == kCountedMsMetric;
}

void OtlpSteps::take(const OtlpPoint& point) {
  if (point.time_ns < 0 || !is_of_step(point.named)) return;
  Told& told = told_[point.time_ns];
  const std::string_view name = plain_metric(point.named);
  if (base::contains(kStepMetrics, name)) {
    told.seconds = point.value * (point.milliseconds ? kToldMillisecond : 1);
    if (const auto number = step_number_in(point.labels))
      told.number = static_cast<double>(*number);
  }
  if (base::contains(kRateMetrics, name)) told.rate = point.value;
  if (name == run::kStepNumber) told.number = point.value;
  if (name == kCountMetric) told.counted = point.value;
  if (name == kCountedMsMetric) told.counted_ms = point.value;
}

/// A step is new that begins where the last one ended, or has a larger number: other ranks tell of
/// the same ones.
void OtlpSteps::put(run::TrainingStep step, bool numbered, std::vector<run::TrainingStep>& steps) {
  constexpr double kSameNs = 1e6;
  const double start_ns = static_cast<double>(step.end_ns) - step.seconds / kToldNs;
  const bool later = !last_ || start_ns + kSameNs >= static_cast<double>(last_->end_ns);
  if (!numbered) step.number = last_ ? last_->number + 1 : 1;
  if (!later && !(numbered && step.number > last_->number)) return;
  if (numbered && last_ && step.number == last_->number) return;
  last_ = step;
  steps.push_back(step);
}

void OtlpSteps::take(const OtlpSpan& span, std::vector<run::TrainingStep>& steps) {
  const double seconds = static_cast<double>(span.end_ns - span.start_ns) * kToldNs;
  if (!base::contains(kStepSpans, std::string_view(span.name)) || !is_duration(seconds)) return;
  const auto number = step_number_in(span.labels);
  put({number.value_or(0), seconds, span.end_ns, 0}, number.has_value(), steps);
}

void OtlpSteps::take(int64_t time_ns, const Told& told, std::vector<run::TrainingStep>& steps) {
  run::TrainingStep step{0, told.seconds.value_or(0), time_ns,
                         std::max(0.0, told.rate.value_or(0))};
  std::optional<double> number = told.number;
  if (told.counted && told.counted_ms) {
    const auto before = std::exchange(counted_, std::pair(*told.counted, *told.counted_ms));
    number = told.counted;
    if (before && *told.counted > before->first)
      step.seconds =
          (*told.counted_ms - before->second) * kToldMillisecond / (*told.counted - before->first);
  }
  if (!is_duration(step.seconds)) return;
  const bool numbered = number && *number >= 0 && *number <= static_cast<double>(kMostStepNumber);
  if (numbered) step.number = std::llround(*number);
  put(step, numbered, steps);
}

void OtlpSteps::add(const OtlpDocument& document, std::vector<run::TrainingStep>& steps) {
  told_.clear();
  for (const OtlpPoint& point : document.points) take(point);
  for (const auto& [time_ns, told] : told_) take(time_ns, told, steps);
  std::vector<const OtlpSpan*> spans = base::pointers_to(document.spans);
  std::ranges::stable_sort(spans, {}, &OtlpSpan::end_ns);
  for (const OtlpSpan* span : spans) take(*span, steps);
}

void OtlpSteps::add(std::string_view line, std::vector<run::TrainingStep>& steps) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(line.data(), line.size()).get(document) != simdjson::SUCCESS) return;
  if (const auto read = otlp_document(document)) add(*read, steps);
}

}  // namespace ergometer::importer
