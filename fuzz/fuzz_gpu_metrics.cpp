// The table of AMD's driver: whatever bytes it is, nothing is read beyond its end, and what comes
// out is a number.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "record/amd/gpu_metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto metrics = ergometer::record::amd::parse_gpu_metrics({data, size});
  if (!metrics) return 0;
  if (size < 96) std::abort();  // the smallest table
  for (const auto& value :
       {metrics->average_power_w, metrics->power_w, metrics->energy_j, metrics->edge_c,
        metrics->hotspot_c, metrics->memory_c, metrics->busy_percent, metrics->memory_busy_percent,
        metrics->gfx_mhz, metrics->memory_mhz, metrics->pcie_replays, metrics->xgmi_read_bytes,
        metrics->xgmi_written_bytes})
    if (value && !(std::isfinite(*value) && *value >= 0)) std::abort();
  return 0;
}
