#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "campaign/draws.h"
#include "campaign/failures.h"
#include "spec/settings/settings.h"

namespace ergometer::campaign {

inline constexpr double kHourS = 3600, kDayS = 86400;

/// A stretch of a training run, a job of its own: settings laid over the run's.
struct Phase {
  std::string name;
  double tokens = 0;
  spec::Settings settings;
};

/// How checkpoints are written. Assumed where nobody says: 1 GB/s to storage a node, 10 GB/s from
/// a GPU into its host's memory.
struct Checkpointing {
  double storage_bytes_per_s = 0;       ///< of all nodes together, written and read; 0: assumed
  bool hidden = false;                  ///< training stands for the copy to the hosts alone
  double snapshot_bytes_per_s = 0;      ///< a GPU, to its host; 0: assumed
  double every_s = 0, every_steps = 0;  ///< given; both 0: the best
  bool is_given() const { return every_s > 0 || every_steps > 0; }
};
inline constexpr double kAssumedNodeStorage = 1e9, kAssumedSnapshot = 1e10;

struct Evaluation {
  double every_steps = 0, batches = 0;  ///< global batches each; 0: none
};

/// What things cost where the run is; nothing is built in.
struct Prices {
  std::optional<double> gpu_hour, kwh;    ///< in the user's currency
  std::vector<double> carbon_g_per_kwh;   ///< at the meter, by hour from the start, over and over
  std::optional<double> water_l_per_kwh;  ///< of the nodes' energy
};

/// What is asked of a whole training run beside its job.
struct Ask {
  std::vector<Phase> phases;  ///< at least one
  Failures failures;
  Spares spares;
  Checkpointing checkpointing;
  Evaluation evaluation;
  double stalled_share = 0;  ///< time that steps wait for data, over the time of the steps
  Prices prices;
  std::vector<double> limit_w;        ///< of the building, by hour, over and over; empty: none
  double deadline_s = 0, budget = 0;  ///< 0: none
  std::optional<std::chrono::sys_days> start;
  int64_t draws = 2000;
};

}  // namespace ergometer::campaign
