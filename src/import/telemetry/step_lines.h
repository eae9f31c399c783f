#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/device_log.h"

namespace ergometer::importer {

/// One of these stands in every line that tells of a step.
inline constexpr std::array<std::string_view, 12> kStepMarks = {
    "elapsed time per iteration (ms)",
    "train_step_timing in s",
    "time_per_iteration_ms:",
    "SamplesPerSec=",
    "tps:",
    "'train_runtime':",
    "elapsed time per iteration (s)",
    "completed step:",
    "| iter time:",
    "throughput/batches_per_sec:",
    "throughput/device/batches_per_second=",
    "|Loss: "};

/// What a line of a training program's output says of a step; step_lines.cpp lists the forms.
struct StepLine {
  int64_t number = 0;
  std::optional<double> seconds;  ///< how long it took, where the line says so
  int64_t time_ns = 0;  ///< when it was written, a time without zone taken as UTC; 0: not said
  double tokens_per_s_per_gpu = 0;  ///< 0: not said
  bool validation = false;  ///< not of a step: the line that ends a validation behind step `number`
  bool whole_run = false;   ///< the mean of steps up to `number`, evaluations within
};
/// Nothing where the line tells of no step. Any bytes may stand in it.
std::optional<StepLine> step_line(std::string_view line);

/// Steps in the order of their lines. A progress bar draws a step several times, several ranks may
/// print the same one, and DeepSpeed a line of its own beside Megatron-LM's: it counts once, by the
/// first line from which how long it took is known.
class StepReader {
 public:
  /// The step that the line ends, where how long it took is known: by its own words, or by the line
  /// of a step before.
  std::optional<run::TrainingStep> take(const StepLine& line);
  /// The same of any line that the program prints. What Trainer says of all its steps is told
  /// without the evaluations that it printed before, and without the steps that it skipped.
  std::optional<run::TrainingStep> take(std::string_view line);
  /// What the steps do not hold, a sentence each.
  std::vector<std::string> notes(std::string_view file) const;

 private:
  void look_at_trainer(std::string_view line);
  std::optional<StepLine> of_speed_monitor(std::string_view line);
  std::optional<StepLine> of_progress_bar(std::string_view line);
  bool without_evaluations(StepLine& line);

  std::optional<StepLine> last_;
  bool last_ended_ = false;  ///< how long the last one took is known
  int64_t validations_ = 0;
  double evaluations_s_ = 0, skipped_steps_ = 0;  ///< of Trainer, since it began to train
  double left_out_s_ = 0;                         ///< of evaluations, from Trainer's mean
  int64_t mean_of_ = 0;                           ///< steps of Trainer's mean
  std::optional<int64_t> headed_;                 ///< the step whose metrics follow, a line each
  bool windows_ = false;                          ///< a step's time was a mean over the last ones
};

}  // namespace ergometer::importer
