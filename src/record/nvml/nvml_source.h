#pragma once

#include <chrono>

#include "record/sources.h"

namespace ergometer::record::nvml {

/// How often things are done that need not be done at every read.
struct Paces {
  std::chrono::milliseconds slow{1000};  ///< what changes slowly: limits, errors, memory used, fan
  /// Buffers of samples hold about a hundred, one every 20 ms or later: seconds.
  std::chrono::milliseconds rings{200};
  std::chrono::milliseconds retry{5000};  ///< a GPU that is gone is looked for
};

/// As record::open_nvml; tests are in more of a hurry.
Opened open(const SourceOptions& options, const Paces& paces);

}  // namespace ergometer::record::nvml
