#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "validation/microbench.h"

namespace ergometer::validation {
namespace {

std::string row_table(const MicrobenchReport& report) {
  std::string text = fmt::format("{:<10} {:<19} {:<20} {:>12} {:>12}  {:<8} {:>8}\n", "row", "kind",
                                 "platform", "measured", "predicted", "unit", "error");
  for (const MicrobenchRow& row : report.rows) {
    if (!row.skipped_reason.empty()) continue;
    text +=
        fmt::format("{:<10} {:<19} {:<20} {:>12.5g} {:>12.5g}  {:<8} {:>+6.1f} %\n", row.id,
                    row.kind, row.platform, row.measured, row.predicted, row.unit, row.error_pct);
  }
  return text + "\n";
}

std::string skipped_list(const MicrobenchReport& report) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const MicrobenchRow& row : report.rows)
    if (!row.skipped_reason.empty())
      by_reason[row.skipped_reason].push_back(row.id.empty() ? fmt::format("line {}", row.line)
                                                             : row.id);
  std::string text;
  for (const auto& [reason, ids] : by_reason)
    text += fmt::format("not predicted: {} rows ({}{}): {}\n", ids.size(), ids.front(),
                        ids.size() > 1 ? " to " + ids.back() : "", reason);
  return text;
}

}  // namespace

std::string microbench_text(const MicrobenchReport& report, bool rows) {
  std::string text = rows ? row_table(report) : "";
  text += "Errors of the time, in per cent; collectives from 1 MB on\n";
  text += fmt::format("{:<19} {:<22} {:>5} {:>8} {:>8} {:>8} {:>8}\n", "kind", "platform", "rows",
                      "median", "mean", "max", "bias");
  for (const MicrobenchLine& line : report.lines) {
    text += fmt::format("{:<19} {:<22} {:>5} {:>8.1f} {:>8.1f} {:>8.1f} {:>+8.1f}\n", line.kind,
                        line.platform, line.rows, line.median_pct, line.mean_pct, line.max_pct,
                        line.bias_pct);
  }
  text += fmt::format("{} rows predicted, {} not\n", report.predicted, report.skipped);
  return text + skipped_list(report);
}

std::string microbench_json(const MicrobenchReport& report) {
  using Layout = base::JsonWriter::Layout;
  base::JsonWriter json;
  json.begin_object();
  json.member("predicted", report.predicted).member("skipped", report.skipped);
  json.key("summary").begin_array();
  for (const MicrobenchLine& line : report.lines) {
    json.begin_object(Layout::kOneLine);
    json.member("kind", line.kind).member("platform", line.platform).member("rows", line.rows);
    json.member("median_pct", line.median_pct).member("mean_pct", line.mean_pct);
    json.member("max_pct", line.max_pct).member("bias_pct", line.bias_pct);
    json.end_object();
  }
  json.end_array();
  json.key("rows").begin_array();
  for (const MicrobenchRow& row : report.rows) {
    json.begin_object(Layout::kOneLine);
    json.member("line", row.line).member("id", row.id).member("kind", row.kind);
    json.member("device", row.device).member("platform", row.platform);
    json.member("measured", row.measured).member("unit", row.unit);
    if (row.skipped_reason.empty()) {
      json.member("predicted", row.predicted).member("error_pct", row.error_pct);
      json.member("scored", row.scored);
    } else {
      json.member("skipped_reason", row.skipped_reason);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
