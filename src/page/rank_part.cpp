#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "page/columns.h"
#include "page/run_part.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;
using run::Breakdown;
using run::Rank;

template <class Row, class Value>
auto column_of(const std::vector<Row>& rows, const Value& value) {
  std::vector<std::decay_t<decltype(value(rows[0]))>> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(value(row));
  return values;
}

constexpr std::array kParts = std::to_array<std::pair<const char*, double Breakdown::*>>({
    {"compute", &Breakdown::compute},
    {"exposed_all_reduce", &Breakdown::exposed_all_reduce},
    {"exposed_all_gather", &Breakdown::exposed_all_gather},
    {"exposed_reduce_scatter", &Breakdown::exposed_reduce_scatter},
    {"exposed_all_to_all", &Breakdown::exposed_all_to_all},
    {"exposed_send_recv", &Breakdown::exposed_send_recv},
    {"optimizer", &Breakdown::optimizer},
    {"idle", &Breakdown::idle},
});

void write_simulated(JsonWriter& json, const run::Run& run) {
  const std::vector<Rank>& ranks = run.ranks;
  const auto whole = [&](const char* name, int64_t Rank::* member) {
    column(json, name, column_of(ranks, [&](const Rank& r) { return r.*member; }));
  };
  const auto real = [&](const char* name, double Rank::* member) {
    column(json, name, column_of(ranks, [&](const Rank& r) { return r.*member; }));
  };
  const auto part = [&](const char* name, double Breakdown::* member) {
    column(json, name, column_of(ranks, [&](const Rank& r) { return r.breakdown_s.*member; }));
  };
  json.key("ranks").begin_object();
  whole("rank", &Rank::rank);
  whole("node", &Rank::node);
  whole("slot", &Rank::slot);
  whole("stage", &Rank::stage);
  if (run.has_power) {
    real("mean_power_w", &Rank::mean_power_w);
    real("peak_power_w", &Rank::peak_power_w);
    real("mean_gpu_c", &Rank::mean_gpu_c);
    real("max_gpu_c", &Rank::max_gpu_c);
    real("mean_clock_mhz", &Rank::mean_clock_mhz);
    real("throttled_time_fraction", &Rank::throttled_time_fraction);
  }
  json.key("breakdown_s").begin_object();
  for (const auto& [name, member] : kParts) part(name, member);
  json.end_object().end_object();
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
  if (!std::any_of(gpus.begin(), gpus.end(), known)) return;
  column(json, name, column_of(gpus, [&](const Gpu& gpu) {
           return known(gpu) ? *(gpu.report->*levels).*value : NAN;
         }));
}

void write_recorded(JsonWriter& json, const std::vector<Gpu>& gpus) {
  using analysis::DeviceReport;
  using analysis::Levels;
  json.key("ranks").begin_object();
  column(json, "rank", column_of(gpus, [](const Gpu& g) { return g.rank; }));
  column(json, "node", column_of(gpus, [](const Gpu& g) { return g.node; }));
  column(json, "slot", column_of(gpus, [](const Gpu& g) { return g.slot; }));
  column(json, "stage", column_of(gpus, [](const Gpu& g) { return g.stage; }));
  if (std::any_of(gpus.begin(), gpus.end(), [](const Gpu& g) { return g.report->has_power; })) {
    const auto watts = [&](const char* name, double DeviceReport::* member) {
      column(json, name, column_of(gpus, [&](const Gpu& g) {
               return g.report->has_power ? g.report->*member : NAN;
             }));
    };
    watts("mean_power_w", &DeviceReport::mean_w);
    watts("peak_power_w", &DeviceReport::peak_w);
  }
  levels(json, "mean_gpu_c", gpus, &DeviceReport::gpu_c, &Levels::mean);
  levels(json, "max_gpu_c", gpus, &DeviceReport::gpu_c, &Levels::highest);
  levels(json, "mean_clock_mhz", gpus, &DeviceReport::sm_clock_mhz, &Levels::mean);
  const auto throttled = [](const Gpu& g) { return g.report->throttled_fraction.has_value(); };
  if (std::any_of(gpus.begin(), gpus.end(), throttled))
    column(json, "throttled_time_fraction", column_of(gpus, [](const Gpu& g) {
             return g.report->throttled_fraction.value_or(NAN);
           }));
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
  column(json, "row", column_of(run.slots, [](const run::Slot& s) { return s.row; }));
  column(json, "lane", column_of(run.slots, [](const run::Slot& s) { return s.lane; }));
  json.member("cooling", view.job.cooling.empty() ? "air" : view.job.cooling).end_object();
}

}  // namespace ergometer::page
