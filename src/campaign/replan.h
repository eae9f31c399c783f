#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/changes_file.h"
#include "optimize/files.h"
#include "optimize/optimize.h"

namespace ergometer::campaign {

struct ReplanAsk {
  std::vector<Stretch> stretches;
  std::optional<double> restart_s;  ///< what a change of layout takes; nothing: it is assumed
  optimize::Options options;
};

/// A layout under the conditions of a stretch, once heat has settled.
struct ReplanPlay {
  double step_s = 0, max_c = 0, throttled_fraction = 0;
  double cluster_w = 0;          ///< all nodes at their plugs
  double shutdown_gpus = 0;      ///< that heat turns off: the job stands
  optimize::Settings caps = {};  ///< that were found for it, if any
  double steps_per_s() const { return shutdown_gpus > 0 ? 0 : 1 / step_s; }
};

/// Ranks on GPUs, layers of stages, recomputation: what a running job changes by a restart only.
struct ReplanLayout {
  std::vector<std::string> changes;  ///< from the job as it is; the first layout has none
  spec::Job job;                     ///< its conditions are those of some stretch
};

enum class ReplanDoes : uint8_t { kGoesOn, kSetsCaps, kLiftsCaps, kRestarts };
std::string_view to_word(ReplanDoes does);

/// What is done at the begin of a stretch. Layouts are positions in `Replan::layouts`.
struct ReplanStretch {
  double from_s = 0, to_s = 0;
  std::vector<std::string> changes;
  ReplanPlay unchanged = {};  ///< the job as it is
  size_t before = 0;          ///< layout that the re-planned job arrives with
  ReplanPlay kept = {};       ///< it, with caps where they gain
  size_t proposed = 0;        ///< the fastest layout; `before`: no other one is faster
  ReplanPlay proposed_play = {};
  std::optional<double> break_even_s =
      {};  ///< the restart pays in a longer stretch; nothing: never
  ReplanDoes does = ReplanDoes::kGoesOn;
  double seconds() const { return to_s - from_s; }
  size_t after() const { return does == ReplanDoes::kRestarts ? proposed : before; }
  const ReplanPlay& played() const { return does == ReplanDoes::kRestarts ? proposed_play : kept; }
  /// Steps a second that the proposal gains over what is kept, percent.
  double gain_pct() const;
};

/// A whole run under one way to plan.
struct ReplanTotal {
  std::string plan;
  double steps = 0, tokens = 0, energy_j = 0;
  /// By how much `tokens` may be off, either way, for the minutes in which GPUs warm or cool behind
  /// a change (`kTransientS`): the pace then lies between what is settled before and behind it.
  double transient_tokens = 0;
  int64_t restarts = 0;
  std::vector<size_t> layouts = {};  ///< by stretch
};

/// Assumed: how long temperatures take behind a change of conditions or of the layout.
inline constexpr double kTransientS = 600;

/// Steps that a run of settled stretches may be off by: at every change as many seconds as
/// `kTransientS`, or as the stretch works, at the pace of the stretch before instead of its own.
/// `rates`, `works_s`: by stretch.
/// Worked: 1 h at 4 and 1 h at 5 steps a second: 600 x 1 = 600 steps.
double transient_steps(const std::vector<double>& rates, const std::vector<double>& works_s);

struct Replan {
  spec::Job job;
  double length_s = 0, restart_s = 0;
  bool restart_given = false;
  std::vector<ReplanLayout> layouts;  ///< the job's own first, then those that are used
  std::vector<ReplanStretch> stretches;
  /// As the job is; planned anew at every change, which nobody knew of before but how long it
  /// lasts; the best sequence of these layouts where all changes are known before the start.
  std::vector<ReplanTotal> totals;
};

/// How long a stretch has to be for a restart of `restart_s` to gain steps over going on, at `kept`
/// and `other` steps a second: in T seconds
///   (T - restart) other > T kept  <=>  T > restart other / (other - kept).
/// Nothing: never, for the other is no faster.
/// Worked: 600 s, 4 and 5 steps a second: 3000 s, in which both make 12,000 steps.
std::optional<double> break_even_s(double kept, double other, double restart_s);

/// By stretch which layout makes most steps in all, where the first is free to choose and every
/// other one costs `restart_s`. `rates`: steps a second by stretch and layout; `seconds`: by
/// stretch.
std::vector<size_t> best_sequence(const std::vector<std::vector<double>>& rates,
                                  const std::vector<double>& seconds, double restart_s);

/// Plays the job stretch by stretch. An input error: a job without power data, of unlike nodes,
/// that does not train, or from a cold start; conditions that it cannot have.
Result<Replan> replan(const spec::Settings& job, const ReplanAsk& ask);

}  // namespace ergometer::campaign
