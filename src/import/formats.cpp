#include "import/formats.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "import/chakra/chakra.h"
#include "import/flight/flight_recorder.h"
#include "import/kineto/kineto.h"
#include "import/operations/operations.h"
#include "import/pipeline/pipeline_files.h"
#include "import/pytorch_et/execution_trace.h"
#include "import/rocprof/rocprof.h"
#include "import/telemetry/readers.h"
#include "import/trace/graph_trace.h"

namespace ergometer::importer {
namespace {

void put(run::RankTrace rank, Traces& traces) { traces.ranks.push_back(std::move(rank)); }
void put(std::vector<run::RankTrace> ranks, Traces& traces) { traces.ranks = std::move(ranks); }
void put(run::FlightDump dump, Traces& traces) { traces.dumps.push_back(std::move(dump)); }
void put(run::WorkGraph graph, Traces& traces) {
  if (auto trace = trace_of(graph)) traces.ranks.push_back(*std::move(trace));
  traces.graphs.push_back(std::move(graph));
}

/// What a reader returns, be it a trace, several or a graph, as Traces.
template <auto kRead>
Result<Traces> traces_by(ByteSource& source, const std::string& file) {
  ERGOMETER_ASSIGN(auto found, kRead(source, file));
  Traces traces;
  put(std::move(found), traces);
  return traces;
}

/// JSON with such words near its start. A Kineto trace gives every event a category; it may carry
/// any words in names and metadata.
bool is_graph(std::string_view start, std::initializer_list<std::string_view> words) {
  constexpr size_t kNear = size_t{1} << 14;
  const auto has = [&](std::string_view word) {
    return start.substr(0, kNear).find(word) != std::string_view::npos;
  };
  return !has("\"cat\"") && !has("\"schemaVersion\"") && !has("\"deviceProperties\"") &&
         std::ranges::all_of(words, has);
}

bool is_drawn_trace(std::string_view start) {
  constexpr size_t kNear = 256;
  return start.substr(0, kNear).find(R"("otherData":{"tool":"ergometer")") !=
         std::string_view::npos;
}

template <const char* kBegins>
bool begins(std::string_view start) {
  return start.starts_with(kBegins);
}
constexpr char kZip[] = "PK\x03\x04", kBzip2[] = "BZh", kXz[] = "\xfd\x37zXZ",
               kKernels[] = "kernel_name,";

Result<void> refuse_headerless(std::string_view, LogBuilder& log) {
  return input_error(log.file() +
                     ":1: found a row of readings, allowed: the header first (nvidia-smi "
                     "writes it unless told noheader)");
}

// The order decides where two kinds recognise a file. What has words or a head of its own stands
// first. MLPerf's log and nccl-tests' table stand before the training log, among whose lines either
// may be found. Any JSON may be a Kineto trace, so that all other JSON stands before it.
constexpr auto kFormats = std::to_array<Format>({
    // Telemetry, logs and histories.
    {"NCCL inspector's documents", Form::kJson, is_nccl_inspector, read_nccl_inspector},
    {"OTLP", Form::kJson, is_otlp, read_otlp},
    {"Prometheus' answer", Form::kJson, is_prometheus_json, read_prometheus_json},
    {"Weights & Biases' history", Form::kJson, is_wandb_history, read_wandb_history},
    {"Weights & Biases' table of history", Form::kText, is_wandb_history, read_wandb_history},
    {"Trainer's state", Form::kJson, is_trainer_state, read_trainer_state},
    {"Trainer's results", Form::kJson, is_trainer_results, read_trainer_results},
    {"dmon's rows", Form::kText, is_dmon, read_dmon},
    {"rocm-smi's or amd-smi's table", Form::kText, is_amd_table, read_amd_table},
    {"rocm-smi's or amd-smi's JSON", Form::kAny, is_amd_json, read_amd_json},
    {"ipmitool's readings of power", Form::kText, is_ipmi_power, read_ipmi_power},
    {"Zeus's table", Form::kText, is_zeus_table, read_zeus_table},
    {"a table of readings", Form::kText, is_sensor_table, read_sensor_table},
    {"a table without its header", Form::kText, is_headerless_table, refuse_headerless},
    {"CharLLM-PPT's pairs", Form::kText, is_pair_list, read_pair_list},
    {"MLPerf's log", Form::kText, is_mllog, read_mllog},
    {"nccl-tests' table", Form::kText, is_nccl_tests, read_nccl_tests},
    {"a training log", Form::kText, is_step_log, read_step_log},
    {"Prometheus' text", Form::kText, is_prometheus_text, read_prometheus_text},
    {"TensorBoard's events", Form::kAny, is_event_file, read_event_file},
    {"a meter's recording", Form::kBinary, is_shunt_meter, read_shunt_meter},
    // Traces and graphs.
    {"a flight recorder's dump", Form::kAny, is_flight_dump, traces_by<read_flight_dump>},
    {"a Chakra graph", Form::kAny, looks_like_chakra, traces_by<read_chakra>},
    {"a Chakra graph in JSON", Form::kJson,
     [](std::string_view start) { return is_graph(start, {"\"workload_graph\""}); },
     traces_by<read_chakra_json>},
    {"a PyTorch execution trace", Form::kJson,
     [](std::string_view start) { return is_graph(start, {"\"schema\"", "\"nodes\""}); },
     traces_by<read_execution_trace>},
    {"Primus' pipeline dump", Form::kJson,
     [](std::string_view start) { return is_graph(start, {"\"fwd_start\""}); },
     traces_by<read_primus>},
    {"MegaScan's timeline", Form::kJson,
     [](std::string_view start) { return is_graph(start, {"\"iteration\"", "\"ph\""}); },
     traces_by<read_megascan>},
    {"a result of rocprofv3", Form::kJson, is_rocprof, traces_by<read_rocprof>},
    // Not read here, and not to be taken for a Kineto trace.
    {"a timeline of operations; analyze it by itself", Form::kJson, is_operations, {}},
    {"a trace that ergometer draws for Perfetto; --trace FILE.kineto.json writes one to analyze",
     Form::kJson,
     is_drawn_trace,
     {}},
    {"a Kineto trace", Form::kJson, [](std::string_view) { return true; }, traces_by<read_kineto>},
    // Known and not read.
    {"a zip archive; unpack it first", Form::kAny, begins<kZip>, {}},
    {"packed by bzip2; unpack it first", Form::kAny, begins<kBzip2>, {}},
    {"packed by xz; unpack it first", Form::kAny, begins<kXz>, {}},
    {"a table of kernels that CharLLM-PPT's scripts derived from traces: without times; give the "
     "traces",
     Form::kText,
     begins<kKernels>,
     {}},
});

}  // namespace

Form form_of(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && may_be_json(text.substr(first))) return Form::kJson;
  const bool binary = text.substr(0, kHeadBytes).find('\0') != std::string_view::npos;
  return binary ? Form::kBinary : Form::kText;
}

std::span<const Format> formats() { return kFormats; }

const Format* format_of(std::string_view start) {
  return format_of(start, form_of(without_mark(start)));
}

const Format* format_of(std::string_view start, Form form) {
  start = without_mark(start);
  const auto* const found = std::ranges::find_if(kFormats, [&](const Format& it) {
    return (it.form == form || it.form == Form::kAny) && it.recognises(start);
  });
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace ergometer::importer
