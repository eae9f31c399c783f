#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "spec/settings/settings.h"

/// A small job that stands for a large one: it keeps what limits the large one.
namespace ergometer::study::proxy {

/// How two jobs' values of a measure are set beside each other.
enum class Scale : uint8_t {
  kShare,    ///< of the step; off by points
  kRatio,    ///< off by the logarithm of small over large
  kDegrees,  ///< off by kelvins
};

/// How far a value may be off until it counts as lost.
inline constexpr double kSharePoints = 0.03;
inline constexpr double kIntensityFactor = 1.1, kMemoryFactor = 1.25, kPowerFactor = 1.1;
inline constexpr double kKelvins = 3;
/// Share of the step from which on a collective's link counts.
inline constexpr double kTellingShare = 0.001;

/// The ranks that talk in a collective.
struct Group {
  int64_t size = 1;
  int64_t nodes = 1;  ///< domains of fast links that it touches
  bool inside() const { return nodes == 1; }
  bool operator==(const Group&) const = default;
};

/// One thing that may limit a job.
struct Measure {
  std::string name;  ///< "compute", "dp reduce-scatter", "memory per GPU"
  std::string unit;  ///< "" of a share, "FLOP/B", "B", "W", "C"
  Scale scale = Scale::kShare;
  double tolerance = kSharePoints;  ///< by the scale: a share, a factor, kelvins
  double value = 0;
  std::optional<Group> group;  ///< of a collective
};

/// A job with what limits it. The shares of its step add up to one: what GPUs of all ranks do on
/// average, collectives by group as one rank of every stage sees them.
struct Side {
  spec::Job job;
  run::Run run;
  std::vector<Measure> measures;
};

/// A measure of both jobs. What only one of them has is zero in the other.
struct Row {
  Measure large, small;
  double off = 0;    ///< in tolerances
  bool kept = true;  ///< within its tolerance, on the same kind of link
  std::string lost;  ///< what is not as in the large job, a sentence; of kept shares the group
  bool same_link() const;
};

/// Both jobs beside each other. The distance between them is
///
///   D = sqrt( sum over rows of (off^2 + link) ),
///
///   off of a share        |small - large| / 3 points
///   off of a ratio        |ln(small / large)| / ln(tolerance), which is 1.10 of intensity and
///                         power, 1.25 of memory
///   off of a temperature  |small - large| / 3 K
///   link                  of collectives that take 0.1 % of a step or more: 1 where one crosses
///                         nodes in one job and not in the other, 4 where one of the jobs does not
///                         have it; else 0
///
/// 0: nothing tells them apart; a row that is off by its tolerance adds as much as a changed link,
/// one that is off by twice its tolerance as much as a collective that is gone.
struct Proxy {
  Side large, small;
  spec::Settings settings;  ///< of the small job, as a job file may hold them
  std::vector<Row> rows;
  double distance = 0;
  std::vector<std::string> notes;    ///< what was changed or left out besides the sizes
  size_t estimated = 0, played = 0;  ///< small jobs; 0: it was given
  bool keeps_all() const;
};

/// The rows of two sets of measures, in the large one's order, and what they come to.
std::vector<Row> rows_of(const Side& large, const Side& small);
double distance_of(const std::vector<Row>& rows);
/// Shares that are not kept, of which 0.1 % of the step and more.
size_t lost_shares(const std::vector<Row>& rows);

/// A job that is given, beside a large one. An input error: one of them is no job, or does not
/// train.
Result<Proxy> judge(const spec::Settings& large, const spec::Settings& small);

/// The job on so many GPUs of the large job's cluster, or on as many as it has itself, that loses
/// the fewest shares, and of these the nearest: every candidate (`candidates.h`) is estimated at
/// constant clocks, the best few are played with power and heat. An input error: the large job is
/// none, `gpus` are more than it has or no multiple of tp x cp, or no candidate fits in memory.
Result<Proxy> find(const spec::Settings& large, int64_t gpus, size_t threads);

}  // namespace ergometer::study::proxy
