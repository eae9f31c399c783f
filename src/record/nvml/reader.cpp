#include "record/nvml/reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "record/factors.h"

namespace ergometer::record::nvml {
namespace {

using run::Metric;

constexpr int64_t kNsPerUs = 1000;
constexpr double kWrap = 4294967296.0;
// A field's time further than this from the host's own is another clock's.
constexpr int64_t kOtherClockUs = 5'000'000;
// A buffer without news for so long has stopped: the getters stand in.
constexpr int64_t kRingStopsNs = 2'000'000'000;

bool of_this_clock(int64_t driver_us, int64_t host_ns) {
  const int64_t host_us = host_ns / kNsPerUs;
  return driver_us > host_us - kOtherClockUs && driver_us < host_us + kOtherClockUs;
}

}  // namespace

Reader::Reader(const Library& nvml, Handle gpu, Plan plan, CallCosts& costs)
    : call_(nvml.call()),
      gpu_(gpu),
      plan_(std::move(plan)),
      costs_(costs),
      field_cost_(costs.slot("nvmlDeviceGetFieldValues")),
      ring_cost_(costs.slot("nvmlDeviceGetSamples")),
      samples_(plan_.ring_size) {
  for (const Ring& ring : plan_.rings)
    last(ring.metric).ring_ns = static_cast<int64_t>(ring.last_seen_us) * kNsPerUs;
}

int Reader::read(size_t device, const Due& due, Batch& batch) {
  device_ = device;
  batch_ = &batch;
  if (due.rings)
    for (Ring& ring : plan_.rings)
      if (const int status = read_ring(ring); gone(status)) return status;
  if (const int status = read_fields(plan_.fast); gone(status)) return status;
  if (const int status = read_getters(plan_.fast_getters); gone(status)) return status;
  if (!due.slow) return kSuccess;
  if (const int status = read_fields(plan_.slow); gone(status)) return status;
  const int status = read_getters(plan_.slow_getters);
  return gone(status) ? status : kSuccess;
}

int Reader::read_fields(FieldBatch& fields) {
  if (fields.values.empty()) return kSuccess;
  const int status = costs_.timed(field_cost_, [&] {
    return call_.field_values(gpu_, static_cast<int>(fields.values.size()), fields.values.data());
  });
  if (status != kSuccess) return status;
  const int64_t host_ns = now_ns();
  for (const FieldValue& value : fields.values)
    if (gone(value.status)) return value.status;
  for (PlannedField& planned : fields.fields) emit_field(fields, planned, host_ns);
  return kSuccess;
}

void Reader::emit_field(const FieldBatch& fields, PlannedField& planned, int64_t host_ns) {
  double sum = 0;
  long long driver_us = 0;
  for (size_t i = planned.first; i < planned.first + planned.count; ++i) {
    const FieldValue& part = fields.values[i];
    if (part.status != kSuccess) return;
    sum += number(part.value, part.type);
    driver_us = std::max(driver_us, part.timestamp_us);
  }
  if (std::isnan(sum) || ring_gives(planned.metric, host_ns)) return;
  if (planned.wraps) {
    if (sum < planned.last) planned.carried += kWrap;
    planned.last = sum;
    sum += planned.carried;
  }
  const double value = planned.factor * sum;
  Last& before = last(planned.metric);
  const bool timed = of_this_clock(driver_us, host_ns);
  if (timed && driver_us == before.driver_us && value == before.value) return;
  foreign_clock_ |= driver_us != 0 && !timed;
  int64_t time_ns = timed ? driver_us * kNsPerUs : host_ns;
  // A time that stands still while the number moves is no time.
  if (time_ns <= before.time_ns) time_ns = host_ns;
  before.driver_us = driver_us;
  emit(planned.metric, time_ns, value);
}

int Reader::read_getters(const std::vector<PlannedGetter>& getters) {
  for (const PlannedGetter& planned : getters) {
    const int64_t before_ns = now_ns();
    const auto needless = [&](Metric metric) {
      return metric == Metric::kCount || ring_gives(metric, before_ns);
    };
    if (needless(planned.metrics[0]) && needless(planned.metrics[1])) continue;
    std::array<double, 2> values{NAN, NAN};
    const int status = costs_.timed(
        planned.cost, [&] { return planned.getter->read(call_, gpu_, plan_.limits, values); });
    if (gone(status)) return status;
    if (status != kSuccess) continue;
    const int64_t time_ns = now_ns();
    for (size_t i = 0; i < 2; ++i)
      if (!needless(planned.metrics[i])) emit(planned.metrics[i], time_ns, values[i]);
  }
  return kSuccess;
}

int Reader::read_ring(Ring& ring) {
  int type = kUnsigned;
  unsigned count = static_cast<unsigned>(samples_.size());
  const int status = costs_.timed(ring_cost_, [&] {
    const int it =
        call_.samples(gpu_, ring.kind, ring.last_seen_us, &type, &count, samples_.data());
    if (it == kNotFound) count = 0;  // nothing new
    return it == kNotFound ? kSuccess : it;
  });
  if (status != kSuccess) return status;
  const auto end = samples_.begin() + std::min<size_t>(count, samples_.size());
  std::sort(samples_.begin(), end,
            [](const Sample& a, const Sample& b) { return a.timestamp_us < b.timestamp_us; });
  for (auto sample = samples_.begin(); sample != end; ++sample) {
    const auto host_us = static_cast<unsigned long long>(now_ns() / kNsPerUs) + kOtherClockUs;
    if (sample->timestamp_us <= ring.last_seen_us || sample->timestamp_us > host_us) continue;
    ring.last_seen_us = sample->timestamp_us;
    const int64_t time_ns = static_cast<int64_t>(sample->timestamp_us) * kNsPerUs;
    last(ring.metric).ring_ns = time_ns;
    if (time_ns <= last(ring.metric).time_ns) continue;  // the getter stood in meanwhile
    emit(ring.metric, time_ns,
         (ring.kind == kPowerSamples ? kMilli : 1) * number(sample->value, type));
  }
  return kSuccess;
}

void Reader::emit(Metric metric, int64_t time_ns, double value) {
  if (std::isnan(value)) return;
  last(metric).time_ns = time_ns;
  last(metric).value = value;
  batch_->add(device_, metric, time_ns, value);
}

bool Reader::ring_gives(Metric metric, int64_t host_ns) {
  // Also where someone set the clock back: the buffer has no news then.
  return metric != Metric::kCount && std::abs(host_ns - last(metric).ring_ns) < kRingStopsNs;
}

}  // namespace ergometer::record::nvml
