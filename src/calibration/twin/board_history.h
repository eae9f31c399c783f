#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/device_log.h"
#include "run/file/reading_rows.h"

namespace ergometer::calibration::twin {

/// What a job's boards lately read, as means of equal stretches of time, so many and no more: a job
/// that is watched for weeks takes no more memory than one of an hour.
class BoardHistory {
 public:
  enum Quantity : uint8_t { kWatts, kCelsius, kMegahertz, kLimit, kHeldBack, kInlet, kQuantities };

  /// Keeps `keep_ns` in stretches of 5 s, longer ones where that would be more than 256.
  explicit BoardHistory(int64_t keep_ns);

  /// Every reading once; `devices` may have become more.
  void add(const std::vector<run::Device>& devices, const std::vector<run::ReadingCell>& cells);

  int64_t stretch_ns() const { return stretch_ns_; }
  int64_t keep_ns() const { return keep_ns_; }
  int64_t first_ns() const { return first_ns_; }  ///< of all readings; 0: none yet
  int64_t latest_ns() const { return latest_ns_; }
  /// Those that are at one place, a host and an index, one after the other, are several.
  const std::vector<run::Device>& devices() const { return devices_; }
  /// By a later one at its place.
  bool is_replaced(size_t device) const { return readings_[device].replaced; }
  /// Over the stretches that begin from `from_ns` on and end by `to_ns`.
  std::optional<double> mean(size_t device, Quantity of, int64_t from_ns, int64_t to_ns) const;
  /// The means as readings, of devices that were not replaced, without the stretches that begin at
  /// `left_out`.
  run::DeviceLog log(int64_t from_ns, int64_t to_ns, const std::deque<int64_t>& left_out) const;

 private:
  struct Stretch {
    int64_t start_ns = 0;
    std::array<double, kQuantities> sums{};
    std::array<int32_t, kQuantities> counts{};
  };
  struct Readings {
    std::deque<Stretch> stretches;
    /// The best way to tell power and temperature that was seen; readings of others are left aside.
    int power_way = 0, heat_way = 0;
    bool replaced = false;
  };
  void add(const run::ReadingCell& cell);
  Stretch& stretch_at(Readings& readings, int64_t time_ns);

  int64_t stretch_ns_, keep_ns_, first_ns_ = 0, latest_ns_ = 0;
  std::vector<run::Device> devices_;
  std::vector<Readings> readings_;
  std::map<std::string, size_t> places_;  ///< the latest device of each
};

}  // namespace ergometer::calibration::twin
