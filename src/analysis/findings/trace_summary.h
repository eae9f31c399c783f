#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/energy/kernel_energy.h"
#include "analysis/ranks/arrivals.h"
#include "analysis/ranks/collectives.h"
#include "analysis/ranks/taxes.h"
#include "analysis/trace/breakdown.h"
#include "analysis/trace/graph_summary.h"
#include "analysis/trace/idle.h"
#include "analysis/trace/launch_overhead.h"
#include "analysis/trace/phases.h"
#include "analysis/trace/steps.h"
#include "analysis/work/kernel_table.h"
#include "analysis/work/shape_table.h"
#include "run/run.h"

namespace ergometer::analysis {

/// A finding is worth its sentence when it costs so much of the time.
inline constexpr double kWorthTelling = 0.01;

/// What a trace shows that costs time: a sentence each for what it is, what to try and what would
/// check it.
struct Finding {
  double cost_s = 0;    ///< of one rank's time, mean over ranks
  double fraction = 0;  ///< of the span, mean over ranks
  std::string name;     ///< "exposed_communication", "late_launch", "straggler", ...
  std::string what, try_next, check;
  std::string confidence;  ///< "measured", or what the number rests on
  /// What a GPU draws while it costs that time, where power was read beside the trace and told.
  std::optional<double> watts;
  run::EnergyError watts_error = {.stated = false};  ///< of that, and of `step_j`
  /// Of one training step, where steps are marked: the time, and what all GPUs draw in it.
  std::optional<double> step_s, step_j;
};

struct RankSummary {
  RankBreakdown breakdown;
  IdleCauses idle;
  LaunchOverhead launches;
  StepTimes steps;
  std::string gpu;
  bool truncated = false;
};

/// All that is told of the traces of one job.
struct TraceSummary {
  std::vector<RankSummary> ranks;
  std::vector<KernelRow> kernels, classes;
  bool study_classes = false;  ///< `classes` are the study's (analysis/work/kernel_class.h)
  PhaseTable phases;
  ShapeTable shapes;
  std::optional<DevicePeak> peak;  ///< of the GPU that all ranks have, where the caller knows it
  std::vector<CollectiveRow> collectives;
  ArrivalTable arrivals;
  Taxes taxes;
  std::vector<RankEnergy> energy;  ///< where telemetry was read beside the traces
  /// A step and where it goes, mean over ranks, where every rank marks its steps and all ran on the
  /// same kind of GPU: the mean of different ones is a step of none. Of `breakdown_s`,
  /// compute holds copies that nothing hides, and optimizer is kernels known as such by name.
  std::optional<run::Performance> performance;
  bool different_gpus = false;       ///< two ranks say so: then there is no mean step
  std::vector<GraphSummary> graphs;  ///< of files beside the traces; `summarize` leaves it empty
  std::vector<Finding> findings;     ///< the dearest first
  std::vector<std::string> notes;    ///< what was left out of the numbers, one sentence each
};

/// A Run that holds these traces, with a row of `kernels` for every event.
run::Run make_run(std::vector<run::RankTrace> traces, std::vector<run::Dropped> dropped,
                  std::vector<run::WorkGraph> graphs = {});

/// What is known beside the traces.
struct Beside {
  std::optional<DevicePeak> peak;
  std::vector<RankEnergy> energy;
};
/// `threads`: how many ranks are looked at at a time; the answer is the same.
TraceSummary summarize(const std::vector<run::RankTrace>& ranks, Beside beside = {},
                       size_t threads = 1);

/// That a rank has two traces, and of which files; empty: none has.
std::string note_of_twice(const std::vector<run::RankTrace>& ranks);

/// Of training steps, the most that a rank marks.
double marked_steps(const TraceSummary& summary);

/// Findings of a summary without them.
std::vector<Finding> find(const TraceSummary& summary);
/// The part of them about phases, operators and energy.
std::vector<Finding> find_in_work(const TraceSummary& summary);

}  // namespace ergometer::analysis
