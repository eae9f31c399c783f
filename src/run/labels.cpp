#include "run/labels.h"

#include <algorithm>
#include <array>

namespace ergometer::run {
namespace {

struct Label {
  std::string_view name, label;
};

constexpr std::array kLabels = std::to_array<Label>({
    {"step_time_s", "step time"},
    {"tokens_per_s", "throughput"},
    {"energy_j_per_step", "energy per step"},
    {"gpu_energy_j_per_step", "GPU energy per step"},
    {"power_w", "power"},
    {"power_w_per_gpu", "power per GPU"},
    {"mean_w_per_gpu", "power per GPU"},
    {"peak_w_per_gpu", "peak power per GPU"},
    {"mean_gpu_c", "mean GPU temperature"},
    {"max_gpu_c", "hottest GPU"},
    {"mean_clock_mhz", "mean clock"},
    {"throttled_time_fraction", "throttled time"},
    {"memory_bytes", "memory"},
    {"peak_memory_bytes", "peak memory"},
    {"intra_bytes_per_step", "sent inside nodes"},
    {"network_bytes_per_step", "sent between nodes"},
    {"exposed_all_reduce", "all-reduce"},
    {"exposed_all_gather", "all-gather"},
    {"exposed_reduce_scatter", "reduce-scatter"},
    {"exposed_all_to_all", "all-to-all"},
    {"exposed_send_recv", "send/recv"},
});

const Label* find_label(std::string_view name) {
  return std::ranges::find(kLabels, name, &Label::name);
}

}  // namespace

std::string_view label_of(std::string_view name) {
  const Label* found = find_label(name);
  return found == kLabels.end() ? name : found->label;
}

size_t place_of(std::string_view name) {
  return static_cast<size_t>(find_label(name) - kLabels.begin());
}

}  // namespace ergometer::run
