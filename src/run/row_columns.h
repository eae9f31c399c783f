#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>

#include "run/run.h"

namespace ergometer::run {

/// The members of a row of a Run under the names by which its file and the JSON output know them,
/// in their order.
///
///   constexpr Columns kPhaseColumns("name, seconds", &RunPhase::name, &RunPhase::seconds);
template <class Row, class... Types>
class Columns {
 public:
  constexpr Columns(std::string_view names, Types Row::*... members)
      : names_(names), members_(members...) {}

  static constexpr size_t size() { return sizeof...(Types); }
  constexpr std::string_view names() const { return names_; }  ///< "name, seconds"

  /// `use(members...)` with the pointers to all members.
  template <class Use>
  constexpr auto apply(const Use& use) const {
    return std::apply(use, members_);
  }
  /// `use(name, member)` with one after the other.
  template <class Use>
  void for_each(const Use& use) const {
    std::string_view rest = names_;
    const auto next = [&] {
      const std::string_view name = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), name.size() + 2));
      return name;
    };
    apply([&](auto... member) { (use(next(), member), ...); });
  }

 private:
  std::string_view names_;
  std::tuple<Types Row::*...> members_;
};

constexpr Columns kStageColumns(
    "stage, weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes, other_bytes",
    &StageMemory::stage, &StageMemory::weights_bytes, &StageMemory::gradients_bytes,
    &StageMemory::optimizer_bytes, &StageMemory::activations_bytes, &StageMemory::other_bytes);
constexpr Columns kLinkColumns("kind, bytes_per_step, mean_gb_per_s, peak_gb_per_s, utilization",
                               &Link::kind, &Link::bytes_per_step, &Link::mean_gb_per_s,
                               &Link::peak_gb_per_s, &Link::utilization);
constexpr Columns kRankColumns("rank, node, slot, stage", &Rank::rank, &Rank::node, &Rank::slot,
                               &Rank::stage);
constexpr Columns kRankPowerColumns(
    "mean_power_w, peak_power_w, mean_gpu_c, max_gpu_c, mean_clock_mhz, throttled_time_fraction",
    &Rank::mean_power_w, &Rank::peak_power_w, &Rank::mean_gpu_c, &Rank::max_gpu_c,
    &Rank::mean_clock_mhz, &Rank::throttled_time_fraction);
constexpr Columns kBreakdownColumns(
    "compute, exposed_all_reduce, exposed_all_gather, exposed_reduce_scatter, exposed_all_to_all, "
    "exposed_send_recv, optimizer, idle",
    &Breakdown::compute, &Breakdown::exposed_all_reduce, &Breakdown::exposed_all_gather,
    &Breakdown::exposed_reduce_scatter, &Breakdown::exposed_all_to_all,
    &Breakdown::exposed_send_recv, &Breakdown::optimizer, &Breakdown::idle);
constexpr Columns kExpertColumns(
    "setting, step_time_s, mean_load, most_load, dropped_fraction, peak_memory_bytes",
    &ExpertRow::setting, &ExpertRow::step_time_s, &ExpertRow::mean_load, &ExpertRow::most_load,
    &ExpertRow::dropped_fraction, &ExpertRow::peak_memory_bytes);
constexpr Columns kSequenceColumns(
    "setting, step_time_s, step_time_s_low, step_time_s_high, tokens_per_s, padding_fraction, "
    "attention_fraction, waiting_fraction, slowest_load, peak_memory_bytes",
    &SequenceRow::setting, &SequenceRow::step_time_s, &SequenceRow::step_time_s_low,
    &SequenceRow::step_time_s_high, &SequenceRow::tokens_per_s, &SequenceRow::padding_fraction,
    &SequenceRow::attention_fraction, &SequenceRow::waiting_fraction, &SequenceRow::slowest_load,
    &SequenceRow::peak_memory_bytes);
constexpr Columns kPackingColumns(
    "setting, padding_fraction, token_distance, tile_distance, tokens, tiles", &PackingRow::setting,
    &PackingRow::padding_fraction, &PackingRow::token_distance, &PackingRow::tile_distance,
    &PackingRow::tokens, &PackingRow::tiles);
constexpr Columns kGpuKindColumns(
    "gpu, node, gpus, ranks, stages, compute_s, communication_s, idle_s", &GpuKind::gpu,
    &GpuKind::node, &GpuKind::gpus, &GpuKind::ranks, &GpuKind::stages, &GpuKind::compute_s,
    &GpuKind::communication_s, &GpuKind::idle_s);
constexpr Columns kKindPowerColumns(
    "gpu, node, mean_w_per_gpu, peak_w_per_gpu, nodes_mean_w, energy_j_per_step, "
    "gpu_energy_j_per_step, mean_gpu_c, max_gpu_c, mean_clock_mhz, throttled_time_fraction",
    &KindPower::gpu, &KindPower::node, &KindPower::mean_w_per_gpu, &KindPower::peak_w_per_gpu,
    &KindPower::nodes_mean_w, &KindPower::energy_j_per_step, &KindPower::gpu_energy_j_per_step,
    &KindPower::mean_gpu_c, &KindPower::max_gpu_c, &KindPower::mean_clock_mhz,
    &KindPower::throttled_time_fraction);
constexpr Columns kPhaseColumns("name, seconds, cluster_w", &RunPhase::name, &RunPhase::seconds,
                                &RunPhase::cluster_w);
constexpr Columns kRampColumns("over_s, up_w_per_s, down_w_per_s", &Ramp::over_s, &Ramp::up_w_per_s,
                               &Ramp::down_w_per_s);
constexpr Columns kBandColumns("low_hz, high_hz, rms_w", &Band::low_hz, &Band::high_hz,
                               &Band::rms_w);
constexpr Columns kPowerLimitColumns("job, limit_w, time_s, mean_w, energy_j", &PowerLimitRow::job,
                                     &PowerLimitRow::limit_w, &PowerLimitRow::time_s,
                                     &PowerLimitRow::mean_w, &PowerLimitRow::energy_j);
constexpr Columns kDroppedColumns("file, reason, count", &Dropped::file, &Dropped::reason,
                                  &Dropped::count);

}  // namespace ergometer::run
