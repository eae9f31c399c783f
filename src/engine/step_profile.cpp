#include "engine/step_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/telemetry_bands.h"
#include "physics/sensor.h"

namespace ergometer::engine {
namespace {

constexpr double kMostReadings = 4096;

/// One slice of a step over all GPUs.
struct Slice {
  std::vector<double> watts, memory_w, clock_hz;
  std::vector<uint32_t> reasons;
};

class Profile {
 public:
  Profile(const PowerLoop& loop, const Fleet& fleet, const spec::Job& job, FleetHeat& heat,
          std::span<const int64_t> sampled, bool bands)
      : loop_(loop), fleet_(fleet), job_(job), heat_(heat), sampled_(sampled), bands_(bands) {
    const auto gpus = static_cast<size_t>(fleet.gpus());
    now_.watts.resize(gpus);
    now_.memory_w.resize(gpus);
    now_.clock_hz.resize(gpus);
    now_.reasons.resize(gpus);
    result_.max_c.assign(gpus, -1e9);
    result_.max_memory_c.assign(gpus, -1e9);
    sampled_slices_.resize(sampled.size());
  }

  StepProfile run() {
    const int slices = loop_.governed().slices();
    if (slices > 1)
      for (int slice = 0; slice < slices; ++slice) play(slice);
    result_.cluster.interval_s = loop_.step().step_s / loop_.governed().fine().slices;
    for (int slice = 0; slice < slices; ++slice) {
      play(slice);
      take_samples(slice);
      add_role_power(slice);
    }
    smooth_roles();
    add_cluster_power();
    for (size_t i = 0; i < sampled_.size(); ++i) read_sensors(i);
    return std::move(result_);
  }

 private:
  struct SampledSlice {
    double start_s = 0, length_s = 0, watts = 0, clock_hz = 0, die_c = 0, memory_c = 0;
    uint32_t reasons = 0;
  };

  void play(int slice) {
    loop_.governed().slice_power(slice, loop_.step(), heat_.surroundings(), now_.watts,
                                 now_.memory_w, now_.clock_hz, now_.reasons);
    heat_.advance(length_s(slice), now_.watts, now_.memory_w);
  }
  double length_s(int slice) const { return loop_.step().slice_s[static_cast<size_t>(slice)]; }

  void take_samples(int slice) {
    const auto die_c = heat_.surroundings().die_c;
    const auto memory_c = heat_.memory_c();
    for (size_t gpu = 0; gpu < now_.watts.size(); ++gpu) {
      result_.max_c[gpu] = std::max(result_.max_c[gpu], die_c[gpu]);
      result_.max_memory_c[gpu] = std::max(result_.max_memory_c[gpu], memory_c[gpu]);
      if (fleet_.role[gpu] >= 0)
        result_.samples.push_back(
            {.watts = now_.watts[gpu], .weight = fleet_.weight_of(gpu) * length_s(slice)});
    }
    for (size_t i = 0; i < sampled_.size(); ++i) {
      const size_t gpu = fleet_.gpu_of(sampled_[i]);
      sampled_slices_[i].push_back({.start_s = start_s_,
                                    .length_s = length_s(slice),
                                    .watts = now_.watts[gpu],
                                    .clock_hz = now_.clock_hz[gpu],
                                    .die_c = die_c[gpu],
                                    .memory_c = memory_c[gpu],
                                    .reasons = now_.reasons[gpu]});
    }
    if (bands_)
      add_bands({.time_s = start_s_,
                 .watts = now_.watts,
                 .die_c = die_c,
                 .memory_c = memory_c,
                 .clock_hz = now_.clock_hz},
                fleet_, result_.bands);
    start_s_ += length_s(slice);
  }

  /// A GPU of each role in the fine slices of `slice`: the role's fine work at the mean clock and
  /// die of its ranks.
  void add_role_power(int slice) {
    const StepActivity& fine = loop_.governed().fine();
    const auto factor = static_cast<size_t>(fine.slices / loop_.governed().slices());
    const size_t first = static_cast<size_t>(slice) * factor;
    const double fine_s = length_s(slice) / static_cast<double>(factor);
    const std::vector<RoleMean> means = role_means(fine.roles.size());
    role_gpus_.clear();
    roles_w_.resize(means.size());
    for (size_t role = 0; role < means.size(); ++role) {
      role_gpus_.push_back(means[role].gpus);
      for (size_t i = first; i < first + factor; ++i) {
        const physics::Load load = physics::load_of(fine.roles[role].slices[i], fine_s);
        roles_w_[role].push_back(
            std::min(fleet_.kind.power_w(means[role].clock_hz, means[role].die_c, load, {}),
                     fleet_.kind.excursion * fleet_.kind.cap_w));
      }
    }
    add_exact(slice, factor);
  }

  /// What the GPUs one by one draw in the whole slice, for each of its fine slices.
  void add_exact(int slice, size_t factor) {
    double exact_j = 0;
    for (size_t gpu = 0; gpu < now_.watts.size(); ++gpu)
      exact_j += fleet_.weight_of(gpu) * (now_.watts[gpu] - fleet_.burn_w[gpu]);
    exact_j *= length_s(slice);
    double roles_j = 0;
    for (size_t role = 0; role < roles_w_.size(); ++role)
      for (size_t i = roles_w_[role].size() - factor; i < roles_w_[role].size(); ++i)
        roles_j +=
            role_gpus_[role] * roles_w_[role][i] * length_s(slice) / static_cast<double>(factor);
    for (size_t i = 0; i < factor; ++i) exact_.push_back(roles_j > 0 ? exact_j / roles_j : 1);
  }

  /// Power smoothing of each role's GPU, which sees power over the governor's window; the step
  /// repeats, so the second of two is looked at.
  void smooth_roles() {
    const spec::Conditions& conditions = job_.conditions;
    const physics::Smoothing smoothing{.floor_w = conditions.smoothing_floor * highest_cap_w(),
                                       .up_w_per_s = conditions.smoothing_up_w_per_s,
                                       .down_w_per_s = conditions.smoothing_down_w_per_s,
                                       .hysteresis_s = conditions.smoothing_hysteresis_s};
    result_.role_burn_w.assign(roles_w_.size(), 0.0);
    if (smoothing.floor_w <= 0 && smoothing.up_w_per_s <= 0 && smoothing.down_w_per_s <= 0) return;
    const auto slices = static_cast<size_t>(loop_.governed().slices());
    for (size_t role = 0; role < roles_w_.size(); ++role) {
      std::vector<double>& watts = roles_w_[role];
      const size_t factor = watts.size() / slices;
      std::vector<double> coarse(slices, 0.0);
      for (size_t i = 0; i < watts.size(); ++i)
        coarse[i / factor] += watts[i] / static_cast<double>(factor);
      physics::PowerSeries twice{.interval_s = loop_.step().step_s / static_cast<double>(slices),
                                 .watts = coarse};
      twice.watts.insert(twice.watts.end(), coarse.begin(), coarse.end());
      const physics::Smoothed smoothed = physics::smooth(twice, smoothing);
      for (size_t slice = 0; slice < slices; ++slice) {
        const double target_w = smoothed.series.watts[slices + slice];
        fill_troughs(std::span(watts).subspan(slice * factor, factor), target_w);
        result_.role_burn_w[role] +=
            std::max(0.0, target_w - coarse[slice]) / static_cast<double>(slices);
      }
    }
  }

  /// The floor is a share of the cap in force; single GPUs with a lower one are faults.
  double highest_cap_w() const {
    double cap_w = 0;
    for (const physics::ClockLimits& limits : fleet_.limits) cap_w = std::max(cap_w, limits.cap_w);
    return cap_w;
  }

  /// Raises what lies lowest, or scales all down, until the mean is `target_w`.
  static void fill_troughs(std::span<double> watts, double target_w) {
    double mean_w = 0;
    for (const double w : watts) mean_w += w / static_cast<double>(watts.size());
    if (mean_w >= target_w) {
      for (double& w : watts) w *= target_w / mean_w;
      return;
    }
    double low_w = *std::min_element(watts.begin(), watts.end());
    double high_w = std::max(target_w, *std::max_element(watts.begin(), watts.end()));
    for (int round = 0; round < 60; ++round) {
      const double level_w = (low_w + high_w) / 2;
      double filled_w = 0;
      for (const double w : watts)
        filled_w += std::max(w, level_w) / static_cast<double>(watts.size());
      (filled_w < target_w ? low_w : high_w) = level_w;
    }
    for (double& w : watts) w = std::max(w, high_w);
  }

  /// The cluster at its plugs.
  void add_cluster_power() {
    double fans_w = 0;
    for (int64_t node = 0; node < fleet_.nodes; ++node)
      fans_w += fleet_.weight[static_cast<size_t>(node)] * heat_.fans_w(node);
    const auto nodes = static_cast<double>(fleet_.all_nodes);
    for (size_t i = 0; i < exact_.size(); ++i) {
      double gpus_w = 0;
      for (size_t role = 0; role < roles_w_.size(); ++role)
        gpus_w += role_gpus_[role] * roles_w_[role][i];
      result_.cluster.watts.push_back(nodes *
                                      fleet_.node.ac_w(gpus_w * exact_[i] / nodes, fans_w / nodes));
    }
  }

  /// The GPUs of a role: how many, and their mean clock and die temperature.
  struct RoleMean {
    double gpus = 0, clock_hz = 0, die_c = 0;
  };
  std::vector<RoleMean> role_means(size_t roles) const {
    std::vector<RoleMean> means(roles);
    const auto die_c = heat_.surroundings().die_c;
    for (size_t gpu = 0; gpu < fleet_.role.size(); ++gpu) {
      if (fleet_.role[gpu] < 0) continue;
      RoleMean& mean = means[static_cast<size_t>(fleet_.role[gpu])];
      const double weight = fleet_.weight_of(gpu);
      mean.gpus += weight;
      mean.clock_hz += weight * now_.clock_hz[gpu];
      mean.die_c += weight * die_c[gpu];
    }
    for (RoleMean& mean : means) {
      mean.clock_hz /= mean.gpus;
      mean.die_c /= mean.gpus;
    }
    return means;
  }

  /// A rank's readings through one step that the same step went before.
  void read_sensors(size_t sample) {
    const std::vector<SampledSlice>& slices = sampled_slices_[sample];
    const double step_s = loop_.step().step_s;
    std::vector<physics::PowerPiece> pieces;
    for (int round = 0; round < 2; ++round)
      for (const SampledSlice& slice : slices)
        pieces.push_back({.start_s = round * step_s + slice.start_s, .watts = slice.watts});
    physics::PowerSensor instant = physics::instant_sensor(job_.cluster.node.gpu.architecture);
    physics::PowerSensor average = physics::average_sensor(job_.cluster.node.gpu.architecture);
    const double period_s = std::max(instant.period_s, step_s / kMostReadings);
    const size_t gpu = fleet_.gpu_of(sampled_[sample]);
    for (physics::PowerSensor* sensor : {&instant, &average}) {
      sensor->period_s = period_s;
      sensor->gain = fleet_.silicon[gpu].sensor_gain;
    }
    const auto instants = physics::read_sensor(instant, pieces, 2 * step_s);
    const auto averages = physics::read_sensor(average, pieces, 2 * step_s);
    size_t at = 0;
    for (size_t i = 0; i < instants.size() && i < averages.size(); ++i) {
      const double time_s = instants[i].time_s - step_s;
      if (time_s < 0) continue;
      while (at + 1 < slices.size() && slices[at + 1].start_s <= time_s) ++at;
      const SampledSlice& slice = slices[at];
      result_.telemetry.push_back(sensor_reading({.time_s = time_s,
                                                  .rank = sampled_[sample],
                                                  .instant_w = instants[i].watts,
                                                  .average_w = averages[i].watts,
                                                  .die_c = slice.die_c,
                                                  .memory_c = slice.memory_c,
                                                  .clock_hz = slice.clock_hz,
                                                  .reasons = slice.reasons}));
    }
  }

  const PowerLoop& loop_;
  const Fleet& fleet_;
  const spec::Job& job_;
  FleetHeat& heat_;
  std::span<const int64_t> sampled_;
  bool bands_;
  Slice now_;
  double start_s_ = 0;
  std::vector<double> role_gpus_;             ///< GPUs of each role
  std::vector<std::vector<double>> roles_w_;  ///< [role][fine slice]: one of its GPUs
  std::vector<double> exact_;  ///< by fine slice: all GPUs one by one over all by their roles
  std::vector<std::vector<SampledSlice>> sampled_slices_;
  StepProfile result_;
};

}  // namespace

run::Telemetry sensor_reading(const GpuMoment& moment) {
  return {.time_ns = static_cast<int64_t>(std::llround(moment.time_s * 1e9)),
          .rank = moment.rank,
          .power_w = std::round(moment.instant_w * 1e3) / 1e3,
          .average_power_w = std::round(moment.average_w * 1e3) / 1e3,
          .gpu_c = physics::reported_c(moment.die_c),
          .memory_c = physics::reported_c(moment.memory_c),
          .sm_clock_mhz = std::round(moment.clock_hz / 1e3) / 1e3,
          .event_reasons = static_cast<int64_t>(moment.reasons)};
}

StepProfile step_profile(const PowerLoop& loop, const Fleet& fleet, const spec::Job& job,
                         FleetHeat& heat, std::span<const int64_t> sampled, bool bands) {
  return Profile(loop, fleet, job, heat, sampled, bands).run();
}

}  // namespace ergometer::engine
