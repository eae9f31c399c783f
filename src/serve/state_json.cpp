#include "serve/state_json.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/collection.h"
#include "base/json_writer.h"
#include "run/event_reasons.h"
#include "run/run.h"
#include "watch/power_error.h"

namespace ergometer::serve {
namespace {

using base::json_quote;
using run::DeviceKind;
using run::Metric;

int64_t milliseconds(int64_t ns) { return ns / 1'000'000; }

/// A list under a name, without a space: of thousands of numbers each byte counts.
class Column {
 public:
  Column(std::string& out, const char* name, bool first = false) : out_(out) {
    out_ += fmt::format("{}\"{}\":[", first ? "" : ",", name);
  }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  ~Column() { out_ += ']'; }
  void put(std::string_view json) {
    if (!empty_) out_ += ',';
    empty_ = false;
    out_ += json;
  }
  void put(int64_t number) { put(std::string_view(fmt::format_int(number).c_str())); }
  void put_rounded(bool known, double value) {
    known ? put(static_cast<int64_t>(std::llround(value))) : put("null");
  }
  void put_percent(double relative) { put(std::string_view(percent(relative))); }

  /// With one decimal; 0: nothing is known.
  static std::string percent(double relative) {
    return relative > 0 ? fmt::format("{:.1f}", 100 * relative) : "null";
  }

 private:
  std::string& out_;
  bool empty_ = true;
};

using EachNode = std::function<void(const NodeState&, Column&)>;
using EachGpu = std::function<void(const DeviceState&, Column&)>;

class Writer {
 public:
  explicit Writer(const StateDocument& document) : document_(document) {}

  std::string all() {
    out_ +=
        fmt::format("{{\"schema_version\":{},\"time_ms\":{},\"problem\":{},\"rules_problem\":{}",
                    run::kSchemaVersion, milliseconds(document_.now_ns),
                    json_quote(document_.problem), json_quote(document_.rules_problem));
    counts();
    jobs();
    if (document_.state != nullptr) job();
    return std::move(out_) + "}\n";
  }

 private:
  void counts() {
    const ServerCounts& c = document_.counts;
    out_ += fmt::format(
        ",\"counts\":{{\"requests\":{},\"batches\":{},\"repeated\":{},\"malformed\":{},"
        "\"unauthorized\":{},\"refused\":{},\"connections\":{}}}",
        c.requests, c.batches, c.repeated, c.malformed, c.unauthorized, c.refused, c.connections);
  }

  void jobs() {
    Column column(out_, "jobs");
    for (const JobLine& line : document_.jobs)
      column.put(fmt::format("{{\"name\":{},\"nodes\":{},\"gpus\":{},\"heard_ms\":{},\"live\":{}}}",
                             json_quote(line.name), line.nodes, line.gpus,
                             milliseconds(line.heard_ns), line.live));
  }

  void job() {
    out_ += fmt::format(",\"job\":{{\"name\":{}", json_quote(document_.job));
    power_error();
    nodes();
    gpus();
    step();
    history();
    findings();
    prediction();
    alerts();
    out_ += '}';
  }

  void node_column(const char* name, const EachNode& each, bool first = false) {
    Column column(out_, name, first);
    for (const NodeState& node : document_.state->nodes()) each(node, column);
  }

  /// Of a node's devices of a kind: the sum of what they have.
  static double sum(const std::vector<DeviceState>& devices, const NodeState& node,
                    const std::function<double(const DeviceState&)>& of) {
    return base::sum(node.devices,
                     [&](size_t number) { return std::max(0.0, of(devices[number])); });
  }

  void add_gpus(const NodeState& node, watch::PowerError& error) const {
    for (const size_t number : node.devices)
      if (const DeviceState& device = document_.state->devices()[number];
          device.kind == DeviceKind::kGpu)
        error.add(device.now(node.name));
  }

  /// Of the power of the live nodes together.
  void power_error() {
    watch::PowerError error;
    for (const NodeState& node : document_.state->nodes())
      if (node.presence(document_.now_ns) == NodeState::Presence::kLive) add_gpus(node, error);
    out_ += fmt::format(",\"gpu_power_error_percent\":{}", Column::percent(error.relative()));
  }

  void power_error_columns() {
    std::vector<watch::PowerError> errors;
    for (const NodeState& node : document_.state->nodes()) add_gpus(node, errors.emplace_back());
    const auto column_of = [&](const char* name, double (watch::PowerError::*of)() const) {
      Column column(out_, name);
      for (const watch::PowerError& error : errors) column.put_percent((error.*of)());
    };
    column_of("gpu_power_error_percent", &watch::PowerError::relative);
    column_of("one_gpu_power_error_percent", &watch::PowerError::widest);
  }

  void nodes() {
    const auto& devices = document_.state->devices();
    out_ += ",\"nodes\":{";
    node_column("name", [](const NodeState& n, Column& c) { c.put(json_quote(n.name)); }, true);
    node_column("presence", [&](const NodeState& n, Column& c) {
      c.put(static_cast<int64_t>(n.presence(document_.now_ns)));
    });
    node_column("heard_ms", [](const NodeState& n, Column& c) { c.put(milliseconds(n.heard_ns)); });
    node_column("clock_jump_s", [](const NodeState& n, Column& c) {
      n.jumped_ns > 0 ? c.put(fmt::format("{:.1f}", n.jump_s)) : c.put("null");
    });
    node_column("lost", [](const NodeState& n, Column& c) { c.put(n.lost); });
    node_column("gpu_power_w", [&](const NodeState& n, Column& c) {
      c.put_rounded(true, sum(devices, n, [](const DeviceState& d) {
                      return d.kind == DeviceKind::kGpu ? d.power_w() : 0;
                    }));
    });
    power_error_columns();
    node_column("sent_b_per_s", [&](const NodeState& n, Column& c) {
      c.put_rounded(true, sum(devices, n, [](const DeviceState& d) { return d.sent_rate; }));
    });
    node_column("received_b_per_s", [&](const NodeState& n, Column& c) {
      c.put_rounded(true, sum(devices, n, [](const DeviceState& d) { return d.received_rate; }));
    });
    node_column("gpus", [&](const NodeState& n, Column& c) {
      c.put_rounded(true, sum(devices, n, [](const DeviceState& d) {
                      return d.kind == DeviceKind::kGpu ? 1 : 0;
                    }));
    });
    out_ += '}';
  }

  void gpu_column(const char* name, const EachGpu& each, bool first = false) {
    Column column(out_, name, first);
    const auto& devices = document_.state->devices();
    for (const NodeState& node : document_.state->nodes())
      for (const size_t number : node.devices)
        if (devices[number].kind == DeviceKind::kGpu) each(devices[number], column);
  }

  void metric_column(const char* name, Metric metric) {
    gpu_column(name, [metric](const DeviceState& gpu, Column& column) {
      column.put_rounded(gpu.has(metric), gpu.of(metric));
    });
  }

  /// Node after node, as many as "nodes.gpus" says.
  void gpus() {
    out_ += ",\"gpus\":{";
    gpu_column("index", [](const DeviceState& g, Column& c) { c.put(g.index); }, true);
    gpu_column("power_w", [](const DeviceState& g, Column& c) {
      c.put_rounded(g.power_w() >= 0, g.power_w());
    });
    gpu_column("temperature_c", [](const DeviceState& gpu, Column& column) {
      const Metric metric = gpu.temperature_metric();
      column.put_rounded(gpu.has(metric), gpu.of(metric));
    });
    metric_column("clock_mhz", Metric::kSmClock);
    metric_column("utilization_percent", Metric::kGpuUtilization);
    metric_column("event_reasons", Metric::kEventReasons);
    out_ += "},\"event_reasons\":{";
    bool first = true;
    for (const run::EventReasonName& reason : run::kEventReasons) {
      out_ += fmt::format("{}\"{}\":\"{}\"", first ? "" : ",", reason.bit, reason.name);
      first = false;
    }
    out_ += '}';
  }

  void step() {
    const NodeState* node = document_.state->stepping(document_.now_ns);
    if (node == nullptr) return void(out_ += ",\"step\":null");
    const run::TrainingStep& s = node->step;
    out_ += fmt::format(
        ",\"step\":{{\"number\":{},\"step_time_s\":{:.6g},\"tokens_per_s_per_gpu\":{},\"node\":{}}"
        "}",
        s.number, s.seconds,
        s.tokens_per_s_per_gpu > 0 ? fmt::format("{:.6g}", s.tokens_per_s_per_gpu) : "null",
        json_quote(node->name));
  }

  void history_column(const char* name, const std::function<double(const HistoryRow&)>& of,
                      bool first = false) {
    Column column(out_, name, first);
    for (const HistoryRow& row : document_.history) column.put_rounded(true, of(row));
  }

  void history_steps() {
    Column steps(out_, "step_time_s");
    for (const HistoryRow& row : document_.history)
      steps.put(row.step_s > 0 ? fmt::format("{:.6g}", row.step_s) : "null");
  }

  void history() {
    out_ += ",\"history\":{";
    history_column(
        "time_ms",
        [](const HistoryRow& row) { return static_cast<double>(milliseconds(row.time_ns)); }, true);
    history_column("power_w", [](const HistoryRow& row) { return row.power_w; });
    history_column("hottest_c", [](const HistoryRow& row) { return row.hottest_c; });
    history_column("nodes", [](const HistoryRow& row) { return static_cast<double>(row.nodes); });
    history_steps();
    out_ += '}';
  }

  void findings() {
    Column column(out_, "findings");
    for (const watch::FindingNow& finding : document_.findings) {
      std::string where;
      for (const std::string& name : finding.where)
        where += (where.empty() ? "" : ",") + json_quote(name);
      column.put(fmt::format(
          "{{\"kind\":\"{}\",\"grade\":\"{}\",\"text\":{},\"since_ms\":{},\"where\":[{}]}}",
          finding.kind, finding.grade, json_quote(finding.text), milliseconds(finding.since_ns),
          where));
    }
  }

  void prediction() {
    const watch::AgainstPrediction* const against = document_.against;
    if (against == nullptr) return void(out_ += ",\"prediction\":null");
    out_ += fmt::format(",\"prediction\":{{\"job\":{},\"deviation\":{}",
                        json_quote(against->prediction().job),
                        against->deviation() ? json_quote(against->deviation()->text) : "null");
    {
      Column column(out_, "quantities");
      for (const auto& [of, measured, error, place, since_ns] : against->quantities())
        column.put(fmt::format(
            "{{\"name\":\"{}\",\"label\":{},\"predicted\":{},\"interval\":{},\"measured\":{},"
            "\"measured_error_percent\":{},\"state\":\"{}\"}}",
            of.name, json_quote(run::predicted_label(of.name)),
            json_quote(run::predicted_text(of.value, of.unit)),
            of.has_interval() ? json_quote(run::predicted_text(of.low, of.unit) + " to " +
                                           run::predicted_text(of.high, of.unit))
                              : "null",
            measured ? json_quote(run::predicted_text(*measured, of.unit)) : "null",
            measured ? Column::percent(error) : "null", place ? run::to_word(*place) : "waiting"));
    }
    out_ += '}';
  }

  void alerts() {
    Column column(out_, "alerts");
    for (const watch::Alert& alert : document_.alerts)
      column.put(fmt::format(
          "{{\"rule\":{},\"state\":\"{}\",\"severity\":{},\"subject\":{},\"text\":{},"
          "\"since_ms\":{},\"resolved_ms\":{}}}",
          json_quote(alert.rule), alert.state(), json_quote(alert.severity),
          json_quote(alert.subject), json_quote(alert.told()), milliseconds(alert.pending_ns),
          alert.resolved_ns > 0 ? fmt::format("{}", milliseconds(alert.resolved_ns)) : "null"));
  }

  const StateDocument& document_;
  std::string out_;
};

}  // namespace

std::string state_json(const StateDocument& document) { return Writer(document).all(); }

}  // namespace ergometer::serve
