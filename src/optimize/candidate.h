#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optimize/outcome.h"

namespace ergometer::optimize {

/// What may be changed about a job.
enum class Knob : uint8_t { kPlacement, kLayers, kRecompute, kCaps, kClocks };
std::string_view to_word(Knob knob);
std::vector<Knob> all_knobs();

struct Options {
  std::vector<Knob> knobs = all_knobs();
  Objective objective = Objective::kTime;
  /// How far two runs of the same job differ, percent of the objective: a gain has to exceed it.
  double noise_floor_pct = 0.5;
  /// How much longer a step may take for less energy, power or heat, percent.
  double most_slowdown_pct = 1;
  /// Clocks by operator are weighed, a change of which takes so long.
  std::optional<double> clock_change_s = {};
  size_t judges = 12;  ///< draws of silicon that decide
  size_t threads = 1;
  std::function<void(const std::string& what)> progress = {};
};

/// A job that may take the place of the unchanged one.
struct Candidate {
  std::string name;  ///< "layers 21,19,21,19"
  spec::Job job;
  bool known = false;  ///< a split that others have tried: shown whether it is good or not
};

struct Played {
  Candidate candidate;
  std::vector<Outcome> outcomes;  ///< one a seed
  bool allowed = true;
  std::string refusal;  ///< why not allowed
  double value = 0;     ///< mean of the objective over the seeds
};

/// Plays candidates on the seeds of the search, and says which are allowed: no more memory than
/// there is, no longer step than the options grant, neither in the mean over the seeds nor with the
/// last of them, which is the job's own.
class Judge {
 public:
  Judge(const Options& options, std::vector<uint64_t> seeds)
      : options_(options), seeds_(std::move(seeds)) {}

  /// The first candidate ever played is the unchanged job, and has to have an answer. One that has
  /// none, as where clocks find no rest, is refused and has the unchanged job's outcomes.
  Result<std::vector<Played>> play_all(std::vector<Candidate> candidates);
  size_t plays() const { return plays_; }
  const Options& options() const { return options_; }

 private:
  void rule(Played& played) const;

  const Options& options_;
  std::vector<uint64_t> seeds_;
  std::vector<Outcome> unchanged_;
  size_t plays_ = 0;
};

/// Means over the seeds, rank by rank; of times only those of `work_s`.
std::vector<run::Rank> mean_ranks(const std::vector<Outcome>& outcomes);
/// How long a rank works in a step: what is neither idle nor waiting for neighbours.
double work_s(const run::Rank& rank);
/// The same by stage, mean over its ranks.
std::vector<double> stage_work_s(const std::vector<run::Rank>& ranks, int64_t stages);

/// Seeds that depend on the job's own and on what they are for.
std::vector<uint64_t> seeds_for(const spec::Job& job, std::string_view purpose, size_t count);
/// These and, last, the job's own.
std::vector<uint64_t> seeds_and_own(const spec::Job& job, std::string_view purpose, size_t count);

}  // namespace ergometer::optimize
