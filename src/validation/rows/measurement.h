#pragma once

#include <optional>
#include <string>

#include "spec/job/job.h"
#include "validation/rows/measured_run.h"
#include "validation/rows/outcome.h"

namespace ergometer::validation {

inline constexpr double kGiga = 1e9;

/// What was measured, in the units that predictions come in.
struct Measurement {
  std::optional<double> step_time_s;
  std::optional<double> memory_bytes;
  bool memory_between_steps = false;  ///< allocated behind the step, not the peak: nanotron's log
  bool memory_reserved = false;       ///< by PyTorch's allocator: what torchtitan logs
  bool memory_of_last_rank = false;   ///< of the last pipeline stage, not of the fullest: what
                                      ///< Megatron-LM writes to TensorBoard
  std::optional<Outcome> outcome;     ///< whether it ran, where the row is about that
  std::string step_time_from;  ///< the column, "tokens_per_s_per_gpu"; empty without a step time
  /// Why the row cannot be right; empty if nothing contradicts itself.
  std::string contradiction;
};

/// The step time as measured, else from the rate that the row gives (B: sequences of a step, s:
/// tokens of a sequence, N: GPUs):
///   tokens_per_s_per_gpu r   t = B s / (r N)
///   tokens_per_s_total r     t = B s / r
///   samples_per_s r          t = B / r
///   tflops_per_gpu r         t = F / (1e12 r N), the last resort: F by the formula of the source.
/// F with l layers, hidden h, vocabulary V:
///   SC21 and BigScience, recomputation included   96 B s l h^2 (1 + s/(6 h) + V/(16 l h))
///   BigScience's earlier estimator reports 3 % too little: its rates are multiplied by 1.03.
///   others: model FLOPs, as the job counts them; NVIDIA's releases up to 25.07 count the whole
///   attention square.
/// Memory: mem_gb_peak in GiB where mem_kind says GiB or torch's allocator, else in GB.
/// A row whose step time and TFLOP/s, both given, differ by more than a factor of two with the
/// formula of the source has a wrong batch, model or time.
Measurement measurement(const MeasuredRun& run, const spec::Job& job);

}  // namespace ergometer::validation
