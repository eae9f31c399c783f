#include "validation/measurement.h"

#include "base/text.h"
#include "validation/names.h"
#include "workload/flops.h"
#include "workload/workload.h"

namespace ergometer::validation {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
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
  if (!result.step_time_s && positive(run, "tflops_per_gpu")) {
    const std::string_view kind = run.cell("flops_kind");
    double work = kind.starts_with("hardware") ? sc21_flops(job)
                                               : workload::model_flops_per_step(job).value();
    if (contains(kind, "under-reports ~3%")) work /= 1.03;
    take("tflops_per_gpu", work / gpus / kTera);
  }
  if (const auto memory = positive(run, "mem_gb_peak")) {
    const std::string_view kind = run.cell("mem_kind");
    const bool gibi = contains(kind, "GiB") || contains(run.cell("source"), "nanotron") ||
                      contains(kind, "nvidia-smi");
    result.memory_bytes = *memory * (gibi ? kGibi : kGiga);
  }
  if (const auto power = positive(run, "power_w_per_gpu")) result.power_w_per_gpu = *power;
  return result;
}

}  // namespace ergometer::validation
