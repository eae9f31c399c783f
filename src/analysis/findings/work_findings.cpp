#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/job_findings.h"
#include "analysis/findings/trace_summary.h"
#include "base/text.h"

// Findings about what the GPU works on: phases, operators, energy.

namespace ergometer::analysis {
namespace {

/// A cost that is a sum over ranks.
Finding cost(const TraceSummary& summary, std::string name, std::string confidence, int64_t ns) {
  Finding f;
  f.name = std::move(name);
  f.confidence = std::move(confidence);
  const double ranks = static_cast<double>(std::max<size_t>(summary.ranks.size(), 1));
  f.cost_s = static_cast<double>(ns) * 1e-9 / ranks;
  if (summary.taxes.span_ns > 0)
    f.fraction = static_cast<double>(ns) / static_cast<double>(summary.taxes.span_ns);
  return f;
}

Finding recomputation(const TraceSummary& summary) {
  int64_t busy = 0;
  for (const PhaseRow& row : summary.phases.rows)
    if (row.phase == Phase::kRecomputation) busy = row.busy_ns;
  Finding f = cost(summary, "recomputation", "measured", busy);
  f.what = fmt::format("Activation checkpointing repeats forward work for {} of the span.",
                       base::format_percent(f.fraction));
  advise_on_recomputation(f);
  return f;
}

/// Shapes without the empty places of scalars behind them.
std::string tensors(std::string_view shapes) {
  std::string text(shapes);
  while (text.ends_with(", []]")) text.replace(text.size() - 5, 5, "]");
  return text;
}

/// The operator far from its roof that takes the most time.
Finding slow_operator(const TraceSummary& summary) {
  constexpr double kFarBelow = 0.4;  // of the nearer roof: assumed; good kernels reach 0.6 to 0.9
  Finding f;
  if (!summary.peak) return f;
  for (const ShapeRow& row : summary.shapes.rows) {
    const double flops = row.flops_fraction(*summary.peak);
    const double reached = std::max(flops, row.bytes_fraction(*summary.peak));
    if (!row.work.flops || flops <= 0 || reached >= kFarBelow) continue;
    f = cost(summary, "slow_operator", "data-sheet peak; FLOPs and bytes by shapes",
             static_cast<int64_t>((1 - reached / kFarBelow) * static_cast<double>(row.total_ns)));
    f.what = fmt::format(
        "{} on {} reaches {} of the {}'s peak in FLOPs and {} in bandwidth; at {} of either its {} "
        "would save {} of the span.",
        row.name, tensors(row.shapes), base::format_percent(flops), summary.peak->gpu,
        base::format_percent(row.bytes_fraction(*summary.peak)), base::format_percent(kFarBelow),
        base::format_nanoseconds(row.total_ns), base::format_percent(f.fraction));
    f.try_next =
        "larger micro batches, dimensions that are multiples of 64, another kernel (flash "
        "attention, grouped GEMM), BF16 or FP8 instead of FP32.";
    f.check = "trace.operators of ergometer analyze --json, after the change";
    return f;
  }
  return f;
}

/// Energy that did no work: what the GPU drew while idle or in collectives.
Finding unproductive_energy(const TraceSummary& summary) {
  double joules = 0, lost = 0, lost_s = 0, covered = 0, error = 0;
  std::vector<run::MeasuredEnergy> lost_by_rank;
  for (const RankEnergy& rank : summary.energy) {
    if (!rank.refused.empty()) continue;
    joules += rank.measured_j;
    covered += rank.covered_s;
    double lost_j = 0, error_j = 0;
    for (const EnergyRow& row : rank.classes) {
      if (row.name != "idle" && row.name != "collective") continue;
      lost_j += row.joules;
      lost_s += row.seconds;
      error_j += row.joules_error;
    }
    lost += lost_j;
    error += error_j;
    lost_by_rank.push_back({lost_j, error_by_fit(rank, lost_j, error_j)});
  }
  Finding f;
  if (joules <= 0 || covered <= 0) return f;
  f.name = "energy_without_work";
  f.cost_s = lost_s / static_cast<double>(summary.energy.size());
  f.fraction = lost_s / covered;
  if (lost_s > 0) f.watts = lost / lost_s;
  f.watts_error = run::error_of_sum(lost_by_rank);
  f.confidence = fmt::format("watts by regression, +- {:.0f} J (standard error)", error);
  if (f.watts_error.stated)
    f.confidence += fmt::format("; +-{:.1f} % (90 %) with the error of the power sensors",
                                f.watts_error.percent());
  f.what = fmt::format(
      "Idle GPUs and collectives with nothing beside them take {} of the time and {} of the energy "
      "({:.0f} of {:.0f} J).",
      base::format_percent(f.fraction), base::format_percent(lost / joules), lost, joules);
  f.try_next =
      "what shortens exposed communication and idle time saves this energy too; a lower power cap "
      "costs little while the GPU waits.";
  f.check = "energy of ergometer analyze --json, after the change";
  return f;
}

}  // namespace

std::vector<Finding> find_in_work(const TraceSummary& summary) {
  return {recomputation(summary), slow_operator(summary), unproductive_energy(summary)};
}

}  // namespace ergometer::analysis
