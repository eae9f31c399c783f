#include "cli/record/record_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "import/import.h"
#include "report/measured/telemetry_json.h"
#include "run/run.h"

namespace ergometer::cli {
namespace {

double seconds_of(const Session& session) {
  return static_cast<double>(session.report.end_ns - session.report.start_ns) * 1e-9;
}

std::string number_of(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", base::format_count(count), count == 1 ? one : many);
}

}  // namespace

std::string device_counts(const std::vector<run::Device>& devices) {
  struct Word {
    run::DeviceKind kind;
    std::string_view one, many;
  };
  using run::DeviceKind;
  constexpr std::array kWords = std::to_array<Word>({{DeviceKind::kGpu, "GPU", "GPUs"},
                                                     {DeviceKind::kNode, "node", "nodes"},
                                                     {DeviceKind::kCpu, "CPU", "CPUs"},
                                                     {DeviceKind::kPort, "port", "ports"},
                                                     {DeviceKind::kSwitch, "switch", "switches"},
                                                     {DeviceKind::kMeter, "meter", "meters"}});
  std::string text;
  for (const Word& word : kWords) {
    const auto count =
        std::ranges::count_if(devices, [&](const auto& d) { return d.kind == word.kind; });
    if (count > 0) text += (text.empty() ? "" : ", ") + number_of(count, word.one, word.many);
  }
  return text.empty() ? "no device" : text;
}

Result<Recorded> read_back(const Session& session) {
  // Three and a half hours of 8 GPUs with 20 metrics at 10 Hz: about 350 MB and a few seconds.
  constexpr int64_t kMost = 20'000'000;
  Recorded recorded;
  recorded.left_out = session.report.readings > kMost;
  if (recorded.left_out) return recorded;
  ERGOMETER_ASSIGN(importer::Telemetry telemetry, importer::read_telemetry({session.file}, {}));
  recorded.log = std::move(telemetry.log);
  recorded.report = analysis::analyze_telemetry(recorded.log);
  return recorded;
}

std::string recording_text(const Session& session, const Recorded& recorded,
                           const report::TextStyle& style) {
  const record::RecorderReport& r = session.report;
  std::string out = fmt::format(
      "Recorded {} at {} Hz into {}: {}\n"
      "{}, {} missed; {}, {} only repeated the last\n",
      base::format_seconds(seconds_of(session)), session.hz, session.file,
      device_counts(session.devices), number_of(r.ticks, "round", "rounds"),
      base::format_count(r.missed), number_of(r.readings, "reading", "readings"),
      base::format_count(r.repeated));
  if (!r.problem.empty()) out += fmt::format("Not all of it is in the file: {}\n", r.problem);
  if (recorded.left_out)
    return out + fmt::format("Too long to sum up here: ergometer analyze {}\n", session.file);
  return out + report::telemetry_text(recorded.log, recorded.report, style);
}

void write_session(base::JsonWriter& json, const Session& session) {
  const record::RecorderReport& r = session.report;
  json.key("recording").begin_object();
  json.member("file", session.file).member("start_ns", r.start_ns).member("end_ns", r.end_ns);
  json.member("duration_s", seconds_of(session)).member("hz", session.hz);
  json.member("ticks", r.ticks).member("missed_ticks", r.missed);
  json.member("readings", r.readings).member("repeated_readings", r.repeated);
  json.member("lost_readings", r.lost).member("problem", r.problem);
  if (session.command) {
    json.member("command_s", session.command_s);
    json.member("exit_code", session.command->code).member("exit_signal", session.command->signal);
  }
  json.rows("missing", session.missing, [&](const record::Sources::Missing& missing) {
    json.member("source", missing.name).member("why", missing.why);
  });
  json.array("calls", r.costs, [&](const record::SourceCosts& costs) {
    for (const record::CallCost& call : costs.calls) {
      json.begin_object(base::kOneLine);
      json.member("source", costs.source).member("call", call.call).member("count", call.count);
      json.member("total_ns", call.total_ns).member("longest_ns", call.longest_ns);
      json.member("failed", call.failed).end_object();
    }
  });
  json.end_object();
}

std::string recording_json(const Session& session, const Recorded& recorded) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema_version", run::kSchemaVersion).member("source", "recorded");
  write_session(json, session);
  if (!recorded.left_out) report::write_telemetry(json, recorded.log, recorded.report);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::cli
