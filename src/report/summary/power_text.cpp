#include "report/summary/power_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/collection.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/summary/job_view.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

std::string power_quantity(double value) { return base::format_si(value, "W"); }

std::string megahertz(double value) { return base::format_count(std::llround(value)) + " MHz"; }

std::string gpu_line(const run::Power& power) {
  std::string line = fmt::format(
      "{} mean, {} at the 95th percentile, {} peak", power_quantity(power.mean_w_per_gpu),
      power_quantity(power.p95_w_per_gpu), power_quantity(power.peak_w_per_gpu));
  if (power.mean_interval_w.high > power.mean_interval_w.low)
    line += fmt::format("; mean {} to {} (90 %)", power_quantity(power.mean_interval_w.low),
                        power_quantity(power.mean_interval_w.high));
  return line;
}

/// What to know of numbers that nobody measured; beside GPUs with measured ones by their names.
std::string assumed_part(const JobView& job) {
  if (job.power_assumed.empty()) return {};
  return fmt::format(
      "; what {} draws for its work is assumed, none is measured",
      job.power_of_others ? fmt::format("{}", fmt::join(job.power_assumed, " and ")) : "it");
}

std::string cluster_line(const run::Power& power, int64_t nodes) {
  std::string line;
  if (nodes > 0)
    line = fmt::format("{} a node, ",
                       power_quantity(power.cluster_mean_w / static_cast<double>(nodes)));
  line += fmt::format("{} the cluster, {} at its peak", power_quantity(power.cluster_mean_w),
                      power_quantity(power.cluster_peak_w));
  if (power.cluster_mean_interval_w.high > power.cluster_mean_interval_w.low && nodes > 0)
    line += fmt::format(
        "; {} to {} a node (90 %)",
        power_quantity(power.cluster_mean_interval_w.low / static_cast<double>(nodes)),
        power_quantity(power.cluster_mean_interval_w.high / static_cast<double>(nodes)));
  if (power.facility_mean_w > power.cluster_mean_w * 1.0001)
    line += fmt::format(", {} with the building", power_quantity(power.facility_mean_w));
  return line;
}

/// "2.05 MW over the run: training 56 % of it at 2.3 MW, evaluation 24 % at 2 MW, ..."
std::string run_line(const std::vector<run::RunPhase>& phases, int64_t nodes) {
  const double mean_w = run::mean_w(phases);
  const double length_s =
      base::sum(phases, [&](const run::RunPhase& phase) { return phase.seconds; });
  std::string line =
      nodes > 0 ? fmt::format("{} a node, ", power_quantity(mean_w / static_cast<double>(nodes)))
                : "";
  line += fmt::format("{} the cluster, over {}: ", power_quantity(mean_w),
                      base::format_seconds(length_s));
  for (const run::RunPhase& phase : phases)
    line += fmt::format("{}{} {} at {}", &phase == phases.data() ? "" : ", ", phase.name,
                        format_share(phase.seconds / length_s), power_quantity(phase.cluster_w));
  return line;
}

std::string energy_line(const run::Power& power) {
  std::string line = fmt::format("{} a step, {:.3g} tokens/J",
                                 base::format_si(power.energy_j_per_step, "J"), power.tokens_per_j);
  if (power.energy_interval_j.high > power.energy_interval_j.low)
    line +=
        fmt::format("; {} to {} a step (90 %)", base::format_si(power.energy_interval_j.low, "J"),
                    base::format_si(power.energy_interval_j.high, "J"));
  return line;
}

std::string temperature_line(const run::Thermal& thermal) {
  std::string line =
      fmt::format("{:.1f} C mean, {:.1f} C hottest", thermal.mean_gpu_c, thermal.max_gpu_c);
  if (thermal.max_interval_c.high > thermal.max_interval_c.low)
    line += fmt::format(" ({:.0f} to {:.0f} C, 90 %)", thermal.max_interval_c.low,
                        thermal.max_interval_c.high);
  if (thermal.rows.size() == 2)
    line += fmt::format("; front row {:.1f} C, rear {:.1f} C", thermal.rows[0].mean_gpu_c,
                        thermal.rows[1].mean_gpu_c);
  else
    line += fmt::format("; {:.1f} C apart in one node", thermal.spread_c);
  if (thermal.max_memory_c > 0) line += fmt::format("; HBM {:.1f} C", thermal.max_memory_c);
  return line + fmt::format("; inlet {:.1f} C, fans {:.0f} %", thermal.inlet_c,
                            100 * thermal.fan_fraction);
}

std::string clock_line(const run::Thermal& thermal) {
  std::string line = megahertz(thermal.mean_clock_mhz);
  // Less than the governor's finest step apart: one clock.
  if (thermal.lowest_clock_mhz < thermal.mean_clock_mhz - 1)
    line += fmt::format(" mean, {} the slowest GPU", megahertz(thermal.lowest_clock_mhz));
  return line;
}

/// Each group of unlike nodes; power and energy at the plug are those of all of its nodes.
std::string kinds_table(const std::vector<run::KindPower>& kinds, const TextStyle& style) {
  base::Table table("<22 >7 >7 >9 >10 >8 >8 >9");
  table.row("GPUs, power and heat", "mean", "peak", "at plug", "a step", "GPU", "hottest", "clock");
  for (const run::KindPower& row : kinds)
    table.row("  " + shortened(row.gpu, 20), power_quantity(row.mean_w_per_gpu),
              power_quantity(row.peak_w_per_gpu), power_quantity(row.nodes_mean_w),
              base::format_si(row.energy_j_per_step, "J"), fmt::format("{:.1f} C", row.mean_gpu_c),
              fmt::format("{:.1f} C", row.max_gpu_c),
              fmt::format("{:.0f} MHz", row.mean_clock_mhz));
  return table_text(table, style, 1);
}

}  // namespace

std::string power_text(const run::Run& run, const TextStyle& style) {
  if (!run.has_power) return {};
  std::string out = heading(style, "Power and heat");
  const auto line = [&](std::string_view name, const std::string& text) {
    constexpr size_t kIndent = 15;
    out += fmt::format("  {:<13}{}\n", name, wrap(text, kWidth, kIndent));
  };
  const JobView job = view_job(run.job_json);
  line("GPU", gpu_line(run.power) + assumed_part(job));
  line("at the plug", cluster_line(run.power, job.nodes));
  if (!run.power.run_phases.empty()) line("whole run", run_line(run.power.run_phases, job.nodes));
  line("energy", energy_line(run.power));
  if (job.power_smoothing)
    line("smoothing", fmt::format("burns {}, all GPUs together",
                                  power_quantity(run.cluster_power.smoothing_burnt_w)));
  line("temperature", temperature_line(run.thermal));
  line("clock", clock_line(run.thermal));
  if (!run.thermal.limit.empty()) line("limit", run.thermal.limit);
  if (!run.power.kinds.empty()) out += '\n' + kinds_table(run.power.kinds, style);
  return out;
}

std::string rank_power_text(const run::Run& run, const TextStyle& style) {
  if (!run.has_power || run.ranks.empty()) return {};
  base::Table table(">7 >6 >6 >10 >9 >9 >9 >11 >11");
  table.row("Rank", "node", "slot", "power", "peak", "GPU", "hottest", "clock", "throttled");
  for (const run::Rank& rank : run.ranks)
    table.row(rank.rank, rank.node, rank.slot, fmt::format("{:.0f} W", rank.mean_power_w),
              fmt::format("{:.0f} W", rank.peak_power_w), fmt::format("{:.1f} C", rank.mean_gpu_c),
              fmt::format("{:.1f} C", rank.max_gpu_c),
              fmt::format("{:.0f} MHz", rank.mean_clock_mhz),
              format_share(rank.throttled_time_fraction));
  return table_text(table, style);
}

}  // namespace ergometer::report
