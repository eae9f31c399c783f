#include "run/summary_fields.h"

#include <array>

namespace ergometer::run {
namespace {

// The member's name is the contract's name, so the text is made from the member itself.
#define ERGOMETER_FIELD(path)                                 \
  SummaryField {                                              \
    #path, [](const Run& run) -> double { return run.path; }, \
        [](Run& run, double value) { run.path = value; }      \
  }

// What the Run keeps elsewhere: an end of an interval, or a number that stands in two groups.
#define ERGOMETER_NAMED(name, path)                           \
  SummaryField {                                              \
    #name, [](const Run& run) -> double { return run.path; }, \
        [](Run& run, double value) { run.path = value; }      \
  }

#define ERGOMETER_ENDS(name, path) \
  ERGOMETER_NAMED(name##_low, path.low), ERGOMETER_NAMED(name##_high, path.high)

constexpr std::array kFields = std::to_array<SummaryField>({
    ERGOMETER_FIELD(performance.step_time_s),
    ERGOMETER_FIELD(performance.step_time_s_low),
    ERGOMETER_FIELD(performance.step_time_s_high),
    ERGOMETER_FIELD(performance.tokens_per_s),
    ERGOMETER_FIELD(performance.tokens_per_s_per_gpu),
    ERGOMETER_FIELD(performance.model_tflops_per_gpu),
    ERGOMETER_FIELD(performance.hardware_tflops_per_gpu),
    ERGOMETER_FIELD(performance.mfu),
    ERGOMETER_FIELD(performance.hfu),
    ERGOMETER_FIELD(performance.pipeline_bubble_fraction),
    ERGOMETER_FIELD(performance.breakdown_s.compute),
    ERGOMETER_FIELD(performance.breakdown_s.exposed_all_reduce),
    ERGOMETER_FIELD(performance.breakdown_s.exposed_all_gather),
    ERGOMETER_FIELD(performance.breakdown_s.exposed_reduce_scatter),
    ERGOMETER_FIELD(performance.breakdown_s.exposed_all_to_all),
    ERGOMETER_FIELD(performance.breakdown_s.exposed_send_recv),
    ERGOMETER_FIELD(performance.breakdown_s.optimizer),
    ERGOMETER_FIELD(performance.breakdown_s.idle),
    {"memory.fits", [](const Run& run) -> double { return run.memory.fits ? 1 : 0; },
     [](Run& run, double value) { run.memory.fits = value != 0; }},
    ERGOMETER_FIELD(memory.fit_probability),
    ERGOMETER_FIELD(memory.peak_bytes),
    ERGOMETER_FIELD(memory.reserved_bytes),
    ERGOMETER_FIELD(memory.capacity_bytes),
    ERGOMETER_FIELD(memory.weights_bytes),
    ERGOMETER_FIELD(memory.gradients_bytes),
    ERGOMETER_FIELD(memory.optimizer_bytes),
    ERGOMETER_FIELD(memory.activations_bytes),
    ERGOMETER_FIELD(memory.other_bytes),
    {"memory.worst_stage",
     [](const Run& run) -> double { return static_cast<double>(run.memory.worst_stage); },
     [](Run& run, double value) { run.memory.worst_stage = static_cast<int64_t>(value); }},
    ERGOMETER_FIELD(power.mean_w_per_gpu),
    ERGOMETER_ENDS(power.mean_w_per_gpu, power.mean_interval_w),
    ERGOMETER_FIELD(power.p95_w_per_gpu),
    ERGOMETER_FIELD(power.peak_w_per_gpu),
    ERGOMETER_ENDS(power.peak_w_per_gpu, power.peak_interval_w),
    ERGOMETER_FIELD(power.cluster_mean_w),
    ERGOMETER_ENDS(power.cluster_mean_w, power.cluster_mean_interval_w),
    ERGOMETER_FIELD(power.cluster_peak_w),
    ERGOMETER_ENDS(power.cluster_peak_w, power.cluster_peak_interval_w),
    ERGOMETER_FIELD(power.facility_mean_w),
    ERGOMETER_FIELD(power.duration_s),
    ERGOMETER_FIELD(power.steps),
    ERGOMETER_FIELD(power.energy_j_per_step),
    ERGOMETER_ENDS(power.energy_j_per_step, power.energy_interval_j),
    ERGOMETER_FIELD(power.gpu_energy_j_per_step),
    ERGOMETER_ENDS(power.gpu_energy_j_per_step, power.gpu_energy_interval_j),
    ERGOMETER_FIELD(power.tokens_per_j),
    ERGOMETER_FIELD(thermal.mean_gpu_c),
    ERGOMETER_ENDS(thermal.mean_gpu_c, thermal.mean_interval_c),
    ERGOMETER_FIELD(thermal.max_gpu_c),
    ERGOMETER_ENDS(thermal.max_gpu_c, thermal.max_interval_c),
    ERGOMETER_FIELD(thermal.spread_c),
    ERGOMETER_FIELD(thermal.mean_memory_c),
    ERGOMETER_FIELD(thermal.max_memory_c),
    ERGOMETER_FIELD(thermal.throttled_time_fraction),
    ERGOMETER_FIELD(thermal.throttling_cost_s),
    ERGOMETER_FIELD(thermal.straggler_cost_s),
    ERGOMETER_FIELD(thermal.mean_clock_mhz),
    ERGOMETER_ENDS(thermal.mean_clock_mhz, thermal.clock_interval_mhz),
    ERGOMETER_FIELD(thermal.lowest_clock_mhz),
    ERGOMETER_FIELD(thermal.inlet_c),
    ERGOMETER_FIELD(thermal.fan_fraction),
    ERGOMETER_NAMED(cluster_power.mean_w, power.cluster_mean_w),
    ERGOMETER_NAMED(cluster_power.peak_w, power.cluster_peak_w),
    ERGOMETER_FIELD(cluster_power.interval_s),
    ERGOMETER_FIELD(cluster_power.lowest_w),
    ERGOMETER_FIELD(cluster_power.p95_w),
    ERGOMETER_FIELD(cluster_power.dominant_hz),
    ERGOMETER_FIELD(cluster_power.dominant_rms_w),
    ERGOMETER_FIELD(cluster_power.smoothing_burnt_w),
});

#undef ERGOMETER_ENDS
#undef ERGOMETER_NAMED
#undef ERGOMETER_FIELD

}  // namespace

std::span<const SummaryField> summary_fields() { return kFields; }

bool is_known(const SummaryField& field, const Run& run) {
  // Traces tell how long a step took and where it went, and nothing else of the summary.
  if (!run.traces.empty())
    return field.name == "performance.step_time_s" ||
           field.name.starts_with("performance.breakdown_s.");
  if (field.name == "thermal.throttling_cost_s" || field.name == "thermal.straggler_cost_s")
    return !run.power.step_energy.empty();
  if (run.has_power) return true;
  for (const std::string_view group : {"power.", "thermal.", "cluster_power."})
    if (field.name.starts_with(group)) return false;
  return true;
}

const SummaryField* find_summary_field(std::string_view name) {
  for (const SummaryField& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace ergometer::run
