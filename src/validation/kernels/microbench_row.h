#pragma once

// What one row of a micro-benchmark table says, read out of its columns.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/operator.h"

namespace ergometer::validation {

/// A benchmark of one machine.
struct MicrobenchSubject {
  std::string cluster;  ///< catalog name
  int64_t nodes = 1;
  int64_t ranks = 1;
  bool short_run = false;  ///< the best of short runs, before the power limit bites
  bool in_switch = false;  ///< all-reduce may run in the switch
  double harness_s = 0;    ///< launch overhead of the benchmark program
  bool copies = false;     ///< gathers and scatters through lists of tensors: one more copy in HBM
};

struct MicrobenchCells {
  std::string_view kind, device, config, source, metric;
  std::optional<int64_t> devices;

  /// Of "m=4096, layout=TN": the text behind `key=`, empty without.
  std::string_view word(std::string_view key) const;
  /// The same as a whole number from 1 on.
  std::optional<int64_t> number(std::string_view key) const;
  bool mentions(std::string_view text) const;  ///< in the configuration, ignoring case
};

/// The machine; the error says why none is known.
Result<MicrobenchSubject> subject_of(const MicrobenchCells& cells);

/// The operator and, for kernels, the FLOPs that the row's TFLOP/s counts.
struct MicrobenchWork {
  workload::Operator op;
  std::string kind;
  double counted_flops = 0;
};
Result<MicrobenchWork> work_of(const MicrobenchCells& cells);

}  // namespace ergometer::validation
