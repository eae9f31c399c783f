#include "import/telemetry/step_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "import/telemetry/value.h"

// What training programs print of their steps. The lines, as the programs' sources write them:
//   Megatron-LM, Megatron-Bridge
//     " [2024-05-15 09:12:33.123456] iteration        5/      20 | consumed samples: ... | elapsed
//     time per iteration (ms): 4213.7 | ..."
//   Megatron-DeepSpeed writes the same in seconds: "elapsed time per iteration (s): 4.21"
//   NeMo 2      "Training epoch 0, iteration 4/99 | ... | train_step_timing in s: 4.21"
//   NeMo 1      "Epoch 0: :  5%|... global_step=4.000, ..., train_step_timing in s=4.210]"
//   torchtitan  "[titan] 2025-02-25 02:12:33,161 - root - INFO - step:  5  loss:  8.1  memory: ...
//     tps: 6,012  ..." with or without colours: what a step took is the time between two lines, or
//     from "validate step:  5  loss: ...", which ends a validation behind the step
//   nanotron    "... iteration: 10 / 100 | consumed_tokens: 41.9M | elapsed_time_per_iteration_ms:
//     1.23K | ... | tokens_per_sec_per_gpu: 3.41K | ...": numbers of three digits
//   DeepSpeed   "[2023-05-15 09:12:33,123] [INFO] [timer.py:260:stop] epoch=0/micro_step=20/
//     global_step=10, RunningAvgSamplesPerSec=3.2, CurrSamplesPerSec=3.3, ..." every tenth step
//   Trainer     "{'train_runtime': 421.3, 'train_samples_per_second': 3.8,
//     'train_steps_per_second': 0.237, ...}" at the end: the mean of all steps. In its time lie
//     evaluations ("{'eval_loss': ..., 'eval_runtime': 27.0, ...}"), in its steps those before a
//     checkpoint ("Continuing training from global step 200"). Other lines say no step and no time
//   MaxText     "completed step: 5, seconds: 2.345, TFLOP/s/device: 182.3, Tokens/s/device: 5209.9,
//     total_weights: 65536, loss: 8.1"
//   LitGPT      "Epoch 1 | iter 4 step 4 | loss train: 10.1, val: n/a | iter time: 345.67 ms (step)
//     remaining time: ...": a step's time only where each iteration is one
//   Composer    "[batch=20/4800]:", below it " Train throughput/batches_per_sec: 0.2512": the mean
//     over its speed monitor's window, as that of
//   torchtune   "1|5|Loss: 1.234:   3%|x    | 5/150 [00:12<05:40,  2.35s/it]": epoch, step and the
//     progress bar's mean over the last ones, as "s/it" or "it/s"
//   OLMo        "[step=20/1000]", below it "    throughput/device/batches_per_second=0.2512"

namespace ergometer::importer {
namespace {

constexpr double kLongestStep = 1e6, kMostSteps = 1e12;
constexpr double kMillisecond = 1e-3, kNanosecondsPerSecond = 1e9;
constexpr std::string_view kElapsedMs = kStepMarks[0], kTimingS = kStepMarks[1],
                           kNanotronMs = kStepMarks[2], kDeepSpeedRate = kStepMarks[3],
                           kTrainerRuntime = kStepMarks[5], kElapsedS = kStepMarks[6],
                           kMaxText = kStepMarks[7], kLitGptMs = kStepMarks[8];

/// The number behind a mark and what joins them: " iteration  5/", "ms): 4213.7", "s=4.210".
std::optional<double> value_behind(std::string_view line, std::string_view mark) {
  const size_t found = line.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t at = line.find_first_not_of(" :=", found + mark.size());
  if (at == std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(line.data() + at, line.data() + line.size(), value);
  if (read.ec != std::errc{} || !(value >= 0) || value > 1e15) return std::nullopt;
  return value;
}

/// The same of a number that may be shortened: "412", "1.23K", "41.9M".
std::optional<double> short_value_behind(std::string_view line, std::string_view mark) {
  auto value = value_behind(line, mark);
  if (!value) return std::nullopt;
  const size_t at = line.find_first_not_of(" :=", line.find(mark) + mark.size());
  const size_t end = std::min(line.find_first_not_of("0123456789.", at), line.size());
  if (line.substr(end).starts_with('K')) *value *= 1e3;
  if (line.substr(end).starts_with('M')) *value *= 1e6;
  return value;
}

/// "2025-02-25 02:12:33,161" or "2024-05-15 09:12:33.123456" somewhere in the line, to the
/// millisecond.
std::optional<int64_t> stamp_in(std::string_view line) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd.ddd";
  for (size_t at = 0; at + kForm.size() <= line.size(); ++at) {
    std::string stamp(line.substr(at, kForm.size()));
    if (char& mark = stamp[stamp.size() - 4]; mark == ',') mark = '.';
    bool fits = true;
    for (size_t i = 0; i < stamp.size() && fits; ++i)
      fits = kForm[i] == 'd' ? stamp[i] >= '0' && stamp[i] <= '9' : stamp[i] == kForm[i];
    if (fits) return time_to_ns(stamp);
  }
  return std::nullopt;
}

std::optional<StepLine> with_duration(std::string_view line) {
  auto seconds = value_behind(line, kElapsedMs);
  if (seconds) *seconds *= kMillisecond;
  if (!seconds) seconds = value_behind(line, kElapsedS);
  if (!seconds) seconds = value_behind(line, kTimingS);
  if (!seconds || *seconds <= 0 || *seconds > kLongestStep) return std::nullopt;
  auto number = value_behind(line, "iteration ");
  if (!number) number = value_behind(line, "global_step");
  if (!number) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), seconds, stamp_in(line).value_or(0), 0};
}

std::optional<StepLine> of_nanotron(std::string_view line) {
  const auto milliseconds = short_value_behind(line, kNanotronMs);
  const auto number = value_behind(line, "iteration: ");
  if (!milliseconds || !number) return std::nullopt;
  const double seconds = *milliseconds * kMillisecond;
  if (seconds <= 0 || seconds > kLongestStep) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), seconds, 0,
                  short_value_behind(line, "tokens_per_sec_per_gpu: ").value_or(0)};
}

std::optional<StepLine> of_deepspeed(std::string_view line) {
  if (line.find(kDeepSpeedRate) == std::string_view::npos) return std::nullopt;
  const auto number = value_behind(line, "global_step=");
  const auto stamp = stamp_in(line);
  if (!number || !stamp) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), std::nullopt, *stamp, 0};
}

/// Rates are rounded to three decimals, hence the count of steps where their number is large.
std::optional<StepLine> of_trainer(std::string_view line) {
  const auto runtime = value_behind(line, kTrainerRuntime);
  const auto rate = value_behind(line, "'train_steps_per_second':");
  if (!runtime || !rate || !(*runtime > 0 && *runtime * *rate <= kMostSteps)) return std::nullopt;
  const double steps = std::round(*runtime * *rate);
  if (steps < 1 || *runtime / steps > kLongestStep) return std::nullopt;
  return StepLine{static_cast<int64_t>(steps), *runtime / steps, 0, 0, false, true};
}

std::optional<StepLine> of_maxtext(std::string_view line) {
  const auto number = value_behind(line, kMaxText);
  const auto seconds = value_behind(line, ", seconds:");
  if (!number || !seconds || *seconds <= 0 || *seconds > kLongestStep) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), seconds, stamp_in(line).value_or(0),
                  value_behind(line, "Tokens/s/device:").value_or(0)};
}

/// Of an iteration that is only a part of a step, how long the others took is not said.
std::optional<StepLine> of_litgpt(std::string_view line) {
  auto seconds = value_behind(line, kLitGptMs);
  const auto iteration = value_behind(line, "| iter "), number = value_behind(line, " step ");
  if (!seconds || !number || iteration != number) return std::nullopt;
  *seconds *= kMillisecond;
  if (*seconds <= 0 || *seconds > kLongestStep) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), seconds, 0, 0};
}

/// Without the escapes that colour it: ESC [ ... m.
std::string uncoloured(std::string_view line) {
  std::string text;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line.substr(at, 2) == "\x1b[") {
      at = std::min(line.find('m', at), line.size());
      continue;
    }
    text += line[at];
  }
  return text;
}

/// "tps: 6,012": torchtitan's tokens a second and GPU.
double rate_in(std::string_view text) {
  const size_t at = text.find("tps:");
  std::string number(text.substr(at, text.find_first_not_of(" 0123456789,.", at + 4) - at));
  std::erase(number, ',');
  return value_behind(number, "tps:").value_or(0);
}

std::optional<StepLine> with_stamp(std::string_view line) {
  if (line.find("step:") == std::string_view::npos || line.find("tps:") == std::string_view::npos)
    return std::nullopt;
  const std::string text = uncoloured(line);
  const auto number = value_behind(text, "step:");
  const auto stamp = stamp_in(text);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  // What stood inside an escape is gone.
  if (!number || !stamp || !has("loss:") || !has("tps:")) return std::nullopt;
  return StepLine{static_cast<int64_t>(*number), std::nullopt, *stamp, rate_in(text),
                  has("validate step:")};
}

}  // namespace

std::optional<StepLine> step_line(std::string_view line) {
  for (const auto read :
       {with_duration, of_nanotron, of_deepspeed, of_trainer, of_maxtext, of_litgpt, with_stamp})
    if (const auto step = read(line)) return step;
  return std::nullopt;
}

void StepReader::look_at_trainer(std::string_view line) {
  if (line.find("***** Running training *****") != std::string_view::npos)
    evaluations_s_ = skipped_steps_ = 0;
  evaluations_s_ += value_behind(line, "'eval_runtime':").value_or(0);
  if (const auto step = value_behind(line, "Continuing training from global step"))
    skipped_steps_ = *step;
}

/// Composer's and OLMo's: which step it is stands above.
std::optional<StepLine> StepReader::of_speed_monitor(std::string_view line) {
  for (const std::string_view head : {"[batch=", "[step="})
    if (const auto number = value_behind(line, head)) headed_ = static_cast<int64_t>(*number);
  if (!headed_) return std::nullopt;
  for (const std::string_view mark : {kStepMarks[9], kStepMarks[10]}) {
    const auto rate = value_behind(line, mark);
    if (!rate || !(*rate * kLongestStep >= 1)) continue;
    windows_ = true;
    return StepLine{*headed_, 1 / *rate, 0, 0};
  }
  return std::nullopt;
}

/// torchtune's, which moves on once a step; other programs' bars count batches, or anything.
std::optional<StepLine> StepReader::of_progress_bar(std::string_view line) {
  const size_t loss = line.find(kStepMarks[11]);
  if (loss == std::string_view::npos || loss == 0) return std::nullopt;
  const size_t bar = line.rfind('|', loss - 1);
  if (bar == std::string_view::npos) return std::nullopt;
  const auto number = value_behind(line.substr(bar), "|");
  const size_t rate = line.rfind(", ");
  const auto value = rate < loss || rate == std::string_view::npos
                         ? std::nullopt
                         : value_behind(line.substr(rate), ", ");
  if (!number || !value || !(*value > 0)) return std::nullopt;
  const bool seconds = line.find("s/it]", rate) != std::string_view::npos;
  if (!seconds && line.find("it/s]", rate) == std::string_view::npos) return std::nullopt;
  const double step_s = seconds ? *value : 1 / *value;
  if (!(step_s <= kLongestStep)) return std::nullopt;
  windows_ = true;
  return StepLine{static_cast<int64_t>(*number), step_s, 0, 0};
}

/// False where nothing is left.
bool StepReader::without_evaluations(StepLine& line) {
  const double steps = static_cast<double>(line.number) - skipped_steps_;
  const double all_s = *line.seconds * static_cast<double>(line.number) - evaluations_s_;
  if (!(steps >= 1 && all_s > 0)) return false;
  line.seconds = all_s / steps;
  mean_of_ = std::llround(steps);
  left_out_s_ = evaluations_s_;
  return true;
}

std::optional<run::TrainingStep> StepReader::take(std::string_view text) {
  look_at_trainer(text);
  auto line = step_line(text);
  if (const auto monitored = of_speed_monitor(text); !line) line = monitored;
  if (!line) line = of_progress_bar(text);
  if (!line || (line->whole_run && !without_evaluations(*line))) return std::nullopt;
  return take(*line);
}

std::vector<std::string> StepReader::notes(std::string_view file) const {
  std::vector<std::string> notes;
  if (validations_ > 0)
    notes.push_back(
        fmt::format("{}: the time of {} validations is left out of the steps", file, validations_));
  if (mean_of_ > 0)
    notes.push_back(
        fmt::format("{}: one step time, the mean of {} steps: train_runtime less {:.4g} "
                    "s of evaluation",
                    file, mean_of_, left_out_s_));
  if (windows_)
    notes.push_back(fmt::format(
        "{}: a step's time is the mean over the window of the program's speed monitor", file));
  return notes;
}

std::optional<run::TrainingStep> StepReader::take(const StepLine& line) {
  if (line.validation) {
    // Every rank prints the line; what the step before took is told by its own.
    if (!last_ || !last_->validation || last_->number != line.number) ++validations_;
    last_ = line;
    last_ended_ = true;
    return std::nullopt;
  }
  const bool again = last_ && line.number == last_->number;
  if (again && (last_ended_ || !line.seconds)) return std::nullopt;
  std::optional<double> seconds = line.seconds;
  if (!seconds && last_ && line.number > last_->number && last_->time_ns > 0 &&
      line.time_ns > last_->time_ns)
    seconds = static_cast<double>(line.time_ns - last_->time_ns) / kNanosecondsPerSecond /
              static_cast<double>(line.number - last_->number);
  last_ = line;
  last_ended_ = seconds && *seconds <= kLongestStep;
  if (!last_ended_) return std::nullopt;
  return run::TrainingStep{line.number, *seconds, line.time_ns, line.tokens_per_s_per_gpu};
}

}  // namespace ergometer::importer
