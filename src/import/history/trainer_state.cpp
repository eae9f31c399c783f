#include <simdjson.h>

#include <cmath>

#include "import/bytes/whole_text.h"
#include "import/history/scalar_steps.h"
#include "import/telemetry/readers.h"

// transformers/trainer_callback.py, TrainerState: entries of `log_history` have a step and no time;
// the last one, written when training ends, has the time of all (`train_runtime`, in seconds).
// transformers/trainer_pt_utils.py, save_metrics: all_results.json and train_results.json hold that
// time and `train_steps_per_second`, rounded to three decimals.

namespace ergometer::importer {
namespace {

using simdjson::dom::element;

constexpr double kLongestMean = 1e6;

std::optional<double> number_in(element entry, std::string_view key) {
  double value = 0;
  if (entry[key].get(value) != simdjson::SUCCESS || !(value >= 0)) return std::nullopt;
  return value;
}

/// Seconds by what entries say of them, one after the other.
struct TrainerTimes {
  std::optional<double> runtime_s, steps;
  double evaluations_s = 0;

  void add(element entry) {
    if (const auto runtime = number_in(entry, "train_runtime")) {
      runtime_s = runtime;
      steps = number_in(entry, "step");
    } else if (!runtime_s) {
      evaluations_s += number_in(entry, "eval_runtime").value_or(0);
    }
  }
  /// The mean of a step, evaluations aside.
  std::optional<run::TrainingStep> mean() const {
    constexpr double kMostSteps = 1e12;
    if (!runtime_s || !steps || !(*steps >= 1 && *steps <= kMostSteps)) return std::nullopt;
    const double seconds = (*runtime_s - evaluations_s) / *steps;
    if (!(seconds > 0 && seconds <= kLongestMean)) return std::nullopt;
    return run::TrainingStep{static_cast<int64_t>(*steps), seconds, 0, 0};
  }
};

}  // namespace

bool is_trainer_state(std::string_view text) {
  return text.find("\"log_history\"") != std::string_view::npos ||
         (text.find("\"best_metric\"") != std::string_view::npos &&
          text.find("\"best_model_checkpoint\"") != std::string_view::npos);
}

Result<void> read_trainer_state(std::string_view text, LogBuilder& log) {
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::array entries;
  element state;
  if (const auto error = parser.parse(padded).get(state); error != simdjson::SUCCESS)
    return json_error(log.file(), text, std::string::npos, simdjson::error_message(error));
  if (state["log_history"].get(entries) != simdjson::SUCCESS)
    return input_error("{}: log_history: found nothing, allowed: a list of entries", log.file());
  TrainerTimes times;
  for (const element entry : entries) times.add(entry);
  const auto mean = times.mean();
  if (!mean) {
    log.note(
        "{}: no step time can be told: Trainer writes how long training took when "
        "it ends, and no times before",
        log.file());
    return {};
  }
  log.note(
      "{}: one step time, the mean of {} steps: train_runtime less {:.4g} s of "
      "evaluation; of a run that was resumed it is too short",
      log.file(), mean->number, times.evaluations_s);
  add_training({*mean}, log);
  return {};
}

bool is_trainer_results(std::string_view text) {
  const auto has = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  return has("\"train_runtime\"") && has("\"train_steps_per_second\"") && !has("\"traceEvents\"");
}

Result<void> read_trainer_results(std::string_view text, LogBuilder& log) {
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  element results;
  if (const auto error = parser.parse(padded).get(results); error != simdjson::SUCCESS)
    return json_error(log.file(), text, std::string::npos, simdjson::error_message(error));
  const auto rate = number_in(results, "train_steps_per_second");
  TrainerTimes times;
  times.runtime_s = number_in(results, "train_runtime");
  if (times.runtime_s && rate) times.steps = std::round(*times.runtime_s * *rate);
  const auto mean = times.mean();
  if (!mean) {
    log.note("{}: no step time can be told by its train_runtime and train_steps_per_second",
             log.file());
    return {};
  }
  log.note(
      "{}: one step time, the mean of {} steps, evaluations within; of a run that was "
      "resumed it is too short: trainer_state.json says more",
      log.file(), mean->number);
  add_training({*mean}, log);
  return {};
}

}  // namespace ergometer::importer
