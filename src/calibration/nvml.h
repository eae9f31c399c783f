#pragma once

#include <string>
#include <vector>

#include "calibration/device.h"
#include "calibration/shared_library.h"

namespace ergometer::calibration {

/// NVIDIA's management library, what the measurement needs of it; its functions are declared here
/// from its documentation. One GPU, by index in PCI order.
class Nvml {
 public:
  static base::Result<Nvml> open(const std::vector<std::string>& names, unsigned index);
  Nvml(Nvml&& other) noexcept;
  Nvml& operator=(Nvml&&) = delete;
  ~Nvml();

  base::Result<DeviceLimits> limits() const;
  base::Result<std::string> bus_id() const;  ///< "00000000:19:00.0"
  base::Result<void> set_cap(double watts) const;
  base::Result<void> lock_clock(double hertz) const;
  base::Result<void> unlock_clock() const;
  /// Power, temperatures, clock and reasons; nothing of the work.
  base::Result<DeviceSample> read() const;

 private:
  struct DeviceHandle;
  using Handle = DeviceHandle*;
  struct PciInfo {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
  };
  struct FieldValue {
    unsigned field, scope;
    long long timestamp_us, latency_us;
    int type, status;
    union {
      double real;
      unsigned whole;
      unsigned long long wide;
    } value;
  };
  struct Functions {
    int (*init)();
    int (*shutdown)();
    const char* (*error_string)(int);
    int (*handle_by_index)(unsigned, Handle*);
    int (*name)(Handle, char*, unsigned);
    int (*pci_info)(Handle, PciInfo*);
    int (*temperature)(Handle, int, unsigned*);
    int (*clock)(Handle, int, unsigned*);
    int (*highest_clock)(Handle, int, unsigned*);
    int (*graphics_clocks)(Handle, unsigned, unsigned*, unsigned*);
    int (*reasons)(Handle, unsigned long long*);
    int (*default_cap)(Handle, unsigned*);
    int (*cap_range)(Handle, unsigned*, unsigned*);
    int (*set_cap)(Handle, unsigned);
    int (*lock_clocks)(Handle, unsigned, unsigned);
    int (*reset_clocks)(Handle);
    int (*field_values)(Handle, int, FieldValue*);
    int (*power)(Handle, unsigned*);
  };

  explicit Nvml(SharedLibrary library) : library_(std::move(library)) {}
  base::Result<void> find_functions();
  base::Result<void> check(int status, const char* what) const;
  double lowest_clock_mhz() const;
  double field(unsigned id, double fallback) const;

  SharedLibrary library_;
  Functions call_{};
  Handle device_ = nullptr;
  bool open_ = false;
};

}  // namespace ergometer::calibration
