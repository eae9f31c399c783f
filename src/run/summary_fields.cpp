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
    ERGOMETER_FIELD(memory.peak_bytes),
    ERGOMETER_FIELD(memory.capacity_bytes),
    ERGOMETER_FIELD(memory.weights_bytes),
    ERGOMETER_FIELD(memory.gradients_bytes),
    ERGOMETER_FIELD(memory.optimizer_bytes),
    ERGOMETER_FIELD(memory.activations_bytes),
    ERGOMETER_FIELD(memory.other_bytes),
    {"memory.worst_stage",
     [](const Run& run) -> double { return static_cast<double>(run.memory.worst_stage); },
     [](Run& run, double value) { run.memory.worst_stage = static_cast<int64_t>(value); }},
});

#undef ERGOMETER_FIELD

}  // namespace

std::span<const SummaryField> summary_fields() { return kFields; }

const SummaryField* find_summary_field(std::string_view name) {
  for (const SummaryField& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace ergometer::run
