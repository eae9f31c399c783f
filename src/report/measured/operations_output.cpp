#include "report/measured/operations_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/colours.h"
#include "report/format.h"
#include "report/measured/findings.h"
#include "report/measured/first_rows.h"

namespace ergometer::report {
namespace {

using analysis::OperationSlowdown;
using base::JsonWriter;
using base::kOneLine;

constexpr size_t kMostParts = 8;

std::string head_text(const OperationSlowdown& of, const std::string& file) {
  const std::string chunks = of.groups.chunks > 1 ? fmt::format(", vpp {}", of.groups.chunks) : "";
  return wrap(fmt::format("{}: operations of pp {}, dp {}, tp {}{}: {} in {}", file,
                          of.groups.stages, of.groups.replicas, of.groups.lanes, chunks,
                          base::format_count(static_cast<int64_t>(of.operations)),
                          counted(of.steps, "step")),
              kWidth, 2) +
         "\n\n";
}

/// What is not there cannot have been slow.
std::string missing_text(const OperationSlowdown& of, const TextStyle& style) {
  std::string out;
  if (of.missing_workers > 0)
    out +=
        note(style, fmt::format("{} of {} stages of replicas have no operation: stragglers among "
                                "them are not seen, and M_W and M_S are of the others",
                                of.missing_workers, of.groups.stages * of.groups.replicas)) +
        "\n";
  if (of.short_steps > 0)
    out += note(style, fmt::format("less than nine tenths of the usual step's operations in {} of "
                                   "{} steps, as where a recording begins or ends within one",
                                   of.short_steps, of.steps)) +
           "\n";
  return out;
}

std::string times_text(const OperationSlowdown& of, const TextStyle& style) {
  base::Table table("<12 >10 <");
  table.row("Step", "mean", "");
  table.row("recorded", base::format_seconds(of.recorded_step_s),
            fmt::format("{:.3f} x replayed: the host's launches", of.launch_slowdown));
  table.row("replayed", base::format_seconds(of.replayed_step_s),
            fmt::format("{:.3f} x ideal: what stragglers cost", of.slowdown));
  table.row("ideal", base::format_seconds(of.ideal_step_s),
            "every operation as long as on the mean");
  return table_text(table, style) + '\n';
}

std::string parts_text(std::string_view what, const std::vector<analysis::PartSlowdown>& parts,
                       const TextStyle& style) {
  base::Table table("<30 >10");
  table.row(what, "slowdown");
  for (const analysis::PartSlowdown& part : first(parts, kMostParts))
    table.row(shortened(part.name, 30), fmt::format("{:.3f}", part.slowdown));
  return table_text(table, style) + more_line(parts.size(), kMostParts) + '\n';
}

/// Bad from a tenth on, fair from a fiftieth on.
std::string_view colour_of(double slowdown) {
  return slowdown >= 1.1 ? sgr_of("bad") : slowdown >= 1.02 ? sgr_of("fair") : "0";
}

/// One character for a worker: how far it is on the way from 1 to the slowest one.
std::string shade_of(double slowdown, double worst, const TextStyle& style) {
  constexpr std::string_view kBlocks[] = {"\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
  constexpr std::string_view kAscii[] = {".", "-", "+", "*", "#"};
  const double share = worst > 1 ? std::clamp((slowdown - 1) / (worst - 1), 0.0, 1.0) : 0.0;
  const size_t level =
      slowdown < 1.02 ? 0 : 1 + std::min<size_t>(3, static_cast<size_t>(share * 4));
  return paint(style, colour_of(slowdown),
               std::string(style.unicode ? kBlocks[level] : kAscii[level]));
}

using WorkerMap = std::map<int64_t, std::map<int64_t, double>>;

std::string numbers_map(const WorkerMap& map, int64_t replicas, const TextStyle& style) {
  std::string out = fmt::format("{:>6}", "");
  for (int64_t replica = 0; replica < replicas; ++replica) out += fmt::format("{:>7}", replica);
  out += '\n';
  for (const auto& [stage, row] : map) {
    out += fmt::format("{:>6}", stage);
    for (int64_t replica = 0; replica < replicas; ++replica) {
      const auto at = row.find(replica);
      out += at == row.end()
                 ? fmt::format("{:>7}", "-")
                 : paint(style, colour_of(at->second), fmt::format("{:>7.2f}", at->second));
    }
    out += '\n';
  }
  return out;
}

std::string shades_map(const WorkerMap& map, int64_t replicas, double worst,
                       const TextStyle& style) {
  constexpr int64_t kAcross = 64;
  std::string out;
  for (int64_t first = 0; first < replicas; first += kAcross) {
    const int64_t end = std::min(first + kAcross, replicas);
    out += fmt::format("{:>6}  replicas {} to {}\n", "", first, end - 1);
    for (const auto& [stage, row] : map) {
      out += fmt::format("{:>6}  ", stage);
      for (int64_t replica = first; replica < end; ++replica) {
        const auto at = row.find(replica);
        out += at == row.end() ? " " : shade_of(at->second, worst, style);
      }
      out += '\n';
    }
  }
  return out;
}

/// Stages downwards, replicas across.
std::string map_text(const OperationSlowdown& of, const TextStyle& style) {
  constexpr int64_t kMostNumbers = 10, kMostReplicas = 1024;
  WorkerMap map;
  for (const auto& worker : of.by_worker) map[worker.stage][worker.replica] = worker.slowdown;
  const int64_t replicas = std::min(of.groups.replicas, kMostReplicas);
  const double worst = of.by_worker.empty() ? 1 : of.by_worker.front().slowdown;
  std::string out =
      heading(style, "Workers: stages down, replicas across; the smaller slowdown of both") + '\n';
  out += of.groups.replicas <= kMostNumbers ? numbers_map(map, replicas, style)
                                            : shades_map(map, replicas, worst, style);
  const auto& slowest = of.by_worker.front();
  out += fmt::format("slowest: stage {} of replica {}, {:.3f}\n", slowest.stage, slowest.replica,
                     slowest.slowdown);
  return out + '\n';
}

std::string mendings_text(const OperationSlowdown& of, const TextStyle& style) {
  base::Table table("<50 >10 >10");
  table.row("What if this were mended", "step", "saved");
  for (const analysis::Mending& mending : of.mendings)
    table.row(shortened(mending.what, 50), base::format_seconds(mending.step_s),
              mending.saved_s >= 0 ? base::format_seconds(mending.saved_s)
                                   : '-' + base::format_seconds(-mending.saved_s));
  return table_text(table, style) +
         fmt::format(
             "M_W {:.3f}: what the slowest {} account{} for of replayed - ideal; "
             "M_S {:.3f}: the last stage\n\n",
             of.slowest_workers.share, counted(of.slowest_count, "worker"),
             of.slowest_count == 1 ? "s" : "", of.last_stage.share);
}

void write_workers(JsonWriter& json, const OperationSlowdown& of) {
  json.rows("slowdown_by_worker", of.by_worker, [&](const auto& worker) {
    json.member("stage", worker.stage)
        .member("replica", worker.replica)
        .member("slowdown", worker.slowdown);
  });
}

void write_mended(JsonWriter& json, std::string_view name, const analysis::MendedWorkers& mended) {
  json.key(name).begin_object(kOneLine).member("step_s_when_ideal", mended.step_s);
  json.member("step_s_when_all_others_ideal", mended.alone_step_s).end_object();
}

void write_groups(JsonWriter& json, const run::OperationGroups& groups) {
  json.key("groups").begin_object(kOneLine).member("pp", groups.stages);
  json.member("dp", groups.replicas).member("tp", groups.lanes).member("vpp", groups.chunks);
  json.end_object();
}

}  // namespace

std::string operations_text(const OperationSlowdown& of, const std::string& file,
                            const TextStyle& style) {
  std::string out = head_text(of, file) + times_text(of, style);
  out += parts_text("By operation", of.by_operation, style);
  out += parts_text("By stage", of.by_stage, style);
  out += parts_text("By replica", of.by_replica, style);
  out += map_text(of, style) + mendings_text(of, style);
  out += missing_text(of, style);
  if (of.waits_left_out > 0)
    out += note(style, fmt::format("{} waits left out: they would have closed a circle",
                                   of.waits_left_out)) +
           "\n";
  return out + findings_text(of.findings, style);
}

std::string operations_json(const OperationSlowdown& of, const std::string& file) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion).member("source", "imported");
  json.member("file", file).key("operations").begin_object();
  write_groups(json, of.groups);
  json.member("count", of.operations).member("steps", of.steps);
  if (of.missing_workers > 0) json.member("missing_workers", of.missing_workers);
  if (of.short_steps > 0) json.member("short_steps", of.short_steps);
  json.member("recorded_step_s", of.recorded_step_s).member("replayed_step_s", of.replayed_step_s);
  json.member("ideal_step_s", of.ideal_step_s).member("slowdown", of.slowdown);
  json.member("launch_slowdown", of.launch_slowdown);
  json.object("slowdown_by_operation", of.by_operation);
  json.object("slowdown_by_stage", of.by_stage);
  json.object("slowdown_by_replica", of.by_replica);
  write_workers(json, of);
  json.member("mw", of.slowest_workers.share).member("ms", of.last_stage.share);
  json.member("slowest_workers", of.slowest_count);
  write_mended(json, "workers", of.slowest_workers);
  write_mended(json, "last_stage", of.last_stage);
  json.member("micro_batch_correlation", of.micro_batch_correlation);
  json.member("micro_batch_spread", of.micro_batch_spread).member("pause_s", of.pause_s);
  json.rows("what_if_mended", of.mendings, [&](const analysis::Mending& mending) {
    json.member("what", mending.what)
        .member("step_s", mending.step_s)
        .member("saved_s", mending.saved_s);
  });
  json.member("waits_left_out", of.waits_left_out).end_object();
  write_findings(json, of.findings);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
