#include "record/amd/amd_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "record/amd/amd_smi.h"
#include "record/amd/rocm_smi.h"
#include "record/amd/sysfs_gpu.h"
#include "record/clock.h"
#include "record/every.h"
#include "record/factors.h"

namespace ergometer::record::amd {
namespace {

using run::Metric;
using Clock = Every::Clock;

constexpr int64_t kOtherClockNs = 5'000'000'000;

/// What a library or a file may give, in this order; `slow`: once a second is enough.
struct Offer {
  Metric metric;
  bool slow;
};
constexpr Offer kOffers[] = {
    {Metric::kInstantPower, false},
    {Metric::kAveragePower, false},
    {Metric::kEnergy, false},
    {Metric::kGpuTemperature, false},
    {Metric::kHotspotTemperature, false},
    {Metric::kMemoryTemperature, false},
    {Metric::kSmClock, false},
    {Metric::kMemoryClock, false},
    {Metric::kGpuUtilization, false},
    {Metric::kMemoryUtilization, false},
    {Metric::kPowerLimit, true},
    {Metric::kMemoryUsed, true},
    {Metric::kFan, true},
    {Metric::kFabricClock, true},
    {Metric::kPcieReplays, true},
    {Metric::kEccCorrected, true},
    {Metric::kEccUncorrected, true},
};

/// Bits of SMU_THROTTLER_* (amdgpu_smu.h) as NVML's clock event reasons.
double event_reasons(uint64_t throttle) {
  constexpr uint64_t kPowerAndCurrent = 0x00ffffff, kHeat = 0xfffull << 32, kLines = 0xfull << 44;
  constexpr uint64_t kSwPowerCap = 0x4, kSwThermal = 0x20, kHwThermal = 0x40;
  return static_cast<double>(((throttle & kPowerAndCurrent) != 0 ? kSwPowerCap : 0) |
                             ((throttle & kHeat) != 0 ? kSwThermal : 0) |
                             ((throttle & kLines) != 0 ? kHwThermal : 0));
}

/// Nanoseconds since 1970 of a time of CLOCK_BOOTTIME; the host's time where it is another clock's.
int64_t since_1970(int64_t boot_time_ns) {
  const int64_t now = now_ns(), ago = clock_ns(CLOCK_BOOTTIME) - boot_time_ns;
  return boot_time_ns <= 0 || std::abs(ago) > kOtherClockNs ? now : now - ago;
}

/// Seconds at a limit, from the firmware's ticks: their share of all ticks since the last look,
/// times the time since. Counts from the first look on.
class LimitTimes {
 public:
  struct Seconds {
    double power = 0, heat = 0, prochot = 0;
  };
  const Seconds& add(const Residency& now, int64_t time_ns) {
    const uint32_t ticks = now.ticks - last_.ticks;  // wraps as the counters do
    if (last_ns_ != 0 && ticks != 0) {
      const double per_tick = kNano * static_cast<double>(time_ns - last_ns_) / ticks;
      const auto seconds = [&](uint32_t Residency::* member) {
        // More ticks at the limit than there were: the firmware began anew.
        const uint32_t limited = now.*member - last_.*member;
        return limited > ticks ? 0 : per_tick * limited;
      };
      seconds_.power += seconds(&Residency::power);
      // Nothing tells how far these overlap: the longest is a lower bound.
      seconds_.heat +=
          std::max({seconds(&Residency::socket_heat), seconds(&Residency::regulator_heat),
                    seconds(&Residency::memory_heat)});
      seconds_.prochot += seconds(&Residency::prochot);
    }
    last_ = now;
    last_ns_ = time_ns;
    return seconds_;
  }

 private:
  Residency last_;
  int64_t last_ns_ = 0;
  Seconds seconds_;
};

/// What a running GPU never reads: the second of two dies in a module does.
bool never_zero(Metric metric) {
  return metric == Metric::kInstantPower || metric == Metric::kAveragePower ||
         metric == Metric::kEnergy;
}

struct Card {
  Gpu gpu;
  GpuMetricsFile table;
  std::unique_ptr<Sensors> files;
  std::set<Metric> by_table = {};
  struct Way {
    Sensors* sensors;
    Metric metric;
  };
  std::vector<Way> fast = {}, slow = {};
  int64_t last_table_ns = 0;
  std::pair<int64_t, double> last_energy = {};  ///< of a library: its time and the counter
  LimitTimes limits = {};
  bool lost = false;
  Clock::time_point retry = {};
};

class AmdSource : public Source {
 public:
  AmdSource(const SourceOptions& options, const Paces& paces)
      : options_(options), retry_(paces.retry), slow_(paces.slow) {}

  Result<void> open() {
    ERGOMETER_ASSIGN(std::vector<Gpu> gpus, find_gpus());
    std::ranges::sort(gpus, {}, &Gpu::pci);
    for (Gpu& gpu : gpus) add(std::move(gpu));
    metrics_.assign(given_.begin(), given_.end());
    if (!refused_.empty()) {
      std::vector<std::string> names;
      for (const Metric metric : refused_) names.emplace_back(run::metric_info(metric).name);
      notes_.push_back(fmt::format("no permission to read {} of AMD GPUs", fmt::join(names, ", ")));
    }
    return {};
  }

  std::string_view name() const override { return "amd"; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const Metric> metrics() const override { return metrics_; }
  std::vector<CallCost> costs() const override { return costs_.all(); }

  void read(Batch& batch) override {
    const Clock::time_point now = Clock::now();
    const bool slow = slow_.due(now);
    for (std::string& note : std::exchange(notes_, {})) batch.notes.push_back(std::move(note));
    for (size_t i = 0; i < cards_.size(); ++i) {
      Card& card = cards_[i];
      if (card.lost && now < card.retry) continue;
      const bool answered = read_card(i, slow, batch);
      if (!answered) card.retry = now + retry_;
      if (answered != card.lost) continue;
      card.lost = !answered;
      batch.notes.push_back(fmt::format("GPU {} ({}) {}", i, card.gpu.pci,
                                        answered ? "answers again" : "no longer answers"));
    }
  }

 private:
  Result<std::vector<Gpu>> find_gpus() {
    std::vector<Gpu> files = find_sysfs_gpus(options_.sys, costs_);
    // The libraries look there too, and where it is empty they complain on standard output.
    if (files.empty()) return missing_error("no GPU of AMD's under {}/class/drm", options_.sys);
    if (auto smi = open_amd_smi(options_.amd_smi_libraries, costs_)) return smi;
    if (auto rocm = open_rocm_smi(options_.rocm_smi_libraries, costs_)) return rocm;
    return files;
  }

  void add(Gpu gpu) {
    const std::string folder = device_folder(options_.sys, gpu.pci);
    run::Device device;
    device.index = static_cast<int64_t>(cards_.size());
    device.name = gpu.name;
    device.uuid = gpu.uuid;
    devices_.push_back(std::move(device));
    cards_.push_back(
        {std::move(gpu), GpuMetricsFile(folder, costs_), sysfs_sensors(folder, costs_)});
    plan(cards_.size() - 1);
  }

  /// The table first, which one call gets; then the library, then single files.
  void plan(size_t index) {
    Card& card = cards_[index];
    bool no_power = false;
    const auto useful = [&](Metric metric, double value) {
      const bool zero = value == 0 && never_zero(metric);
      no_power |= zero && metric != Metric::kEnergy;
      return !zero;
    };
    if (const auto table = card.table.read())
      for_each(card, *table, 0, [&](Metric metric, double value) {
        if (options_.wants(metric) && useful(metric, value)) card.by_table.insert(metric);
      });
    given_.insert(card.by_table.begin(), card.by_table.end());
    for (const Offer& offer : kOffers) {
      if (!options_.wants(offer.metric) || card.by_table.count(offer.metric) != 0) continue;
      for (Sensors* sensors : {card.gpu.sensors.get(), card.files.get()}) {
        Value value;
        const Status status = sensors->read(offer.metric, value);
        if (status == Status::kRefused) refused_.insert(offer.metric);
        if (status != Status::kGood || !useful(offer.metric, value.value)) continue;
        (offer.slow ? card.slow : card.fast).push_back({sensors, offer.metric});
        given_.insert(offer.metric);
        refused_.erase(offer.metric);
        break;
      }
    }
    if (no_power)
      notes_.push_back(fmt::format(
          "GPU {} ({}) reads 0 W, which is not recorded: where two dies share a module, the first "
          "one reads the power of both",
          index, card.gpu.pci));
  }

  template <class Use>
  static void for_each(Card& card, const GpuMetrics& table, int64_t time_ns, Use&& use) {
    const auto give = [&](Metric metric, const std::optional<double>& value) {
      if (value) use(metric, *value);
    };
    give(Metric::kInstantPower, table.power_w);
    give(Metric::kAveragePower, table.average_power_w);
    give(Metric::kEnergy, table.energy_j);
    give(Metric::kGpuTemperature, table.edge_c);
    give(Metric::kHotspotTemperature, table.hotspot_c);
    give(Metric::kMemoryTemperature, table.memory_c);
    give(Metric::kGpuUtilization, table.busy_percent);
    give(Metric::kMemoryUtilization, table.memory_busy_percent);
    give(Metric::kSmClock, table.gfx_mhz);
    give(Metric::kMemoryClock, table.memory_mhz);
    give(Metric::kPcieReplays, table.pcie_replays);
    give(Metric::kXgmiReceived, table.xgmi_read_bytes);
    give(Metric::kXgmiSent, table.xgmi_written_bytes);
    if (table.throttle) use(Metric::kEventReasons, event_reasons(*table.throttle));
    if (!table.residency) return;
    const LimitTimes::Seconds& at = card.limits.add(*table.residency, time_ns);
    use(Metric::kSwPowerCapTime, at.power);
    use(Metric::kSwThermalTime, at.heat);
    use(Metric::kHwThermalTime, at.prochot);
  }

  /// Whether anything of the GPU answered.
  bool read_card(size_t index, bool slow, Batch& batch) {
    Card& card = cards_[index];
    bool answered = card.by_table.empty() && card.fast.empty();
    const auto emit = [&](Metric metric, int64_t time_ns, double value) {
      if (value != 0 || !never_zero(metric)) batch.add(index, metric, time_ns, value);
    };
    if (!card.by_table.empty())
      if (const auto table = card.table.read()) {
        answered = true;
        // The driver hands out the same table again for a while.
        if (table->boot_time_ns != std::exchange(card.last_table_ns, table->boot_time_ns)) {
          const int64_t time_ns = since_1970(table->boot_time_ns);
          for_each(card, *table, time_ns, [&](Metric metric, double value) {
            if (card.by_table.count(metric) != 0) emit(metric, time_ns, value);
          });
        }
      }
    const auto read_ways = [&](const std::vector<Card::Way>& ways) {
      for (const Card::Way& way : ways) {
        Value value;
        if (way.sensors->read(way.metric, value) != Status::kGood) continue;
        answered = true;
        if (value.boot_time_ns != 0 &&
            std::exchange(card.last_energy, {value.boot_time_ns, value.value}) ==
                std::pair(value.boot_time_ns, value.value))
          continue;
        emit(way.metric, since_1970(value.boot_time_ns), value.value);
      }
    };
    read_ways(card.fast);
    if (slow) read_ways(card.slow);
    return answered;
  }

  SourceOptions options_;
  CallCosts costs_;
  std::vector<Card> cards_;
  std::vector<run::Device> devices_;  ///< as `cards_`
  std::set<Metric> given_, refused_;
  std::vector<Metric> metrics_;
  std::vector<std::string> notes_;  ///< until the next read
  Clock::duration retry_;
  Every slow_;
};

}  // namespace

Opened open(const SourceOptions& options, const Paces& paces) {
  auto source = std::make_unique<AmdSource>(options, paces);
  ERGOMETER_TRY(source->open());
  return source;
}

}  // namespace ergometer::record::amd

namespace ergometer::record {

Opened open_amd(const SourceOptions& options) { return amd::open(options, {}); }

}  // namespace ergometer::record
