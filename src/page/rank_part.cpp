#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "page/columns.h"
#include "page/run_part.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;
using run::Breakdown;
using run::Rank;

void write_breakdowns(JsonWriter& json, const std::vector<Breakdown>& ranks) {
  json.key("breakdown_s").begin_object();
  write_columns(json, ranks, run::kBreakdownColumns);
  json.end_object();
}

void write_simulated(JsonWriter& json, const run::Run& run) {
  json.key("ranks").begin_object();
  write_columns(json, run.ranks, run::kRankColumns);
  if (run.has_power) write_columns(json, run.ranks, run::kRankPowerColumns);
  write_breakdowns(json, base::mapped(run.ranks, &Rank::breakdown_s));
  json.end_object();
}

/// What a GPU's telemetry says, with its place: hosts and GPUs in the order of ranks.
struct Gpu {
  int64_t rank = 0, node = 0, slot = 0, stage = 0;
  const analysis::DeviceReport* report = nullptr;
};

std::vector<Gpu> recorded_gpus(const RunView& view) {
  std::map<int64_t, int64_t> stages;
  for (const run::RankTrace& trace : view.traces)
    if (trace.stage >= 0) stages[trace.rank] = trace.stage;
  std::map<std::string, int64_t> nodes, used;
  std::vector<Gpu> gpus;
  for (const analysis::DeviceReport& report : view.told.power.devices) {
    if (report.kind != run::DeviceKind::kGpu || report.rank < 0) continue;
    Gpu gpu;
    gpu.rank = report.rank;
    gpu.node = nodes.emplace(report.host, std::ssize(nodes)).first->second;
    gpu.slot = used[report.host]++;
    if (const auto stage = stages.find(gpu.rank); stage != stages.end()) gpu.stage = stage->second;
    gpu.report = &report;
    gpus.push_back(gpu);
  }
  return gpus;
}

/// A column is there where any GPU has it; null where one has not.
void levels(JsonWriter& json, const char* name, const std::vector<Gpu>& gpus,
            std::optional<analysis::Levels> analysis::DeviceReport::* levels,
            double analysis::Levels::* value) {
  const auto known = [&](const Gpu& gpu) { return (gpu.report->*levels).has_value(); };
  if (!std::ranges::any_of(gpus, known)) return;
  column(json, name, gpus,
         [&](const Gpu& gpu) { return known(gpu) ? *(gpu.report->*levels).*value : NAN; });
}

void write_recorded(JsonWriter& json, const std::vector<Gpu>& gpus) {
  using analysis::DeviceReport;
  using analysis::Levels;
  json.key("ranks").begin_object();
  column(json, "rank", gpus, &Gpu::rank);
  column(json, "node", gpus, &Gpu::node);
  column(json, "slot", gpus, &Gpu::slot);
  column(json, "stage", gpus, &Gpu::stage);
  if (std::ranges::any_of(gpus, [](const Gpu& g) { return g.report->has_power; })) {
    const auto watts = [&](const char* name, double DeviceReport::* member) {
      column(json, name, gpus,
             [&](const Gpu& g) { return g.report->has_power ? g.report->*member : NAN; });
    };
    watts("mean_power_w", &DeviceReport::mean_w);
    watts("peak_power_w", &DeviceReport::peak_w);
  }
  levels(json, "mean_gpu_c", gpus, &DeviceReport::gpu_c, &Levels::mean);
  levels(json, "max_gpu_c", gpus, &DeviceReport::gpu_c, &Levels::highest);
  levels(json, "mean_clock_mhz", gpus, &DeviceReport::sm_clock_mhz, &Levels::mean);
  const auto throttled = [](const Gpu& g) { return g.report->throttled_fraction.has_value(); };
  if (std::ranges::any_of(gpus, throttled))
    column(json, "throttled_time_fraction", gpus,
           [](const Gpu& g) { return g.report->throttled_fraction.value_or(NAN); });
  json.end_object();
}

}  // namespace

void write_ranks_part(JsonWriter& json, const RunView& view) {
  const run::Run& run = view.run();
  if (!run.ranks.empty()) {
    write_simulated(json, run);
  } else if (!view.simulated) {
    const std::vector<Gpu> gpus = recorded_gpus(view);
    if (!gpus.empty()) write_recorded(json, gpus);
  }
  if (run.slots.empty()) return;
  json.key("chassis").begin_object();
  column(json, "row", run.slots, &run::Slot::row);
  column(json, "lane", run.slots, &run::Slot::lane);
  json.member("cooling", view.job.cooling.empty() ? "air" : view.job.cooling).end_object();
}

}  // namespace ergometer::page
