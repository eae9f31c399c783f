#pragma once

#include <cstdint>

namespace ergometer::importer {

struct TelemetryOptions {
  /// What CharLLM-PPT's files are known to have wrong is put right: counters of which 32 bits were
  /// kept go on, memory in use is told from what is free, labels that its figures swap are the
  /// configurations'.
  bool repair = false;
  /// Links of a GPU, by which traffic of NVLink's first is multiplied into an estimate; 0: none.
  int64_t nvlink_links = 0;
  /// Seconds between the rows of a GPU where nothing says when they were read (dmon's text).
  double sample_period_s = 1;
  bool sample_period_said = false;  ///< by the user; else it is dmon's default
  bool dumps = false;               ///< flight recorders' dumps are wanted; else they are left out
};

}  // namespace ergometer::importer
