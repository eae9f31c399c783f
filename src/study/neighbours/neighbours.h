#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "study/neighbours/ladder.h"
#include "study/predict.h"

namespace ergometer::study {

inline constexpr size_t kMostNeighbours = 60;

/// The jobs around a job, itself among them.
struct Neighbours {
  std::vector<Ladder> ladders;          ///< of each the values that are in some of the jobs
  std::vector<std::vector<size_t>> at;  ///< of every job its position on each ladder, in order
  std::vector<Point> points;            ///< the same jobs
  size_t job = 0;                       ///< which of them is the job itself
};

/// All legal jobs that the values of the ladders make together. Ladders grow from the job's own
/// values, one value a ladder in turn, the nearest that makes a job that `spec::resolve` accepts,
/// as long as there are no more than `kMostNeighbours` jobs. The batch is the job's in all of them,
/// also where it gave none; replicas are what is left of the GPUs. An input error: the job is none,
/// or nothing can be changed in one of the settings.
Result<Neighbours> neighbours(const spec::Settings& job,
                              const std::vector<const spec::SettingInfo*>& settings);

}  // namespace ergometer::study
