#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "record/call_costs.h"
#include "record/nvml/library.h"
#include "record/sources.h"

namespace ergometer::record::nvml {

/// Fields of one batch that make one reading: their sum times `factor`.
struct PlannedField {
  run::Metric metric = run::Metric::kPower;
  size_t first = 0, count = 0;  ///< into the batch's values
  double factor = 1;
  bool wraps = false;  ///< a counter of 32 bits, begun again at 2^32
  double carried = 0, last = 0;
};

/// Everything that one call of nvmlDeviceGetFieldValues asks for.
struct FieldBatch {
  std::vector<FieldValue> values;
  std::vector<PlannedField> fields;
};

/// Temperatures that do not change: NaN where the GPU does not tell.
struct Limits {
  double max_c = std::numeric_limits<double>::quiet_NaN();  ///< above, the GPU slows itself down
  double margin_c = 0;  ///< the T.Limit reading at which it does: thresholds are margins themselves
};

/// A call that reads one or two numbers of a GPU.
struct Getter {
  const char* call;
  bool slow;  ///< once a second is enough
  std::array<run::Metric, 2> metrics;
  int (*read)(const Functions& call, Handle gpu, const Limits& limits,
              std::array<double, 2>& values);
};
struct PlannedGetter {
  const Getter* getter = nullptr;
  size_t cost = 0;  ///< slot of CallCosts
  /// kCount: someone else gives this one.
  std::array<run::Metric, 2> metrics{};
};

/// A buffer in which the driver keeps recent readings of one metric.
struct Ring {
  int kind = 0;
  run::Metric metric = run::Metric::kPower;
  unsigned long long last_seen_us = 0;
};

/// How to read one GPU: for each metric the cheapest way that this GPU and driver answer.
struct Plan {
  Limits limits;
  FieldBatch fast, slow;
  std::vector<PlannedGetter> fast_getters, slow_getters;
  std::vector<Ring> rings;
  size_t ring_size = 0;  ///< most samples that a ring holds
  std::vector<run::Metric> metrics;
  std::vector<run::Metric> refused;   ///< no permission
  std::vector<run::Metric> too_slow;  ///< read once a second, because a call takes over 1 ms
  int status = kSuccess;              ///< kGpuIsLost: the GPU went away meanwhile
};

/// Tries every way to read every metric that `options` want, once or twice.
Plan make_plan(const Library& nvml, Handle gpu, const SourceOptions& options, CallCosts& costs);

/// The GPU is not there now and may come back.
inline bool gone(int status) {
  return status == kGpuIsLost || status == kResetRequired || status == kUninitialized;
}

}  // namespace ergometer::record::nvml
