#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calibration/twin/board_readings.h"
#include "spec/job/job.h"

namespace ergometer::calibration::twin {

/// A number of a board, or how far boards differ in it, with one standard deviation of its
/// logarithm; `told`: the recording narrows it.
struct BoardValue {
  double value = 1, error = 0;
  bool told = false;
};

struct Board {
  BoardReading read;
  double predicted_w = 0, predicted_c = 0, predicted_mhz = 0;  ///< of a nominal board
  BoardValue leakage;     ///< times the kind's; stands for the core's voltage too
  BoardValue resistance;  ///< times the kind's, from die to spreader
  double speed = 1;     ///< share of its clock, where neither power nor heat explain that it lacks
  double cap_w = 0;     ///< as read, where the job says another; 0: as the job says
  bool unlike = false;  ///< of one of these: beyond two deviations of its kind, and of its error
};

struct NodeInlet {
  std::string host;
  double predicted_c = 0, inlet_c = 0, error_k = 0;
  bool read = false;    ///< a sensor says it
  bool told = false;    ///< by that, or by the temperatures of three GPUs or more
  bool unlike = false;  ///< beyond two errors of the job's
};

/// What makes a job's GPUs differ, as a recording of it tells.
struct Boards {
  std::vector<Board> boards;                     ///< by node, then GPU
  std::vector<NodeInlet> inlets;                 ///< by node
  std::vector<std::string> hosts;                ///< by node; empty: not known
  BoardValue leakage_spread, resistance_spread;  ///< standard deviations of logarithms
  std::vector<std::string> notes;                ///< what the recording does not tell, and why
};

/// What the job's recorded GPUs and nodes differ by (`board_fit`), and what the recording does not
/// tell of them. What the job itself says of them gives way: the job played is `without_told`.
/// Input errors: nodes of several kinds, constant clocks, no power data; `board_readings`'.
Result<Boards> fit_boards(const run::DeviceLog& log, const spec::Job& job, const std::string& name,
                          const std::vector<std::string>& hosts = {});

}  // namespace ergometer::calibration::twin
