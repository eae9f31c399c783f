#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "run/device_log.h"

namespace ergometer::record::amd {

enum class Status : uint8_t {
  kGood,
  kNone,     ///< not supported, or "N/A"
  kRefused,  ///< no permission
};

/// Fans turn at so many of 255.
inline constexpr double kPercentOfByte = 100.0 / 255;

/// A reading in the unit of its metric.
struct Value {
  double value = 0;
  int64_t boot_time_ns = 0;  ///< CLOCK_BOOTTIME as the driver has it; 0: none
};

/// One way to read one GPU: a library or the kernel's files.
class Sensors {
 public:
  virtual ~Sensors() = default;
  virtual Status read(run::Metric metric, Value& value) = 0;
};

struct Gpu {
  std::string pci;  ///< "0000:c1:00.0"
  std::string name, uuid;
  std::unique_ptr<Sensors> sensors;
};

/// Joules of one count of the energy counter. The libraries say 15.3 uJ where the firmware counts
/// 2^-16 J = 15.259 uJ: 0.27 % too much.
inline double joules_per_count(double microjoules) {
  constexpr double kRounded = 15.3, kExact = 1e6 / 65536;
  const bool rounded = microjoules > kRounded - 0.01 && microjoules < kRounded + 0.01;
  return 1e-6 * (rounded ? kExact : microjoules);
}

/// "0000:c1:00.0" of a BDF id: domain in bits 32 and up, bus, device and function below bit 16.
std::string pci_address(uint64_t bdf_id);

}  // namespace ergometer::record::amd
