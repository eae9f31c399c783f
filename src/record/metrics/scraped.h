#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"

namespace ergometer::record {

/// What another recorder, or an exporter of GPUs, serves now.
struct Scraped {
  std::vector<run::Device> devices;      ///< a sample a series
  std::vector<run::TrainingStep> steps;  ///< the latest, where it tells one
};

/// Reads the text of a /metrics page: our own names, DCGM's and those of other exporters. Samples
/// without a time are of `now_ns`; devices without a host of `host`. Input error: no such page.
Result<Scraped> read_metrics_page(std::string_view text, const std::string& host, int64_t now_ns);

}  // namespace ergometer::record
