#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "campaign/ask.h"
#include "campaign/training.h"

namespace ergometer::campaign {

/// Median and 90 % interval over the draws.
struct Estimate {
  double median = 0, low = 0, high = 0;
};

/// A part of the wall time; means over the draws, which add up to `Campaign::mean_days`.
struct Part {
  std::string name;  ///< "training", "evaluation", "data stalls", "checkpoints", "lost work", ...
  double days = 0;
};

/// How the run is kept, and what the ways to say how often come to. All by time of work.
struct Kept {
  double bytes = 0;
  double stop_s = 0;      ///< training stands
  double write_s = 0;     ///< besides, until the checkpoint can be read
  double interval_s = 0;  ///< between two; taken
  bool given = false;     ///< by the user; else the best in closed form
  double asked_s = 0;     ///< what was given, or the best; work is divided into equal intervals
  double best_s = 0, young_s = 0, daly_s = 0;
  /// With the least mean time of the intervals that were played, and those around it that take
  /// 0.1 % longer at most. The same failures are drawn for each.
  Estimate simulated_s;
  double count = 0;  ///< of checkpoints that count
};

/// The day on which a run of so many days ends, "2026-03-09".
std::string date_after(std::chrono::sys_days start, double days);

/// A whole training run on so many GPUs.
struct Campaign {
  std::string refusal;  ///< why there is no such job; nothing else is then said
  Training training;
  double spare_nodes = 0;
  Kept kept;
  double mtbf_s = 0;  ///< of the job; 0: nothing fails
  double mean_days = 0;
  std::vector<Part> parts;
  std::vector<double> ready_days;  ///< after which 0, 1, 2, ... 100 % of the draws are ready
  Estimate days, goodput;          ///< goodput: training that counts, share of the wall time
  double closed_form_days = 0, closed_form_goodput = 0;  ///< expected, of the nominal step and rate
  Estimate failures;
  Estimate gpu_hours;  ///< with spare nodes'
  /// At the GPUs, at the nodes' plugs, at the building's meter.
  Estimate chip_mwh, plug_mwh, energy_mwh;
  Estimate cost, co2_t, water_m3;  ///< where prices, intensity, use are given
  double limit_days = 0;           ///< that the building's limit costs, expected
  double deadline_share = 0;       ///< of the draws that are ready in time; where asked for
  double budget_share = 0;         ///< the same within the budget

  int64_t gpus() const { return training.job.gpus; }
  double tokens() const;
  double tokens_per_s() const { return tokens() / (days.median * kDayS); }  ///< over all of it
  double meter_w() const { return energy_mwh.median * 1e6 / (days.median * 24); }
};

/// Plays the job of `settings` through its phases, then `ask.draws` campaigns of it: in each the
/// true step time, power and rate of failures are drawn once, failures one by one.
Result<Campaign> plan_campaign(const spec::Settings& settings, const Ask& ask);

}  // namespace ergometer::campaign
