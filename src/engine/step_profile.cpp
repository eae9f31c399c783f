#include "engine/step_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "physics/sensor.h"

namespace ergometer::engine {
namespace {

constexpr double kMostReadings = 4096;

/// One slice of a step over all GPUs.
struct Slice {
  std::vector<double> watts, memory_w, clock_hz, die_c, memory_c;
  std::vector<uint32_t> reasons;
};

class Profile {
 public:
  Profile(const PowerLoop& loop, const Fleet& fleet, const spec::Job& job, FleetHeat& heat,
          std::span<const int64_t> sampled)
      : loop_(loop), fleet_(fleet), job_(job), heat_(heat), sampled_(sampled) {
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
      add_cluster_power(slice);
    }
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
    start_s_ += length_s(slice);
  }

  /// The cluster in the fine slices of `slice`: each role's fine work at the mean clock and die of
  /// its ranks, in proportion to what the GPUs one by one draw in the whole slice.
  void add_cluster_power(int slice) {
    const StepActivity& fine = loop_.governed().fine();
    const auto factor = static_cast<size_t>(fine.slices / loop_.governed().slices());
    const size_t first = static_cast<size_t>(slice) * factor;
    std::vector<double> gpus_w(factor, 0.0);
    const double fine_s = length_s(slice) / static_cast<double>(factor);
    const std::vector<RoleMean> means = role_means(fine.roles.size());
    for (size_t role = 0; role < fine.roles.size(); ++role)
      for (size_t i = 0; i < factor; ++i) {
        const physics::Energy& energy = fine.roles[role].slices[first + i];
        const physics::Load load{.core_w = energy.core_j() / fine_s,
                                 .memory_w = energy.memory_j / fine_s,
                                 .link_w = energy.link_j / fine_s};
        const double watts =
            std::min(fleet_.kind.power_w(means[role].clock_hz, means[role].die_c, load, {}),
                     fleet_.kind.excursion * fleet_.kind.cap_w);
        gpus_w[i] += means[role].gpus * watts;
      }
    add_nodes(gpus_w);
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

  void add_nodes(const std::vector<double>& roles_w) {
    double exact_w = 0, mean_w = 0, fans_w = 0;
    for (size_t gpu = 0; gpu < now_.watts.size(); ++gpu)
      exact_w += fleet_.weight_of(gpu) * now_.watts[gpu];
    for (const double watts : roles_w) mean_w += watts / static_cast<double>(roles_w.size());
    for (int64_t node = 0; node < fleet_.nodes; ++node)
      fans_w += fleet_.weight[static_cast<size_t>(node)] * heat_.fans_w(node);
    const auto nodes = static_cast<double>(fleet_.all_nodes);
    for (const double watts : roles_w)
      result_.cluster.watts.push_back(
          nodes * fleet_.node.ac_w(watts * exact_w / mean_w / nodes, fans_w / nodes));
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
      result_.telemetry.push_back({.time_ns = static_cast<int64_t>(std::llround(time_s * 1e9)),
                                   .rank = sampled_[sample],
                                   .power_w = instants[i].watts,
                                   .average_power_w = averages[i].watts,
                                   .gpu_c = physics::reported_c(slice.die_c),
                                   .memory_c = physics::reported_c(slice.memory_c),
                                   .sm_clock_mhz = slice.clock_hz / 1e6,
                                   .event_reasons = static_cast<int64_t>(slice.reasons)});
    }
  }

  const PowerLoop& loop_;
  const Fleet& fleet_;
  const spec::Job& job_;
  FleetHeat& heat_;
  std::span<const int64_t> sampled_;
  Slice now_;
  double start_s_ = 0;
  std::vector<std::vector<SampledSlice>> sampled_slices_;
  StepProfile result_;
};

}  // namespace

StepProfile step_profile(const PowerLoop& loop, const Fleet& fleet, const spec::Job& job,
                         FleetHeat& heat, std::span<const int64_t> sampled) {
  return Profile(loop, fleet, job, heat, sampled).run();
}

}  // namespace ergometer::engine
