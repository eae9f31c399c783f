#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/snapshot.h"

namespace ergometer::record {

/// Whose readings are told.
struct OtlpResource {
  std::string host, job;
};

/// Readings set since `oldest_ns`, and training steps, as a request of OTLP/HTTP in JSON
/// (ExportMetricsServiceRequest): a metric a name of run::otlp_name, counters as cumulative sums,
/// bits of clock event reasons as 0 or 1 by the attribute `reason`; attributes are the labels of
/// /metrics. A point's time is when its reading came, which of a Run played back is now.
std::string otlp_metrics(const std::vector<Snapshot::Latest>& latest,
                         const std::vector<run::TrainingStep>& steps, const OtlpResource& resource,
                         int64_t oldest_ns);

}  // namespace ergometer::record
