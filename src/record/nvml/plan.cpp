#include "record/nvml/plan.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/collection.h"
#include "record/factors.h"

namespace ergometer::record::nvml {
namespace {

using run::Metric;
using Values = std::array<double, 2>;

constexpr double kKibi = 1024;
constexpr auto kNoMetric = Metric::kCount;
constexpr int64_t kTooSlowNs = 1'000'000;  // a call of 1 ms, eight GPUs: 8 % of a core at 10 Hz

enum class Scope : uint8_t {
  kGpu,
  kModule,
  kMemory,
  kAllLinks,  // one value that the driver sums up
  kEachLink,  // summed up here
};

/// One way to read a metric: the sum of these fields. The first way that answers is taken.
struct FieldWay {
  Metric metric;
  std::initializer_list<unsigned> fields;
  Scope scope;
  double factor;
  bool slow;
};
const FieldWay kFieldWays[] = {
    {Metric::kInstantPower, {field::kPowerInstant}, Scope::kGpu, kMilli, false},
    {Metric::kAveragePower, {field::kPowerAverage}, Scope::kGpu, kMilli, false},
    {Metric::kMemoryPower, {field::kPowerInstant}, Scope::kMemory, kMilli, false},
    {Metric::kMemoryPower, {field::kPowerAverage}, Scope::kMemory, kMilli, false},
    {Metric::kModulePower, {field::kPowerInstant}, Scope::kModule, kMilli, false},
    {Metric::kModulePower, {field::kPowerAverage}, Scope::kModule, kMilli, false},
    {Metric::kEnergy, {field::kEnergy}, Scope::kGpu, kMilli, false},
    {Metric::kMemoryTemperature, {field::kMemoryTemp}, Scope::kGpu, 1, false},
    {Metric::kPcieSent, {field::kPcieSent}, Scope::kGpu, 1, false},
    {Metric::kPcieReceived, {field::kPcieReceived}, Scope::kGpu, 1, false},
    {Metric::kNvlinkSent, {field::kLinkDataSent}, Scope::kAllLinks, kKibi, false},
    {Metric::kNvlinkSent, {field::kLinkDataSent}, Scope::kEachLink, kKibi, false},
    {Metric::kNvlinkSent, {field::kLinkRawSent}, Scope::kAllLinks, kKibi, false},
    {Metric::kNvlinkSent, {field::kLinkRawSent}, Scope::kEachLink, kKibi, false},
    {Metric::kNvlinkSent, {field::kLinkBytesSent}, Scope::kAllLinks, 1, false},
    {Metric::kNvlinkSent, {field::kLinkBytesSent}, Scope::kEachLink, 1, false},
    {Metric::kNvlinkReceived, {field::kLinkDataReceived}, Scope::kAllLinks, kKibi, false},
    {Metric::kNvlinkReceived, {field::kLinkDataReceived}, Scope::kEachLink, kKibi, false},
    {Metric::kNvlinkReceived, {field::kLinkRawReceived}, Scope::kAllLinks, kKibi, false},
    {Metric::kNvlinkReceived, {field::kLinkRawReceived}, Scope::kEachLink, kKibi, false},
    {Metric::kNvlinkReceived, {field::kLinkBytesReceived}, Scope::kAllLinks, 1, false},
    {Metric::kNvlinkReceived, {field::kLinkBytesReceived}, Scope::kEachLink, 1, false},
    {Metric::kSwPowerCapTime, {field::kPowerTime}, Scope::kGpu, kNano, false},
    {Metric::kSyncBoostTime, {field::kSyncBoostTime}, Scope::kGpu, kNano, false},
    {Metric::kSwThermalTime, {field::kSwThermalTime}, Scope::kGpu, kNano, false},
    {Metric::kHwThermalTime, {field::kHwThermalTime}, Scope::kGpu, kNano, false},
    {Metric::kHwPowerBrakeTime, {field::kPowerBrakeTime}, Scope::kGpu, kNano, false},
    {Metric::kPowerLimit, {field::kPowerLimit}, Scope::kGpu, kMilli, true},
    {Metric::kEccCorrected, {field::kEccCorrected}, Scope::kGpu, 1, true},
    {Metric::kEccUncorrected, {field::kEccUncorrected}, Scope::kGpu, 1, true},
    {Metric::kPcieReplays, {field::kPcieReplays}, Scope::kGpu, 1, true},
    {Metric::kNvlinkErrors,
     {field::kCrcFlits, field::kReplays, field::kRecoveries},
     Scope::kGpu,
     1,
     true},
    {Metric::kNvlinkErrors,
     {field::kLinkCrcs, field::kLinkReplays, field::kLinkRecoveries},
     Scope::kEachLink,
     1,
     true},
    {Metric::kNvlinkErrors, {field::kLinkReceiveErrors}, Scope::kEachLink, 1, true},
};

/// Reads one unsigned number.
template <class Function, class... Arguments>
int whole(double& value, double factor, Function* function, Arguments... arguments) {
  unsigned raw = 0;
  const int status = function(arguments..., &raw);
  value = factor * raw;
  return status;
}

int read_margin(const Functions& call, Handle gpu, const Limits& limits, Values& values) {
  MarginTemperature margin;
  const int status = call.margin(gpu, &margin);
  values[0] = margin.margin_c - limits.margin_c;
  return status;
}
int read_temperature(const Functions& call, Handle gpu, const Limits& limits, Values& values) {
  const int status = whole(values[0], 1, call.temperature, gpu, kGpuSensor);
  values[1] = limits.max_c - values[0];
  return status;
}
int read_sm_clock(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], 1, call.clock, gpu, kSmClockType);
}
int read_memory_clock(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], 1, call.clock, gpu, kMemoryClockType);
}
int read_reasons(const Functions& call, Handle gpu, const Limits&, Values& values) {
  unsigned long long reasons = 0;
  const int status = call.reasons(gpu, &reasons);
  values[0] = static_cast<double>(reasons);
  return status;
}
int read_utilization(const Functions& call, Handle gpu, const Limits&, Values& values) {
  Utilization seen{};
  const int status = call.utilization(gpu, &seen);
  values = {static_cast<double>(seen.gpu), static_cast<double>(seen.memory)};
  return status;
}
int read_power(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], kMilli, call.power, gpu);
}
int read_energy(const Functions& call, Handle gpu, const Limits&, Values& values) {
  unsigned long long millijoules = 0;
  const int status = call.energy(gpu, &millijoules);
  values[0] = kMilli * static_cast<double>(millijoules);
  return status;
}
template <int kPolicy>
int read_violation(const Functions& call, Handle gpu, const Limits&, Values& values) {
  ViolationTime time{};
  const int status = call.violation(gpu, kPolicy, &time);
  values[0] = kNano * static_cast<double>(time.violation_ns);
  return status;
}
int read_power_limit(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], kMilli, call.power_limit, gpu);
}
int read_memory(const Functions& call, Handle gpu, const Limits&, Values& values) {
  Memory memory{};
  const int status = call.memory(gpu, &memory);
  values[0] = static_cast<double>(memory.used);
  return status;
}
int read_fan(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], 1, call.fan, gpu);
}
template <int kKind>
int read_ecc(const Functions& call, Handle gpu, const Limits&, Values& values) {
  unsigned long long errors = 0;
  const int status = call.ecc_errors(gpu, kKind, kVolatile, &errors);
  values[0] = static_cast<double>(errors);
  return status;
}
int read_replays(const Functions& call, Handle gpu, const Limits&, Values& values) {
  return whole(values[0], 1, call.pcie_replays, gpu);
}

/// Asked for what no field gives. kPower stands for what the architecture makes of it.
constexpr Getter kGetters[] = {
    {"nvmlDeviceGetMarginTemperature", false, {Metric::kTemperatureMargin, kNoMetric}, read_margin},
    {"nvmlDeviceGetTemperature",
     false,
     {Metric::kGpuTemperature, Metric::kTemperatureMargin},
     read_temperature},
    {"nvmlDeviceGetClockInfo", false, {Metric::kSmClock, kNoMetric}, read_sm_clock},
    {"nvmlDeviceGetClockInfo", false, {Metric::kMemoryClock, kNoMetric}, read_memory_clock},
    {"nvmlDeviceGetCurrentClocksEventReasons",
     false,
     {Metric::kEventReasons, kNoMetric},
     read_reasons},
    {"nvmlDeviceGetUtilizationRates",
     false,
     {Metric::kGpuUtilization, Metric::kMemoryUtilization},
     read_utilization},
    {"nvmlDeviceGetPowerUsage", false, {Metric::kPower, kNoMetric}, read_power},
    {"nvmlDeviceGetTotalEnergyConsumption", false, {Metric::kEnergy, kNoMetric}, read_energy},
    {"nvmlDeviceGetViolationStatus",
     false,
     {Metric::kSwPowerCapTime, kNoMetric},
     read_violation<kPowerPolicy>},
    {"nvmlDeviceGetViolationStatus",
     false,
     {Metric::kSyncBoostTime, kNoMetric},
     read_violation<kSyncBoostPolicy>},
    {"nvmlDeviceGetEnforcedPowerLimit", true, {Metric::kPowerLimit, kNoMetric}, read_power_limit},
    {"nvmlDeviceGetMemoryInfo", true, {Metric::kMemoryUsed, kNoMetric}, read_memory},
    {"nvmlDeviceGetFanSpeed", true, {Metric::kFan, kNoMetric}, read_fan},
    {"nvmlDeviceGetTotalEccErrors", true, {Metric::kEccCorrected, kNoMetric}, read_ecc<kCorrected>},
    {"nvmlDeviceGetTotalEccErrors",
     true,
     {Metric::kEccUncorrected, kNoMetric},
     read_ecc<kUncorrected>},
    {"nvmlDeviceGetPcieReplayCounter", true, {Metric::kPcieReplays, kNoMetric}, read_replays},
};

/// What nvmlDeviceGetPowerUsage gives: a mean of one second on Ampere, except its GA100, and on
/// what came later; the sensor's latest value before. The GA100 alone has compute capability 8.0.
Metric drawn_power(const Functions& call, Handle gpu) {
  unsigned architecture = 0;
  if (call.architecture(gpu, &architecture) != kSuccess) return Metric::kPower;
  if (architecture < kAmpere) return Metric::kInstantPower;
  int major = 0, minor = 0;
  const bool known = call.compute_capability(gpu, &major, &minor) == kSuccess;
  if (architecture == kAmpere && !known) return Metric::kPower;
  return known && major == 8 && minor == 0 ? Metric::kInstantPower : Metric::kAveragePower;
}

class Planner {
 public:
  Planner(const Library& nvml, Handle gpu, const SourceOptions& options, CallCosts& costs)
      : call_(nvml.call()), gpu_(gpu), options_(options), costs_(costs) {}

  Plan make() {
    find_limits();
    const Metric drawn = drawn_power(call_, gpu_);
    // Samples of the power drawn are instant where the draw itself is; elsewhere nobody says.
    add_ring(kPowerSamples, drawn == Metric::kInstantPower ? drawn : Metric::kPower);
    add_ring(kGpuUtilizationSamples, Metric::kGpuUtilization);
    add_ring(kMemoryUtilizationSamples, Metric::kMemoryUtilization);
    add_ring(kSmClockSamples, Metric::kSmClock);
    add_ring(kMemoryClockSamples, Metric::kMemoryClock);
    for (const FieldWay& way : kFieldWays) add_fields(way);
    for (const Getter& getter : kGetters) add_getter(getter, drawn);
    for (const Ring& ring : plan_.rings) provide(ring.metric);
    drop_what_is_given(plan_.refused);
    return std::move(plan_);
  }

 private:
  bool given(Metric metric) const { return base::contains(plan_.metrics, metric); }
  void provide(Metric metric) {
    if (!given(metric)) plan_.metrics.push_back(metric);
  }
  bool looked_for(Metric metric) const {
    return metric != kNoMetric && options_.wants(metric) && !given(metric);
  }
  void drop_what_is_given(std::vector<Metric>& metrics) const {
    std::erase_if(metrics, [&](Metric metric) { return given(metric); });
  }
  void note_failure(int status, Metric metric) {
    if (gone(status)) plan_.status = status;
    auto& refused = plan_.refused;
    if (status == kNoPermission && !base::contains(refused, metric)) refused.push_back(metric);
  }

  void find_limits() {
    // A threshold in T.Limit's own terms: 0 where the GPU does not say otherwise.
    const double margin = value_of(field::kMaxMargin, kGpuScope);
    if (!std::isnan(margin)) plan_.limits.margin_c = margin;
    unsigned celsius = 0;
    for (const int kind : {kGpuMaxThreshold, kSlowdownThreshold}) {
      if (call_.threshold(gpu_, kind, &celsius) != kSuccess || celsius == 0) continue;
      plan_.limits.max_c = celsius;
      return;
    }
  }

  void add_ring(int kind, Metric metric) {
    if (!options_.wants(metric)) return;
    int type = 0;
    unsigned count = 0;
    if (call_.samples(gpu_, kind, 0, &type, &count, nullptr) != kSuccess || count == 0) return;
    std::vector<Sample> samples(count);
    if (call_.samples(gpu_, kind, 0, &type, &count, samples.data()) != kSuccess || count == 0)
      return;
    const size_t size = samples.size();
    samples.resize(std::min<size_t>(count, size));
    unsigned long long newest = 0;
    for (const Sample& sample : samples) newest = std::max(newest, sample.timestamp_us);
    constexpr unsigned long long kStaleUs = 10'000'000;
    const auto host_us = static_cast<unsigned long long>(now_ns() / 1000);
    if (newest + kStaleUs < host_us || newest > host_us + kStaleUs) return;
    plan_.rings.push_back({kind, metric, newest});
    plan_.ring_size = std::max(plan_.ring_size, size);
  }

  /// Two calls, the faster one: the first of a kind may set something up.
  template <class Call>
  int probe(Call&& ask, int64_t& cost_ns) {
    const size_t slot = costs_.slot("probing");
    int status = kSuccess;
    const auto timed = [&] {
      // An answer of "not supported" is what probing is for, not a failure.
      costs_.timed(slot, [&] {
        status = ask();
        return kSuccess;
      });
      return costs_.last_ns();
    };
    cost_ns = timed();
    if (status == kSuccess && cost_ns >= kTooSlowNs) cost_ns = std::min(cost_ns, timed());
    return status;
  }
  /// Asks for the fields together; the first failure.
  int ask(std::vector<FieldValue>& values, int64_t& cost_ns) {
    return probe(
        [&] {
          const int status =
              call_.field_values(gpu_, static_cast<int>(values.size()), values.data());
          if (status != kSuccess) return status;
          for (const FieldValue& value : values) {
            if (value.status != kSuccess) return value.status;
            if (std::isnan(number(value.value, value.type))) return kNotSupported;
          }
          return kSuccess;
        },
        cost_ns);
  }
  double value_of(unsigned field, unsigned scope) {
    std::vector<FieldValue> one{{field, scope, 0, 0, 0, 0, {}}};
    int64_t cost_ns = 0;
    return ask(one, cost_ns) == kSuccess ? number(one[0].value, one[0].type) : NAN;
  }

  /// Drivers that know nothing of a scope may answer for the GPU, or for link 0.
  bool scope_is_ignored(Scope scope, const FieldValue& value) {
    const double it = number(value.value, value.type);
    if (scope == Scope::kMemory) return it >= value_of(value.field, kGpuScope);
    if (scope == Scope::kModule) return it <= value_of(value.field, kGpuScope);
    if (scope != Scope::kAllLinks) return false;
    const double first = value_of(value.field, 0), second = value_of(value.field, 1);
    return value_of(value.field, kAllLinks) < first + second;  // false where one is not there
  }

  void add_fields(const FieldWay& way) {
    if (!looked_for(way.metric)) return;
    std::vector<FieldValue> values;
    int64_t cost_ns = 0;
    for (const unsigned field : way.fields) {
      if (way.scope != Scope::kEachLink) {
        constexpr std::array kScopes = {kGpuScope, kModuleScope, kMemoryScope, kAllLinks};
        values.push_back({field, kScopes[static_cast<size_t>(way.scope)], 0, 0, 0, 0, {}});
        continue;
      }
      for (unsigned link = 0; link < kMostLinks; ++link)
        if (!std::isnan(value_of(field, link))) values.push_back({field, link, 0, 0, 0, 0, {}});
    }
    if (values.empty()) return;
    if (const int status = ask(values, cost_ns); status != kSuccess)
      return note_failure(status, way.metric);
    if (scope_is_ignored(way.scope, values[0])) return;
    const bool too_slow = !way.slow && cost_ns > kTooSlowNs;
    if (too_slow) plan_.too_slow.push_back(way.metric);
    FieldBatch& batch = way.slow || too_slow ? plan_.slow : plan_.fast;
    const bool pcie = way.metric == Metric::kPcieSent || way.metric == Metric::kPcieReceived;
    batch.fields.push_back({way.metric, batch.values.size(), values.size(), way.factor,
                            pcie && values[0].type == kUnsigned});
    batch.values.insert(batch.values.end(), values.begin(), values.end());
    provide(way.metric);
  }

  void add_getter(const Getter& getter, Metric drawn) {
    PlannedGetter planned{&getter, costs_.slot(getter.call), getter.metrics};
    if (planned.metrics[0] == Metric::kPower) planned.metrics[0] = drawn;
    for (Metric& metric : planned.metrics)
      if (!looked_for(metric)) metric = kNoMetric;
    if (planned.metrics[0] == kNoMetric && planned.metrics[1] == kNoMetric) return;
    Values values{NAN, NAN};
    int64_t cost_ns = 0;
    const int status =
        probe([&] { return getter.read(call_, gpu_, plan_.limits, values); }, cost_ns);
    for (size_t i = 0; i < 2; ++i) {
      if (planned.metrics[i] == kNoMetric) continue;
      if (status != kSuccess) {
        note_failure(status, planned.metrics[i]);
      } else if (!std::isnan(values[i])) {
        provide(planned.metrics[i]);
        if (!getter.slow && cost_ns > kTooSlowNs) plan_.too_slow.push_back(planned.metrics[i]);
      }
    }
    if (status != kSuccess) return;
    const bool slow = getter.slow || cost_ns > kTooSlowNs;
    (slow ? plan_.slow_getters : plan_.fast_getters).push_back(planned);
  }

  const Functions& call_;
  Handle gpu_;
  const SourceOptions& options_;
  CallCosts& costs_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Library& nvml, Handle gpu, const SourceOptions& options, CallCosts& costs) {
  return Planner(nvml, gpu, options, costs).make();
}

}  // namespace ergometer::record::nvml
