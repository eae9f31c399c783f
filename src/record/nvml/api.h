#pragma once

#include <climits>
#include <cstddef>

/// NVIDIA's management library (NVML), as far as it is used here: declared anew from its reference,
/// so that the program builds without NVIDIA's headers and runs without its driver. Numbers and
/// layouts were compared with nvml.h 11.8, 12.4 and 12.8; the fields 269 .. 271 are newer.
namespace ergometer::record::nvml {

struct DeviceHandle;
using Handle = DeviceHandle*;
struct EventSetHandle;
using EventSet = EventSetHandle*;

// nvmlReturn_t
inline constexpr int kSuccess = 0, kUninitialized = 1, kNotSupported = 3, kNoPermission = 4,
                     kNotFound = 6, kInsufficientSize = 7, kTimeout = 10, kFunctionNotFound = 13,
                     kGpuIsLost = 15, kResetRequired = 16;

// nvmlDeviceArchitecture_t: newer ones have higher numbers.
inline constexpr unsigned kAmpere = 7;

// nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlClockType_t
inline constexpr int kGpuSensor = 0, kSlowdownThreshold = 1, kGpuMaxThreshold = 3;
inline constexpr int kSmClockType = 1, kMemoryClockType = 2;

// nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlPerfPolicyType_t
inline constexpr int kCorrected = 0, kUncorrected = 1, kVolatile = 0;
inline constexpr int kPowerPolicy = 0, kSyncBoostPolicy = 2;

// nvmlSamplingType_t
inline constexpr int kPowerSamples = 0, kGpuUtilizationSamples = 1, kMemoryUtilizationSamples = 2,
                     kSmClockSamples = 5, kMemoryClockSamples = 6;

inline constexpr unsigned long long kXidEvent = 0x8;  // nvmlEventTypeXidCriticalError
inline constexpr unsigned kMostLinks = 18;            // NVML_NVLINK_MAX_LINKS

/// NVML_FI_DEV_*
namespace field {
inline constexpr unsigned kEccCorrected = 3, kEccUncorrected = 4, kCrcFlits = 38, kReplays = 52,
                          kRecoveries = 59, kPowerTime = 74, kSyncBoostTime = 76, kMemoryTemp = 82,
                          kEnergy = 83, kPcieReplays = 94, kLinkDataSent = 138,
                          kLinkDataReceived = 139, kLinkRawSent = 140, kLinkRawReceived = 141,
                          kLinkReplays = 161, kLinkRecoveries = 162, kLinkCrcs = 163,
                          kPowerAverage = 185, kPowerInstant = 186, kPowerLimit = 190,
                          kMaxMargin = 196, kPcieSent = 197, kPcieReceived = 198,
                          kLinkBytesSent = 202, kLinkBytesReceived = 204, kLinkReceiveErrors = 208,
                          kSwThermalTime = 269, kHwThermalTime = 270, kPowerBrakeTime = 271;
}  // namespace field

// What a field's scope says of power, and of links: UINT_MAX is the sum over all of them.
inline constexpr unsigned kGpuScope = 0, kModuleScope = 1, kMemoryScope = 2, kAllLinks = UINT_MAX;

/// nvmlValue_t, nvmlValueType_t
union Value {
  double real;
  unsigned whole;
  unsigned long long_whole;
  unsigned long long wide;
  long long wide_signed;
};
enum ValueType : int { kDouble, kUnsigned, kUnsignedLong, kUnsignedLongLong, kSignedLongLong };
/// As a number; all ones, which stand for no value, as NaN.
double number(const Value& value, int type);

/// nvmlFieldValue_t
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;  ///< since 1970; how long it took
  int type, status;
  Value value;
};

/// nvmlSample_t
struct Sample {
  unsigned long long timestamp_us;  ///< since 1970
  Value value;
};

/// nvmlPciInfo_t
struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];  ///< "00000000:19:00.0"
};

/// nvmlMemory_t
struct Memory {
  unsigned long long total, free, used;
};

/// nvmlUtilization_t
struct Utilization {
  unsigned gpu, memory;
};

/// nvmlViolationTime_t
struct ViolationTime {
  unsigned long long reference_us, violation_ns;
};

/// nvmlMarginTemperature_v1_t
struct MarginTemperature {
  unsigned version = sizeof(MarginTemperature) | 1u << 24;
  int margin_c = 0;
};

/// nvmlEventData_t
struct EventData {
  Handle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

static_assert(sizeof(Value) == 8);
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, timestamp_us) == 8 &&
              offsetof(FieldValue, status) == 28 && offsetof(FieldValue, value) == 32);
static_assert(sizeof(Sample) == 16);
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, id) == 36);
static_assert(sizeof(Memory) == 24 && sizeof(Utilization) == 8 && sizeof(ViolationTime) == 16);
static_assert(sizeof(MarginTemperature) == 8);
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance) == 24);

/// Where a library lacks a function, one stands here that returns kFunctionNotFound.
struct Functions {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*count)(unsigned*);
  int (*handle_by_index)(unsigned, Handle*);
  int (*handle_by_pci)(const char*, Handle*);
  int (*name)(Handle, char*, unsigned);
  int (*uuid)(Handle, char*, unsigned);
  int (*pci_info)(Handle, PciInfo*);
  int (*architecture)(Handle, unsigned*);
  int (*compute_capability)(Handle, int* major, int* minor);
  int (*mig_mode)(Handle, unsigned* now, unsigned* pending);
  // Sensors
  int (*field_values)(Handle, int, FieldValue*);
  int (*samples)(Handle, int kind, unsigned long long last_seen_us, int* type, unsigned* count,
                 Sample*);
  int (*power)(Handle, unsigned* milliwatts);
  int (*energy)(Handle, unsigned long long* millijoules);
  int (*power_limit)(Handle, unsigned* milliwatts);
  int (*temperature)(Handle, int sensor, unsigned* celsius);
  int (*threshold)(Handle, int kind, unsigned* celsius);
  int (*margin)(Handle, MarginTemperature*);
  int (*clock)(Handle, int kind, unsigned* megahertz);
  int (*reasons)(Handle, unsigned long long*);
  int (*utilization)(Handle, Utilization*);
  int (*memory)(Handle, Memory*);
  int (*fan)(Handle, unsigned* percent);
  int (*violation)(Handle, int policy, ViolationTime*);
  int (*ecc_errors)(Handle, int kind, int counter, unsigned long long*);
  int (*pcie_replays)(Handle, unsigned*);
  // Events
  int (*create_events)(EventSet*);
  int (*register_events)(Handle, unsigned long long kinds, EventSet);
  int (*wait_for_event)(EventSet, EventData*, unsigned milliseconds);
  int (*free_events)(EventSet);
  // Settings
  int (*highest_clock)(Handle, int kind, unsigned* megahertz);
  int (*graphics_clocks)(Handle, unsigned memory_megahertz, unsigned* count, unsigned*);
  int (*default_cap)(Handle, unsigned* milliwatts);
  int (*cap_range)(Handle, unsigned* least, unsigned* most);
  int (*set_cap)(Handle, unsigned milliwatts);
  int (*lock_clocks)(Handle, unsigned least_megahertz, unsigned most);
  int (*reset_clocks)(Handle);
};

}  // namespace ergometer::record::nvml
