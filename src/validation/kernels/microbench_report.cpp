#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/json_writer.h"
#include "base/table.h"
#include "validation/kernels/microbench.h"

namespace ergometer::validation {
namespace {

std::string row_table(const MicrobenchReport& report) {
  base::Table table("<11 <20 <20 >13 >13 <8 >9");
  table.row("row", "kind", "platform", "measured", "predicted", "unit", "error");
  for (const MicrobenchRow& row : report.rows) {
    if (!row.skipped_reason.empty()) continue;
    table.row(row.id, row.kind, row.platform, fmt::format("{:.5g}", row.measured),
              fmt::format("{:.5g}", row.predicted), row.unit,
              fmt::format("{:+.1f} %", row.error_pct));
  }
  return table.text() + "\n";
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
  base::Table table("<20 <22 >6 >9 >9 >9 >9");
  table.row("kind", "platform", "rows", "median", "mean", "max", "bias");
  const auto one_digit = [](double number) { return fmt::format("{:.1f}", number); };
  for (const MicrobenchLine& line : report.lines)
    table.row(line.kind, line.platform, line.rows, one_digit(line.median_pct),
              one_digit(line.mean_pct), one_digit(line.max_pct),
              fmt::format("{:+.1f}", line.bias_pct));
  text += table.text();
  text += fmt::format("{} rows predicted, {} not\n", report.predicted, report.skipped);
  return text + skipped_list(report);
}

std::string microbench_json(const MicrobenchReport& report) {
  base::JsonWriter json;
  json.begin_object();
  json.member("predicted", report.predicted).member("skipped", report.skipped);
  json.rows("summary", report.lines, [&](const MicrobenchLine& line) {
    json.member("kind", line.kind).member("platform", line.platform).member("rows", line.rows);
    json.member("median_pct", line.median_pct).member("mean_pct", line.mean_pct);
    json.member("max_pct", line.max_pct).member("bias_pct", line.bias_pct);
  });
  json.rows("rows", report.rows, [&](const MicrobenchRow& row) {
    json.member("line", row.line).member("id", row.id).member("kind", row.kind);
    json.member("device", row.device).member("platform", row.platform);
    json.member("measured", row.measured).member("unit", row.unit);
    if (row.skipped_reason.empty()) {
      json.member("predicted", row.predicted).member("error_pct", row.error_pct);
      json.member("scored", row.scored);
    } else {
      json.member("skipped_reason", row.skipped_reason);
    }
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
