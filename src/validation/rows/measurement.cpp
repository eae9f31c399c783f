#include "validation/rows/measurement.h"

#include <fmt/format.h>

#include "base/text.h"
#include "validation/rows/names.h"
#include "workload/flops.h"
#include "workload/workload.h"

namespace ergometer::validation {
namespace {

constexpr double kTera = 1e12;
constexpr double kGibi = 1024.0 * 1024 * 1024;

/// A rate or an amount; nothing if the cell is blank, 0 or no number.
std::optional<double> positive(const MeasuredRun& run, std::string_view column) {
  const auto number = base::parse_number(run.cell(column));
  constexpr double kLeast = 1e-9, kMost = 1e15;
  return number && *number >= kLeast && *number <= kMost ? std::optional(*number) : std::nullopt;
}

double sc21_flops(const spec::Job& job) {
  const double batch = static_cast<double>(job.training.global_batch);
  const double seq = static_cast<double>(job.training.seq_length);
  const double layers = static_cast<double>(job.model.layer_count());
  const double hidden = static_cast<double>(job.model.hidden);
  const double vocab = static_cast<double>(job.padded_vocab());
  return 96 * batch * seq * layers * hidden * hidden *
         (1 + seq / (6 * hidden) + vocab / (16 * layers * hidden));
}

/// NVIDIA's releases up to 25.07 counted the whole attention square, later ones its causal half.
bool counts_full_attention(const MeasuredRun& run) {
  const int release = release_number(run.cell("release"));
  return contains(run.cell("source"), "NVIDIA") && release > 0 && release <= 2507;
}

/// The FLOPs of a step that the row's TFLOP/s count.
double counted_flops(const MeasuredRun& run, const spec::Job& job) {
  const std::string_view kind = run.cell("flops_kind");
  if (kind.starts_with("hardware"))
    return sc21_flops(job) / (contains(kind, "under-reports ~3%") ? 1.03 : 1);
  spec::Job counted = job;
  // The formulas of the frameworks take a packed sequence for one document.
  counted.training.packed_mean_length = 0;
  counted.training.sequence_lengths = {};
  if (counts_full_attention(run)) counted.training.attention_flops_full = true;
  return workload::model_flops_per_step(counted).value();
}

}  // namespace

Measurement measurement(const MeasuredRun& run, const spec::Job& job) {
  Measurement result;
  const double batch = static_cast<double>(job.training.global_batch);
  const double tokens = batch * static_cast<double>(job.training.seq_length);
  const double gpus = static_cast<double>(job.gpus);
  const auto take = [&](const char* column, double work) {
    const auto rate = positive(run, column);
    if (result.step_time_s || !rate) return;
    result.step_time_s = work / *rate;
    result.step_time_from = column;
  };
  if (const auto time = positive(run, "step_time_s")) {
    result.step_time_s = time;
    result.step_time_from = "step_time_s";
  }
  take("tokens_per_s_per_gpu", tokens / gpus);
  take("tokens_per_s_total", tokens);
  take("samples_per_s", batch);
  if (const auto rate = positive(run, "tflops_per_gpu")) {
    const double seconds = counted_flops(run, job) / gpus / kTera / *rate;
    if (!result.step_time_s) {
      result.step_time_s = seconds;
      result.step_time_from = "tflops_per_gpu";
    }
    const double ratio = seconds / *result.step_time_s;
    constexpr double kMost = 2;
    if (ratio > kMost || ratio < 1 / kMost)
      result.contradiction = fmt::format(
          "the row contradicts itself: its {} make a step of {:.4g} s, its {} TFLOP/s one of "
          "{:.4g} s",
          result.step_time_from, *result.step_time_s, run.cell("tflops_per_gpu"), seconds);
  }
  if (const auto memory = positive(run, "mem_gb_peak")) {
    const std::string_view kind = run.cell("mem_kind");
    const bool gibi = contains(kind, "GiB") || contains(run.cell("source"), "nanotron") ||
                      contains(kind, "nvidia-smi");
    result.memory_between_steps = contains(run.cell("source"), "nanotron");
    result.memory_reserved = contains(run.cell("source"), "torchtitan");
    result.memory_of_last_rank = contains(kind, "rank logged to tensorboard");
    result.memory_bytes = *memory * (gibi ? kGibi : kGiga);
  }
  result.outcome = outcome_of(run);
  return result;
}

}  // namespace ergometer::validation
