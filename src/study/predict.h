#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/run.h"
#include "run/study.h"
#include "spec/settings/settings.h"

namespace ergometer::study {

/// One job of a study before anything is known about it.
struct Point {
  std::string id, family;                   ///< as in run::StudyPoint
  std::map<std::string, std::string> axes;  ///< label by axis
  spec::Settings settings;
  std::optional<std::string> refusal;  ///< why it is not a job at all; it is not tried then
  std::vector<std::string> notes;
  std::string source = {};  ///< the file it comes from, of a matrix' row
};

/// The point as it stands in a study before it was predicted: refused, without a reason.
run::StudyPoint described(const Point& point);

/// Predicts one point, with power and heat in the steady state unless its settings say otherwise.
/// What cannot run is a point with its reason, not an error.
run::StudyPoint predict(const Point& point);
/// The same, which also hands out the job and its Run, unless the point is refused.
run::StudyPoint predict(const Point& point, spec::Job* resolved, run::Run* simulated);

/// All points, in their order; the same whatever the number of threads.
std::vector<run::StudyPoint> predict(const std::vector<Point>& points, size_t threads);

}  // namespace ergometer::study
