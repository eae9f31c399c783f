#include "validation/predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/parallel.h"
#include "base/text.h"
#include "engine/outcome/summary.h"
#include "engine/prepared.h"
#include "validation/power_predict.h"
#include "validation/rows/names.h"

namespace ergometer::validation {
namespace {

constexpr std::array kTraits = std::to_array<std::string_view>(
    {"gpu", "source", "parallelism", "scale", "model", "precision", "framework", "tier"});

std::string or_unknown(std::string_view text) {
  return text.empty() ? "unknown" : std::string(text);
}

std::map<std::string, std::string, std::less<>> traits_as_written(const MeasuredRun& row) {
  const auto gpus = base::parse_integer(row.cell("gpus"));
  return {{"gpu", or_unknown(row.cell("gpu"))},
          {"source", or_unknown(row.cell("source"))},
          {"parallelism", "unknown"},
          {"scale", gpus ? scale_of(*gpus) : "unknown"},
          {"model", or_unknown(row.cell("model"))},
          {"precision", or_unknown(base::lower(row.cell("precision")))},
          {"framework", or_unknown(row.cell("framework"))},
          {"tier", or_unknown(row.cell("tier"))}};
}

/// The kinds of parallelism in use, "TP+PP+EP"; virtual stages and FSDP make another kind.
std::string parallelism_of(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  std::vector<std::string_view> kinds;
  if (p.tp > 1) kinds.emplace_back("TP");
  if (p.cp > 1) kinds.emplace_back("CP");
  if (p.pp > 1) kinds.emplace_back(p.vpp > 1 ? "VPP" : "PP");
  if (p.ep > 1) kinds.emplace_back("EP");
  if (p.fsdp && p.dp > 1) kinds.emplace_back("FSDP");
  if (kinds.empty()) return p.dp > 1 ? "DP" : "none";
  return fmt::format("{}", fmt::join(kinds, "+"));
}

std::string precision_of(const spec::Job& job, const std::string& written) {
  switch (job.training.precision) {
    case spec::Precision::kFp32: return "fp32";
    case spec::Precision::kFp16: return "fp16";
    case spec::Precision::kBf16: return "bf16";
    default: return written == "unknown" ? "fp8" : written;
  }
}

/// Why the memory of a row with an outcome cannot be told: adapters other than LoRA are not
/// modelled.
std::string unmodelled(const MeasuredRun& row) {
  if (!outcome_of(row)) return {};
  if (row.cell("task") == "adapter") return "task: LLaMA-Adapter is not modelled";
  return {};
}

double last_stage_bytes(const run::Memory& memory) {
  if (memory.stages.empty()) return memory.peak_bytes;
  const run::StageMemory& last = memory.stages.back();
  return last.weights_bytes + last.gradients_bytes + last.optimizer_bytes + last.activations_bytes +
         last.other_bytes;
}

}  // namespace

std::span<const std::string_view> trait_names() { return kTraits; }

std::string scale_of(int64_t gpus) {
  if (gpus <= 1) return "1 GPU";
  if (gpus <= 8) return "2 to 8";
  if (gpus <= 64) return "9 to 64";
  if (gpus <= 512) return "65 to 512";
  if (gpus <= 4096) return "513 to 4096";
  return "above 4096";
}

void add_traits(const spec::Job& job, Prediction& prediction) {
  auto& traits = prediction.traits;
  traits["gpu"] = job.cluster.node.gpu.name;
  traits["parallelism"] = parallelism_of(job);
  traits["scale"] = scale_of(job.gpus);
  traits["precision"] = precision_of(job, traits["precision"]);
}

Prediction predict(const MeasuredRun& row) {
  if (is_power_row(row)) return predict_power(row);
  Prediction out;
  out.traits = traits_as_written(row);
  out.skipped_reason = unmodelled(row);
  if (!out.skipped_reason.empty()) return out;
  auto made = make_job(row);
  if (!made) {
    out.skipped_reason = made.error().message;
    return out;
  }
  const spec::Job& job = made->job;
  out.fills = std::move(made->fills);
  out.measured = measurement(row, job);
  if (!out.measured.contradiction.empty()) {
    out.skipped_reason = out.measured.contradiction;
    return out;
  }
  out.kind = engine::evidence_key(job);
  out.gpus = job.gpus;
  add_traits(job, out);
  if (out.measured.outcome && !out.measured.step_time_s) {
    const workload::Workload workload = workload::lower(job);
    const auto report = plan::memory(job, workload, plan::divide(job, workload));
    out.memory = engine::memory_summary(job, report);
    out.memory_bytes = out.memory.peak_bytes;
    return out;
  }
  auto estimate = engine::estimate(job);
  if (!estimate) {
    out.skipped_reason = estimate.error().message;
    return out;
  }
  out.performance = std::move(estimate->performance);
  out.memory = std::move(estimate->memory);
  out.memory_bytes = out.measured.memory_between_steps  ? estimate->allocated_after_step_bytes
                     : out.measured.memory_of_last_rank ? last_stage_bytes(out.memory)
                     : out.measured.memory_reserved
                         ? out.memory.peak_bytes + out.memory.reserved_bytes
                         : out.memory.peak_bytes;
  auto power = power_of_run(row, job);
  if (power)
    out.power = *std::move(power);
  else
    out.power_skipped_reason = power.error().message;
  return out;
}

std::vector<Prediction> predict(const std::vector<MeasuredRun>& rows, size_t threads,
                                const std::function<void()>& done) {
  std::vector<Prediction> predictions(rows.size());
  base::parallel_for(rows.size(), threads, [&](size_t i) {
    predictions[i] = predict(rows[i]);
    done();
  });
  return predictions;
}

}  // namespace ergometer::validation
