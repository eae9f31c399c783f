#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/power/other_work.h"
#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

struct PoweredOptions {
  std::span<const int64_t> telemetry_ranks = {};  ///< whose telemetry
  bool events = false;    ///< the reference engine plays the last step, with the input's spans
  bool intervals = true;  ///< of power and temperature
  bool ranks = false;     ///< fill the columns of every rank
  bool bands = false;     ///< how telemetry is distributed over all ranks
  std::span<const OtherWork> others = {};  ///< on GPUs that none of the job's ranks has
  bool telling = false;  ///< telemetry of the ranks that stand for all (telling_ranks.h) as well
  /// The job's work, for the energy of its parts; null: those are not asked for.
  const workload::Workload* energy_of = nullptr;
};

/// A job's time, power and heat together: the loop of engine/power/power_loop.h under the job's
/// conditions, and what it says as parts of a Run.
struct Powered {
  /// A step at the clocks found. If one on the way there was not steady, neither is this, and the
  /// rest is missing.
  Timeline timeline;
  PlayedAt played_at;
  double reference_hz = 0;
  /// How quickly the power of any GPU rises at most over 25 ms, where smoothing has an upward ramp.
  double steepest_w_per_s = 0;
  /// How far the step may lie from the one found, over it, because clocks follow from power that is
  /// not known exactly: 90 %.
  run::Interval step_spread = {.low = 1, .high = 1};
  run::Power power;
  run::ClusterPower cluster_power;
  run::Thermal thermal;
  std::vector<run::Rank> ranks;  ///< the power and heat columns, by rank, if asked for
  std::vector<run::Telemetry> telemetry;
  std::vector<run::TelemetryBand> bands;
};

/// `input`: prices at their own reference clock; its clocks are ignored, and without `events` its
/// sampled ranks. An input error: the catalog entry of GPU or node lacks a parameter that power or
/// heat needs.
Result<Powered> power_and_heat(const EngineInput& input, const PoweredOptions& options);

/// The lowest `cluster_cap` that the job's GPUs can keep, W at the plugs: with it every GPU gets the
/// lowest cap that it takes, fans at full speed. An input error as of `power_and_heat`.
Result<double> least_cluster_cap_w(const spec::Job& job);

/// Whether clocks fall by what the job's work draws alone: no limit, room, silicon, operands or
/// placement of its own. Then a step takes what its prices say.
bool is_nominal(const spec::Job& job);

/// Whether the catalog says enough about the job's GPUs and nodes for power and heat.
bool has_power_data(const spec::Job& job);

}  // namespace ergometer::engine
