// A table of kernels' power: refused with a reason, or every row predicted or said why not.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "validation/kernels/kernel_power.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = validation::score_kernel_power_text(text, "fuzz.csv");
  if (!report) {
    if (report.error().message.empty()) std::abort();
    return 0;
  }
  for (const validation::KernelPowerRow& row : report->rows) {
    if (!row.skipped_reason.empty()) continue;
    if (!(row.at_measured_w > 0) || !std::isfinite(row.at_measured_w)) std::abort();
    if (!(row.at_predicted_w > 0) || !std::isfinite(row.at_predicted_w)) std::abort();
    if (!(row.predicted_s > 0) || !std::isfinite(row.predicted_s)) std::abort();
    if (row.settled && !row.scored) std::abort();
  }
  if (validation::kernel_power_text(*report).empty()) std::abort();
  if (validation::kernel_power_json(*report).empty()) std::abort();
  return 0;
}
