#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/collection.h"
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

void write_recorded(JsonWriter& json, const std::vector<Gpu>& gpus) {
  using Report = analysis::DeviceReport;
  json.key("ranks").begin_object();
  column(json, "rank", gpus, &Gpu::rank);
  column(json, "node", gpus, &Gpu::node);
  column(json, "slot", gpus, &Gpu::slot);
  column(json, "stage", gpus, &Gpu::stage);
  // A column is there where any GPU has it; null where one has not.
  const auto known = [&](const char* name, const auto& of) {
    const std::vector<double> values =
        base::mapped(gpus, [&](const Gpu& gpu) -> double { return of(*gpu.report); });
    if (std::ranges::any_of(values, [](double value) { return !std::isnan(value); }))
      column(json, name, values);
  };
  known("mean_power_w", [](const Report& r) { return r.has_power ? r.mean_w : NAN; });
  known("peak_power_w", [](const Report& r) { return r.has_power ? r.peak_w : NAN; });
  known("mean_gpu_c", [](const Report& r) { return r.gpu_c ? r.gpu_c->mean : NAN; });
  known("max_gpu_c", [](const Report& r) { return r.gpu_c ? r.gpu_c->highest : NAN; });
  known("mean_clock_mhz",
        [](const Report& r) { return r.sm_clock_mhz ? r.sm_clock_mhz->mean : NAN; });
  known("throttled_time_fraction",
        [](const Report& r) { return r.throttled_fraction.value_or(NAN); });
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
