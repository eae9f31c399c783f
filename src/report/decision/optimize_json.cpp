
#include "base/json_writer.h"
#include "optimize/balance.h"
#include "plan/stages.h"
#include "report/decision/memory_of.h"
#include "report/decision/optimize_output.h"
#include "report/summary/job_json.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using optimize::Optimized;
using optimize::Outcome;

void write_clocks(JsonWriter& json, const char* name, const std::vector<double>& clocks_hz) {
  json.array(name, base::kOneLine, clocks_hz, [&](double hz) { json.value(hz / 1e6); });
}

void write_outcome(JsonWriter& json, const char* name, const Outcome& outcome) {
  json.key(name).begin_object();
  json.member("step_time_s", outcome.step_s).member("energy_j_per_step", outcome.energy_j);
  json.member("gpu_energy_j_per_step", outcome.gpu_energy_j);
  json.member("cluster_peak_w", outcome.peak_w).member("max_gpu_c", outcome.max_c);
  json.member("fits", outcome.fits).member("memory_bytes", outcome.memory_bytes);
  json.end_object();
}

void write_fit(JsonWriter& json, const run::Memory& memory) {
  json.key("memory").begin_object();
  json.member("fits", memory.fits).member("fit_probability", memory.fit_probability);
  json.member("peak_bytes", memory.peak_bytes).member("reserved_bytes", memory.reserved_bytes);
  json.member("capacity_bytes", memory.capacity_bytes).known("advice", memory.advice).end_object();
}

void write_job(JsonWriter& json, const char* name, const spec::Job& job, const Outcome& as_given,
               const Outcome& mean) {
  json.key(name).begin_object();
  write_fit(json, memory_of(job));
  write_outcome(json, "as_given", as_given);
  write_outcome(json, "mean", mean);
  json.list("layers", plan::layers_per_chunk(job), base::kOneLine);
  json.end_object();
}

void write_gain(JsonWriter& json, const Optimized& result) {
  const optimize::Gain& gain = result.gain;
  json.key("gain").begin_object();
  json.member("candidate", result.best_name).member("value_pct", gain.value_pct);
  json.member("low", gain.low_pct).member("high", gain.high_pct).member("certain", gain.certain());
  json.list("by_seed_pct", gain.by_seed_pct, base::kOneLine);
  json.list("as_good", result.as_good).end_object();
  if (result.keeps) return;
  json.key("robustness").begin_object();
  json.member("worst_pct", result.robustness.worst_pct);
  json.member("better", result.robustness.better).member("draws", result.robustness.draws);
  json.known("faults_moved_pct", result.robustness.faults_moved_pct).end_object();
}

void write_rows(JsonWriter& json, const Optimized& result) {
  json.objects("candidates", result.rows, [&](const optimize::Row& row) {
    json.member("knob", row.knob).member("name", row.name);
    json.member("step_time_s", row.step_s).member("energy_j_per_step", row.energy_j);
    json.member("cluster_peak_w", row.peak_w).member("max_gpu_c", row.max_c);
    json.member("gain_pct", row.gain_pct).member("allowed", row.allowed);
    json.member("taken", row.taken).member("known_split", row.known);
    json.known("refusal", row.refusal);
  });
}

void write_frontier(JsonWriter& json, const Optimized& result) {
  json.known("no_frontier", result.no_frontier);
  json.objects("frontier", result.frontier, [&](const optimize::FrontierRow& row) {
    json.member("passes_s", row.clocks.point.time_s);
    json.member("gpu_energy_j", row.clocks.point.energy_j);
    json.member("played_step_time_s", row.played_step_s);
    json.member("played_gpu_energy_j", row.played_gpu_energy_j);
    write_clocks(json, "forward_mhz", row.clocks.forward_hz);
    write_clocks(json, "backward_mhz", row.clocks.backward_hz);
    write_clocks(json, "lock_mhz", row.clocks.lock_hz);
  });
}

void write_clocked_step(JsonWriter& json, std::string_view name,
                        const optimize::ClockedStep& step) {
  json.key(name).begin_object(base::kOneLine);
  json.member("step_time_s", step.step_s).member("gpu_energy_j", step.gpu_energy_j).end_object();
}

void write_operator_clocks(JsonWriter& json, const optimize::OperatorClocks& clocks) {
  json.key("operator_clocks").begin_object();
  json.member("change_s", clocks.change_s).member("gain_pct", 100 * clocks.gain());
  json.member("locked_mhz", clocks.lock_hz / optimize::kMegahertz);
  json.member("other_mhz", clocks.other_hz / optimize::kMegahertz);
  write_clocked_step(json, "governed", clocks.governed);
  write_clocked_step(json, "locked", clocks.locked);
  write_clocked_step(json, "free_changes", clocks.free);
  write_clocked_step(json, "changes", clocks.changed);
  json.key("kinds").begin_array();
  for (size_t kind = 0; kind < optimize::kWorkKinds; ++kind) {
    const optimize::WorkKindRow& row = clocks.kinds[kind];
    json.begin_object(base::kOneLine)
        .member("kind", to_word(static_cast<optimize::WorkKind>(kind)));
    json.member("time_s", row.time_s).member("runs", row.runs).member("longest_s", row.longest_s);
    json.member("reached_fraction", row.reached);
    json.member("free_mhz", row.free_hz / optimize::kMegahertz);
    json.member("own_mhz", row.own_hz / optimize::kMegahertz).end_object();
  }
  json.end_array().end_object();
}

void write_settings(JsonWriter& json, const Optimized& result) {
  const optimize::Settings settings = optimize::settings_of(result);
  json.key("settings").begin_object();
  json.list("changes", settings.lines);
  json.list("megatron_lm", settings.megatron);
  json.list("rank_map", settings.rank_map, base::kOneLine);
  json.list("recompute_by_stage", settings.recompute_by_stage, base::kOneLine);
  json.rows("gpus", settings.gpus, [&](const optimize::GpuSetting& gpu) {
    json.member("node", gpu.node);
    json.member("gpu", gpu.gpu).member("rank", gpu.rank);
    if (gpu.cap_w > 0) json.member("power_cap_w", gpu.cap_w);
    if (gpu.lock_mhz > 0) json.member("lock_clock_mhz", gpu.lock_mhz);
  });
  json.end_object();
}

void write_balance(JsonWriter& json, const Optimized& result) {
  json.key("balance").begin_object();
  json.member("align", optimize::to_word(*result.balanced_to));
  json.rows("gpus", result.balanced_gpus, [&](const optimize::BalancedGpu& gpu) {
    json.member("node", gpu.node).member("gpu", gpu.gpu).member("rank", gpu.rank);
    json.member("lead_before_s", gpu.lead_before_s).member("lead_s", gpu.lead_s);
    json.member("power_cap_before_w", gpu.cap_before_w).member("power_cap_w", gpu.cap_w);
  });
  json.end_object();
}

}  // namespace

std::string optimize_json(const Optimized& result, const optimize::Options& options,
                          const std::vector<optimize::File>& files,
                          const std::function<void(base::JsonWriter&)>& also,
                          JsonWriter::Layout layout) {
  JsonWriter json;
  json.begin_object(layout).member("schema_version", run::kSchemaVersion);
  json.member("objective", optimize::to_word(options.objective));
  const std::vector<optimize::Knob> knobs =
      result.balanced_to ? std::vector{optimize::Knob::kCaps} : options.knobs;
  json.array("knobs", base::kOneLine, knobs,
             [&](optimize::Knob knob) { json.value(optimize::to_word(knob)); });
  json.member("noise_floor_pct", options.noise_floor_pct);
  json.member("max_slowdown_pct", options.most_slowdown_pct);
  json.member("draws", static_cast<int64_t>(options.judges)).member("keeps", result.keeps);
  write_job(json, "unchanged", result.unchanged, result.unchanged_outcome, result.unchanged_mean);
  write_job(json, "chosen", result.chosen, result.chosen_outcome, result.chosen_mean);
  write_gain(json, result);
  write_rows(json, result);
  write_frontier(json, result);
  if (result.operator_clocks) write_operator_clocks(json, *result.operator_clocks);
  if (result.balanced_to) write_balance(json, result);
  write_settings(json, result);
  json.array("files", files, [&](const optimize::File& file) { json.value(file.name); });
  also(json);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
