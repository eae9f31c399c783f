#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cost/cost.h"
#include "plan/plan.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// Where a rank's step time goes; the parts add up to the step. Exposed kinds are time in which the
/// compute stream stands still because of that communication, waiting for late peers included;
/// waiting for a pipeline neighbour that has not sent yet is kIdle, as is the end of the step after
/// the rank's own work.
enum class Part : uint8_t {
  kCompute,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,
  kOptimizer,
  kIdle
};
inline constexpr int kPartCount = 8;

struct RankTimes {
  double end_s = 0;  ///< when the rank's last work ends
  std::array<double, kPartCount> parts_s{};
};

/// One instruction of a sampled rank.
struct Span {
  int64_t rank = 0;
  int32_t instruction = 0;  ///< index into its role's program
  double start_s = 0, end_s = 0;
};

struct Timeline {
  double step_s = 0;
  std::vector<RankTimes> ranks;  ///< by global rank
  std::vector<Span> spans;       ///< of the sampled ranks, rank by rank, in issue order
  /// By role: how long its first rank's compute stream stood still because the host had not
  /// launched yet.
  std::vector<double> host_gaps_s;
  /// By role: what its host spends to launch; from the sweep alone.
  std::vector<double> launches_s;
  /// False: the periods that a folded plan leaves out are not like those it has, and all this is
  /// not what the whole step would be.
  bool steady = true;
};

/// What a step was played at, to play it again.
struct PlayedAt {
  cost::CostTable costs;
  std::vector<double> clocks_hz;  ///< one a rank, or one for all
};

/// Stretch of single instructions, from contention and overlap: [role][instruction], empty for all
/// ones.
using Stretch = std::vector<std::vector<float>>;

/// Time that a host loses behind its launch of an instruction.
struct HostStall {
  size_t instruction = 0;
  double seconds = 0;
};

/// Who does not wait in a play, to see what waiting costs. Only ends of ranks mean something then.
struct WaitsLeftOut {
  bool collectives = false;      ///< ranks begin collectives when they themselves are there ...
  std::string_view but_at = {};  ///< ... except those of this name
  bool host = false;             ///< the host never waits for the GPU
};

class CompiledRoles;

struct EngineInput {
  const spec::Job& job;
  const plan::Plan& plan;
  const cost::CostTable& costs;
  std::span<const double> clocks_hz;       ///< one a rank, or one for all
  std::span<const int64_t> sampled_ranks;  ///< whose spans to keep
  const Stretch& stretch;
  std::span<const HostStall> host_stalls = {};  ///< one a role, or none; for the sweep alone
  WaitsLeftOut waits_left_out = {};             ///< for the sweep alone
};

/// The max-plus sweep: every rank on its own, the ranks of a role side by side (see
/// engine/time/sweep.cpp). Of a folded plan it tells the whole step, without spans.
Timeline sweep(const EngineInput& input);
/// The same of a plan that is played at several clocks (engine/time/compile.h).
Timeline sweep(const EngineInput& input, CompiledRoles& compiled);

/// The reference: a plain discrete-event simulation of the same programs, one rank at a time,
/// integer picoseconds. Slow; it exists to hold the sweep to it (`--engine event`).
Timeline simulate_events(const EngineInput& input);

/// Finds which instructions run beside which (on one rank of every role, at reference clocks) and
/// how far link sharing and kernel overlap stretch them; iterates until durations settle. Of a
/// folded plan: nothing, if what it leaves out is not like what it has.
/// `models`: one, or one a group of the cluster's nodes.
std::optional<Stretch> settle_folded(const spec::Job& job, const plan::Plan& plan,
                                     std::span<const cost::CostModel> models,
                                     const cost::CostTable& costs);
/// The same of a plan that leaves nothing out.
Stretch settle_contention(const spec::Job& job, const plan::Plan& plan,
                          const cost::CostModel& model, const cost::CostTable& costs);

}  // namespace ergometer::engine
