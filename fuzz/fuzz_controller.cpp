// What a node's controller answers over Redfish and IPMI, and what the kernel's files say: whatever
// comes, numbers are finite or not told.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "record/bmc/ipmi_text.h"
#include "record/bmc/redfish_document.h"
#include "record/files/kept_file.h"
#include "record/proc/proc_text.h"

namespace {

using namespace ergometer;

void check(const record::NodeReadings& readings) {
  record::Batch batch;
  const auto metrics = readings.metrics();
  readings.tell(metrics, 1, batch);
  for (const record::Reading& reading : batch.readings) {
    const run::MetricInfo& info = run::metric_info(reading.metric);
    const double value = reading.sample.value;
    if (!std::isfinite(value) || value < info.lowest || value > info.highest) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  record::NodeReadings redfish, sdr, dcmi;
  record::read_redfish(text, redfish);
  record::redfish_members(text);
  record::redfish_link(text, "Power");
  record::is_contained(text);
  record::read_sdr(text, sdr);
  record::read_dcmi_power(text, dcmi);
  for (const record::NodeReadings& readings : {redfish, sdr, dcmi}) check(readings);

  if (const auto number = record::leading_number(text); number && !std::isfinite(*number))
    std::abort();
  if (const auto used = record::memory_used(text); used && !(*used >= 0)) std::abort();
  if (const auto time = record::cpu_time(text)) {
    const auto busy = record::busy_percent({}, *time);
    if (busy && !(*busy >= 0 && *busy <= 100)) std::abort();
  }
  return 0;
}
