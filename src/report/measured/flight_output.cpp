#include "report/measured/flight_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/format.h"
#include "report/measured/findings.h"
#include "report/measured/first_rows.h"
#include "report/measured/trace_text.h"
#include "report/summary/summary_members.h"
#include "run/row_columns.h"

namespace ergometer::report {
namespace {

using analysis::FlightFault;
using analysis::FlightGroupReport;
using analysis::FlightReport;
using base::JsonWriter;
using base::kOneLine;

constexpr size_t kMostFlightGroups = 6, kMostFlightCallers = 8, kMostFlightRows = 12;

std::string flight_head(const FlightReport& report, const TextStyle& style) {
  std::set<std::string> versions;
  for (const analysis::FlightRank& rank : report.ranks) versions.insert(rank.version);
  std::string out =
      heading(style, fmt::format("Flight recorders of {}", counted(report.ranks.size(), "rank")));
  if (!report.without_dump.empty())
    out += paragraph("no dump of rank" + std::string(report.without_dump.size() == 1 ? " " : "s ") +
                     analysis::rank_list(report.without_dump));
  if (versions.size() > 1)
    out += paragraph("dumps of different releases of PyTorch: what they hold may differ");
  return out;
}

std::string verdict(const FlightReport& report) {
  if (report.all_ended())
    return paragraph("every collective that the dumps hold ended alike on all their ranks");
  if (!report.culprits.empty())
    return paragraph(fmt::format("the others wait for rank{} {}",
                                 report.culprits.size() == 1 ? "" : "s",
                                 analysis::rank_list(report.culprits)));
  return paragraph(report.in_a_circle ? "ranks wait for each other in a circle"
                                      : "the dumps do not tell whom the ranks wait for");
}

std::string did_text(analysis::FlightDid did) {
  std::string word(analysis::to_word(did));
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string callers_table(const FlightGroupReport& group, const TextStyle& style) {
  base::Table table("<10 <10 <");
  table.row("  ranks", "did", "call, and where in the program");
  for (const analysis::FlightCallers& c : first(group.callers, kMostFlightCallers)) {
    const std::string at = c.frame.empty()  ? ""
                           : c.name.empty() ? "last seen at " + c.frame
                                            : "at " + c.frame;
    std::string call;
    for (const std::string& part : {c.name, c.sizes, c.dtypes, at})
      if (!part.empty()) call += (call.empty() ? "" : " ") + part;
    table.row("  " + analysis::rank_list(c.ranks), did_text(c.did), shortened(call, 160));
  }
  return table_text(table, style) + more_line(group.callers.size(), kMostFlightCallers, " kinds");
}

std::string_view fault_text(FlightFault fault) {
  switch (fault) {
    case FlightFault::kMismatch: return "ranks called different things";
    case FlightFault::kNotCalled: return "some did not call it";
    case FlightFault::kNotCompleted: return "all called it, and it did not end";
    case FlightFault::kNone: break;
  }
  return "";
}

std::string group_text(const FlightGroupReport& group, const TextStyle& style) {
  std::string out =
      heading(style, fmt::format("Group {} of {}: collective {}",
                                 analysis::group_title(group.name, group.description),
                                 counted(group.ranks.size(), "rank"), group.sequence));
  const std::string before =
      group.last_completed < 0 ? "no earlier one is kept"
                               : fmt::format("the last that all ended is {}", group.last_completed);
  out += paragraph(fmt::format("{}; {}", fault_text(group.fault), before));
  if (!group.without_dump.empty())
    out += paragraph("of the group without a dump: " + analysis::rank_list(group.without_dump));
  return out + callers_table(group, style);
}

std::string faults_text(const FlightReport& report, const TextStyle& style) {
  std::string out;
  size_t faulty = 0;
  for (const FlightGroupReport& group : report.groups) {
    if (group.fault == FlightFault::kNone) continue;
    if (faulty++ < kMostFlightGroups) out += '\n' + group_text(group, style);
  }
  return out + more_line(faulty, kMostFlightGroups, " groups");
}

std::string pending_table(const FlightReport& report, const TextStyle& style) {
  if (report.pending.empty()) return "";
  base::Table table(">6 >6 <10 <10 <");
  table.row("rank", "peer", "did", "its half", "send or receive that did not end, where");
  for (const analysis::FlightPending& one : first(report.pending, kMostFlightRows)) {
    table.row(one.rank, one.peer < 0 ? "-" : std::to_string(one.peer), did_text(one.did),
              one.answered ? "waits too" : "not there",
              shortened(fmt::format("{} {}", one.name, one.frame), 120));
  }
  return '\n' + table_text(table, style) + more_line(report.pending.size(), kMostFlightRows);
}

std::string times_table(const FlightReport& report, const TextStyle& style) {
  if (report.times.empty()) return "";
  base::Table table("<50 >7 >10 >10");
  table.row("Collectives that ended (group)", "count", "mean", "longest");
  for (const analysis::FlightTimes& row : first(report.times, kMostFlightRows)) {
    table.row("  " + shortened(fmt::format("{} ({})", row.name, row.group), 48), row.count,
              row.timed > 0 ? base::format_seconds(row.mean_s) : "-",
              row.timed > 0 ? base::format_seconds(row.longest_s) : "-");
  }
  std::string out =
      '\n' + table_text(table, style) + more_line(report.times.size(), kMostFlightRows);
  if (std::ranges::all_of(report.times, [](const auto& row) { return row.timed == 0; }))
    out += note(style, "not timed on the GPU: TORCH_NCCL_ENABLE_TIMING=1 has it measured");
  return out;
}

std::string arrivals_table(const FlightReport& report, const TextStyle& style) {
  if (report.arrivals.empty()) return "";
  base::Table table(">6 >12 >10 >12 >12");
  table.row("Rank", "collectives", "came last", "median late", "at most");
  for (const analysis::FlightArrivals& row : first(report.arrivals, kMostFlightRows)) {
    table.row(row.rank, row.collectives, format_share(row.last, row.collectives),
              base::format_nanoseconds(row.median_ns), base::format_nanoseconds(row.latest_ns));
  }
  return '\n' + table_text(table, style) + more_line(report.arrivals.size(), kMostFlightRows) +
         note(style,
              "late: behind the first rank's call, by the clocks of their hosts, which may differ");
}

void write_callers(JsonWriter& json, const FlightGroupReport& group) {
  json.rows("callers", group.callers, [&](const analysis::FlightCallers& callers) {
    json.list("ranks", callers.ranks).member("did", analysis::to_word(callers.did));
    json.member("call", callers.name).member("sizes", callers.sizes);
    json.member("dtypes", callers.dtypes).member("frame", callers.frame);
  });
}

void write_group(JsonWriter& json, const FlightGroupReport& group) {
  json.member("name", group.name).member("description", group.description);
  json.list("ranks", group.ranks, kOneLine).list("without_dump", group.without_dump, kOneLine);
  json.member("last_completed", group.last_completed);
  json.member("fault", analysis::to_word(group.fault)).member("sequence", group.sequence);
  json.list("awaited", group.awaited, kOneLine);
  write_callers(json, group);
}

void write_pending(JsonWriter& json, const FlightReport& report) {
  json.rows("pending", report.pending, [&](const analysis::FlightPending& one) {
    json.member("rank", one.rank).member("peer", one.peer).member("send", one.send);
    json.member("answered", one.answered).member("did", analysis::to_word(one.did));
    json.member("group", one.group).member("call", one.name).member("frame", one.frame);
  });
}

void write_times(JsonWriter& json, const FlightReport& report) {
  json.rows("collectives", report.times, [&](const analysis::FlightTimes& row) {
    json.member("call", row.name).member("group", row.group).member("count", row.count);
    json.member("timed", row.timed).member("mean_s", row.mean_s);
    json.member("longest_s", row.longest_s);
  });
  json.rows("arrivals", report.arrivals, [&](const analysis::FlightArrivals& row) {
    json.member("rank", row.rank).member("collectives", row.collectives).member("last", row.last);
    json.member("median_late_ns", row.median_ns).member("latest_ns", row.latest_ns);
  });
}

}  // namespace

std::string flight_text(const FlightReport& report, const TextStyle& style) {
  return flight_head(report, style) + verdict(report) + faults_text(report, style) +
         pending_table(report, style) + times_table(report, style) + arrivals_table(report, style);
}

void write_flight(JsonWriter& json, const FlightReport& report) {
  json.key("flight_recorder").begin_object();
  json.rows("dumps", report.ranks, [&](const analysis::FlightRank& rank) {
    json.member("rank", rank.rank).member("file", rank.file).member("version", rank.version);
    json.member("calls", rank.calls);
  });
  json.list("without_dump", report.without_dump, kOneLine);
  json.member("all_ended", report.all_ended()).list("culprits", report.culprits, kOneLine);
  json.member("in_a_circle", report.in_a_circle);
  json.objects("groups", report.groups, write_group);
  write_pending(json, report);
  write_times(json, report);
  json.end_object();
}

std::string flight_text(const FlightReport& report, const std::vector<run::Dropped>& dropped,
                        const TextStyle& style) {
  return sections(
      {flight_text(report, style), findings_text(report.findings, style), dropped_text(dropped)});
}

std::string flight_json(const FlightReport& report, const std::vector<run::Dropped>& dropped) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion).member("source", "imported");
  write_flight(json, report);
  write_records(json, "dropped", dropped, run::kDroppedColumns);
  write_findings(json, report.findings);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
