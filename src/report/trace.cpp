#include "report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "base/json_writer.h"
#include "base/output_file.h"
#include "report/job_view.h"
#include "report/trace_counters.h"
#include "workload/workload.h"

// The events are written one by one; only an index of the pipeline messages is kept. A kernel that
// starts when another of its stream ends shares its nanosecond with it, so tracks never overlap and
// Perfetto need not nest.

namespace ergometer::report {
namespace {

constexpr std::array<std::string_view, workload::kStreamCount> kStreamNames = {
    "compute",       "tensor parallel",  "context parallel", "expert parallel",
    "data parallel", "pipeline forward", "pipeline backward"};

std::string microseconds(int64_t ns) { return trace_microseconds(ns); }

/// Collects events, each on a line, with the commas that JSON wants between them.
class EventList {
 public:
  explicit EventList(base::OutputFile& file) : file_(file) {}
  void add(const std::string& event) {
    file_.write(first_ ? "\n" : ",\n");
    file_.write(event);
    first_ = false;
  }

 private:
  base::OutputFile& file_;
  bool first_ = true;
};

std::string process_label(int64_t rank, const JobView& job) {
  std::string label = fmt::format("rank {}", rank);
  if (job.stage_ranks() > 0 && job.pp > 1)
    label += fmt::format(", stage {}", rank / job.stage_ranks());
  if (job.gpus_per_node > 0 && job.nodes > 1) label += fmt::format(", node {}", job.node_of(rank));
  return label;
}

void add_names(EventList& events, const run::Run& run, const JobView& job) {
  std::map<int64_t, std::vector<bool>> streams;  // by rank: which streams have kernels
  for (const run::Kernel& kernel : run.kernels) {
    auto& used = streams[kernel.rank];
    const auto index = static_cast<size_t>(std::max(kernel.stream, 0));
    if (used.size() <= index) used.resize(index + 1);
    used[index] = true;
  }
  for (const run::Telemetry& reading : run.telemetry) streams[reading.rank];
  for (const auto& [rank, used] : streams) {
    events.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})",
                           rank, base::json_quote(process_label(rank, job))));
    events.add(fmt::format(
        R"({{"ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}}}})", rank));
    for (size_t stream = 0; stream < used.size(); ++stream) {
      if (!used[stream]) continue;
      events.add(fmt::format(
          R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", rank,
          stream, stream_name(static_cast<int32_t>(stream))));
      events.add(fmt::format(
          R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
          rank, stream, stream));
    }
  }
}

std::string arguments(const run::Kernel& kernel) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    out += fmt::format(R"({}"{}":{})", out.empty() ? "" : ",", name, value);
  };
  if (kernel.micro_batch >= 0) add("micro_batch", std::to_string(kernel.micro_batch));
  if (kernel.chunk >= 0) add("chunk", std::to_string(kernel.chunk));
  if (kernel.layer >= 0) add("layer", std::to_string(kernel.layer));
  if (kernel.flops > 0) add("flops", base::shortest(kernel.flops));
  if (kernel.bytes > 0) add("bytes", base::shortest(kernel.bytes));
  if (kernel.comm_bytes > 0) add("comm_bytes", base::shortest(kernel.comm_bytes));
  return out;
}

void add_kernel(EventList& events, const run::Kernel& kernel) {
  events.add(fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":{},"args":{{{}}}}})",
      kernel.rank, kernel.stream, microseconds(kernel.start_ns), microseconds(kernel.duration_ns),
      base::json_quote(kernel.name), base::json_quote(kernel.category), arguments(kernel)));
}

// --- arrows from sends to receives

/// One message: whether it is an activation, the sending rank, the micro batch and the sender's
/// chunk.
using Message = std::tuple<bool, int64_t, int64_t, int64_t>;

/// By name, not by stream: a send and a receive of one direction may run on two streams.
bool is_forward(const run::Kernel& kernel) {
  return kernel.name.find("_forward") != std::string::npos;
}

/// Who sent what this kernel receives. The last stage's forward output goes on to the first stage's
/// next chunk, and its gradient comes back the same way.
Message sender_of(const run::Kernel& receive, const JobView& job) {
  const int64_t ranks = job.stage_ranks(), stage = receive.rank / ranks;
  const int64_t chunk = std::max<int64_t>(receive.chunk, 0);
  const int64_t step = is_forward(receive) ? -1 : 1;
  const int64_t wrap = stage + step < 0 ? 1 : stage + step >= job.pp ? -1 : 0;
  const int64_t sender = receive.rank + (step + wrap * job.pp) * ranks;
  return {is_forward(receive), sender, receive.micro_batch, chunk + (wrap == 0 ? 0 : step)};
}

void add_arrow(EventList& events, const run::Kernel& kernel, size_t id, bool start) {
  // An arrow binds to the slice that holds its time and must not lead back in time, though a
  // receive is often posted before its send: from the first moment of the one to the last of the
  // other.
  const int64_t at =
      start ? kernel.start_ns
            : kernel.start_ns + std::max<int64_t>(0, static_cast<int64_t>(kernel.duration_ns) - 1);
  events.add(fmt::format(
      R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{},"name":"message","cat":"pipeline"{}}})",
      start ? 's' : 'f', id, kernel.rank, kernel.stream, microseconds(at),
      start ? "" : R"(,"bp":"e")"));
}

void add_arrows(EventList& events, const run::Run& run, const JobView& job) {
  if (job.pp < 2 || job.stage_ranks() == 0) return;
  const auto is_message = [](const run::Kernel& kernel, std::string_view what) {
    return kernel.category == "send_recv" && kernel.name.find(what) != std::string::npos;
  };
  std::map<Message, const run::Kernel*> sends;
  for (const run::Kernel& kernel : run.kernels) {
    if (is_message(kernel, "send"))
      sends[{is_forward(kernel), kernel.rank, kernel.micro_batch,
             std::max<int64_t>(kernel.chunk, 0)}] = &kernel;
  }
  size_t id = 0;
  for (const run::Kernel& kernel : run.kernels) {
    if (!is_message(kernel, "recv")) continue;
    const auto send = sends.find(sender_of(kernel, job));
    if (send == sends.end()) continue;
    ++id;
    add_arrow(events, *send->second, id, true);
    add_arrow(events, kernel, id, false);
  }
}

/// A process number that no rank has.
int64_t cluster_process(const run::Run& run, const JobView& job) {
  int64_t free = job.gpus;
  for (const run::Kernel& kernel : run.kernels) free = std::max(free, kernel.rank + 1);
  for (const run::Telemetry& reading : run.telemetry) free = std::max(free, reading.rank + 1);
  return free;
}

}  // namespace

std::string_view stream_name(int32_t stream) {
  return stream >= 0 && stream < workload::kStreamCount ? kStreamNames[static_cast<size_t>(stream)]
                                                        : "stream";
}

base::Result<void> write_trace(const run::Run& run, const std::string& path) {
  ERGOMETER_TRY(base::check_replaces(path, "a trace in JSON", "{"));
  ERGOMETER_ASSIGN(base::OutputFile file, base::OutputFile::open(path));
  const JobView job = view_job(run.job_json);
  file.write(fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"tool\":\"ergometer\",\"source\":{},\"model\":"
      "{},"
      "\"cluster\":{}}},\n\"traceEvents\":[",
      base::json_quote(run.source), base::json_quote(job.model), base::json_quote(job.cluster)));
  EventList events(file);
  add_names(events, run, job);
  for (const run::Kernel& kernel : run.kernels) add_kernel(events, kernel);
  add_arrows(events, run, job);
  add_counters(run, cluster_process(run, job), [&](const std::string& e) { events.add(e); });
  file.write("\n]}\n");
  return file.commit();
}

}  // namespace ergometer::report
