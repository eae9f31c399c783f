#pragma once

#include <array>
#include <vector>

#include "record/nvml/plan.h"

namespace ergometer::record::nvml {

/// What is read beside the metrics of every read.
struct Due {
  bool slow = false;   ///< what changes slowly, or takes long
  bool rings = false;  ///< the driver's buffers
};

/// Reads one GPU as planned.
///
/// Times: a sample of a buffer and a field's value carry the driver's own time; what a getter reads
/// carries this host's time at the call's end, and so does a field whose time is missing or not of
/// this host's clock. A value whose time and number the driver repeats is recorded once.
class Reader {
 public:
  Reader(const Library& nvml, Handle gpu, Plan plan, CallCosts& costs);

  /// kSuccess, or what says that the GPU is gone; `device` is its number in the readings.
  int read(size_t device, const Due& due, Batch& batch);
  const Plan& plan() const { return plan_; }
  /// Whether the times of fields were off by seconds from this host's clock.
  bool foreign_clock() const { return foreign_clock_; }

 private:
  struct Last {
    int64_t time_ns = 0, ring_ns = 0;
    long long driver_us = 0;
    double value = 0;
  };

  int read_fields(FieldBatch& fields);
  void emit_field(const FieldBatch& fields, PlannedField& planned, int64_t host_ns);
  int read_getters(const std::vector<PlannedGetter>& getters);
  int read_ring(Ring& ring);
  void emit(run::Metric metric, int64_t time_ns, double value);
  Last& last(run::Metric metric) { return last_[static_cast<size_t>(metric)]; }
  bool ring_gives(run::Metric metric, int64_t host_ns);

  const Functions& call_;
  Handle gpu_;
  Plan plan_;
  CallCosts& costs_;
  size_t field_cost_, ring_cost_;
  std::vector<Sample> samples_;
  std::array<Last, static_cast<size_t>(run::Metric::kCount)> last_{};
  bool foreign_clock_ = false;
  size_t device_ = 0;
  Batch* batch_ = nullptr;
};

}  // namespace ergometer::record::nvml
