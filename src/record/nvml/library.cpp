#include "record/nvml/library.h"

#include <cstdint>
#include <limits>
#include <utility>

namespace ergometer::record::nvml {
namespace {

using base::SharedLibrary;

/// The first of `symbols` that the library has; names change from release to release.
template <class... Arguments>
void find(const SharedLibrary& library, int (*&function)(Arguments...),
          std::initializer_list<const char*> symbols) {
  for (const char* symbol : symbols) {
    library.find_if_there(symbol, function);
    if (function != nullptr) return;
  }
  function = [](Arguments...) { return kFunctionNotFound; };
}

}  // namespace

double number(const Value& value, int type) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  switch (type) {
    case kDouble: return value.real;
    case kUnsigned: return value.whole == UINT_MAX ? kNone : value.whole;
    case kUnsignedLong:
    case kUnsignedLongLong:
      return value.wide == UINT64_MAX ? kNone : static_cast<double>(value.wide);
    case kSignedLongLong: return static_cast<double>(value.wide_signed);
    default: return kNone;
  }
}

Library::Library(Library&& other) noexcept
    : library_(std::move(other.library_)),
      call_(other.call_),
      open_(std::exchange(other.open_, false)) {}

Library::~Library() {
  if (open_) call_.shutdown();
}

Result<void> Library::check(int status, const std::string& what) const {
  if (status == kSuccess) return {};
  return missing_error("NVML: {}: {}", what, text(status));
}

Result<void> Library::find_functions() {
  const SharedLibrary& it = library_;
  ERGOMETER_TRY(it.find("nvmlInit_v2", call_.init));
  ERGOMETER_TRY(it.find("nvmlShutdown", call_.shutdown));
  ERGOMETER_TRY(it.find("nvmlErrorString", call_.error_string));
  ERGOMETER_TRY(it.find("nvmlDeviceGetCount_v2", call_.count));
  ERGOMETER_TRY(it.find("nvmlDeviceGetHandleByIndex_v2", call_.handle_by_index));
  find(it, call_.handle_by_pci, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(it, call_.name, {"nvmlDeviceGetName"});
  find(it, call_.uuid, {"nvmlDeviceGetUUID"});
  find(it, call_.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(it, call_.architecture, {"nvmlDeviceGetArchitecture"});
  find(it, call_.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  find(it, call_.mig_mode, {"nvmlDeviceGetMigMode"});
  find(it, call_.field_values, {"nvmlDeviceGetFieldValues"});
  find(it, call_.samples, {"nvmlDeviceGetSamples"});
  find(it, call_.power, {"nvmlDeviceGetPowerUsage"});
  find(it, call_.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(it, call_.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(it, call_.temperature, {"nvmlDeviceGetTemperature"});
  find(it, call_.threshold, {"nvmlDeviceGetTemperatureThreshold"});
  find(it, call_.margin, {"nvmlDeviceGetMarginTemperature"});
  find(it, call_.clock, {"nvmlDeviceGetClockInfo"});
  find(it, call_.reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(it, call_.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(it, call_.memory, {"nvmlDeviceGetMemoryInfo"});
  find(it, call_.fan, {"nvmlDeviceGetFanSpeed"});
  find(it, call_.violation, {"nvmlDeviceGetViolationStatus"});
  find(it, call_.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(it, call_.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  find(it, call_.create_events, {"nvmlEventSetCreate"});
  find(it, call_.register_events, {"nvmlDeviceRegisterEvents"});
  find(it, call_.wait_for_event, {"nvmlEventSetWait_v2"});
  find(it, call_.free_events, {"nvmlEventSetFree"});
  find(it, call_.highest_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(it, call_.graphics_clocks, {"nvmlDeviceGetSupportedGraphicsClocks"});
  find(it, call_.default_cap, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  find(it, call_.cap_range, {"nvmlDeviceGetPowerManagementLimitConstraints"});
  find(it, call_.set_cap, {"nvmlDeviceSetPowerManagementLimit"});
  find(it, call_.lock_clocks, {"nvmlDeviceSetGpuLockedClocks"});
  find(it, call_.reset_clocks, {"nvmlDeviceResetGpuLockedClocks"});
  return {};
}

Result<Library> Library::open(const std::vector<std::string>& names, const char* hint) {
  ERGOMETER_ASSIGN(SharedLibrary library, SharedLibrary::open(names, hint));
  Library result(std::move(library));
  ERGOMETER_TRY(result.find_functions());
  ERGOMETER_TRY(result.check(result.call_.init(), "start"));
  result.open_ = true;
  return result;
}

Result<void> Library::restart() {
  if (std::exchange(open_, false)) call_.shutdown();
  ERGOMETER_TRY(check(call_.init(), "start"));
  open_ = true;
  return {};
}

}  // namespace ergometer::record::nvml
