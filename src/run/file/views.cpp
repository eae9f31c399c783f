#include "run/file/views.h"

#include <fmt/format.h>

#include <string>

#include "run/summary_fields.h"

namespace ergometer::run {
namespace {

/// Of a simulated Run a row a rank. `host` and `device_index` are there for what the view below
/// shares with it.
constexpr const char* kGpusOfRanks = R"sql(
CREATE VIEW gpus AS SELECT
  rank, NULL AS host, slot AS device_index, node, slot, stage, mean_power_w, peak_power_w, NULL AS energy_j,
  mean_gpu_c, max_gpu_c, mean_clock_mhz, throttled_time_fraction
FROM ranks;
)sql";

// Sensors tell power in one of three ways; the latest value is the best of them.
constexpr const char* kViewsOfLogs = R"sql(
CREATE VIEW samples AS SELECT
  r.*, coalesce(r.instant_power, r.power, r.average_power) AS power_w, d.kind, d.host, d.device_index, d.rank, d.name
FROM readings r JOIN devices d USING (device);
CREATE VIEW gpus AS SELECT
  d.rank, nullif(d.host, '') AS host, d.device_index, NULL AS node, NULL AS slot, NULL AS stage,
  avg(coalesce(r.instant_power, r.power, r.average_power)) AS mean_power_w,
  max(coalesce(r.instant_power, r.power, r.average_power)) AS peak_power_w,
  max(r.energy) - min(r.energy) AS energy_j,
  avg(r.gpu_temperature) AS mean_gpu_c,
  max(r.gpu_temperature) AS max_gpu_c, avg(r.sm_clock) AS mean_clock_mhz, NULL AS throttled_time_fraction
FROM devices d LEFT JOIN readings r USING (device) WHERE d.kind = 'gpu' GROUP BY d.device;
)sql";

constexpr const char* kSteps = R"sql(
CREATE VIEW steps AS SELECT
  f.rank, s.number AS step, s.start_ns, s.end_ns, (s.end_ns - s.start_ns) / 1e9 AS step_time_s
FROM trace_steps s JOIN trace_files f USING (file);
)sql";

/// One row, a column a number: what is not known is NULL.
std::string totals() {
  std::string sql = "CREATE VIEW totals AS SELECT ";
  for (const SummaryField& field : summary_fields())
    sql += fmt::format("{}max(value) FILTER (WHERE name = '{}') AS \"{}\"",
                       &field == &summary_fields().front() ? "" : ", ", field.name, field.name);
  return sql + " FROM summary";
}

}  // namespace

void create_views(Database& db, HasTables has) {
  db.execute(totals().c_str());
  db.execute(has.log ? kViewsOfLogs : kGpusOfRanks);
  if (has.traces) db.execute(kSteps);
}

}  // namespace ergometer::run
