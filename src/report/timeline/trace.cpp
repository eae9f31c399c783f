#include "report/timeline/trace.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "report/summary/job_view.h"
#include "report/timeline/trace_counters.h"
#include "report/timeline/trace_file.h"
#include "report/timeline/trace_parents.h"
#include "workload/workload.h"

// The kernels come twice: the first time for which streams every rank has and for what kernels lie
// in, which stands at the file's beginning, and for an index of the pipeline messages; the second
// time each is written and forgotten. A kernel that starts when another of its stream ends shares
// its nanosecond with it, so tracks never overlap; what they lie in comes before them in the file,
// so that Perfetto nests them although both begin at the same time.

namespace ergometer::report {
namespace {

constexpr std::array<std::string_view, workload::kStreamCount> kStreamNames = {
    "compute",          "tensor parallel",   "context parallel", "expert parallel", "data parallel",
    "pipeline forward", "pipeline backward", "vocabulary",       "host copies"};

/// Collects events, each on a line, with the commas that JSON wants between them.
class EventList {
 public:
  explicit EventList(TraceFile& file) : file_(file) {}
  void add(std::string_view event) {
    file_.write(first_ ? "\n" : ",\n");
    file_.write(event);
    first_ = false;
  }

 private:
  TraceFile& file_;
  bool first_ = true;
};

std::string process_label(int64_t rank, const run::Run& run, const JobView& job) {
  std::string label = fmt::format("rank {}", rank);
  if (job.stage_ranks() > 0 && job.pp > 1)
    label += fmt::format(", stage {}", rank / job.stage_ranks());
  const auto row = std::ranges::find(run.ranks, rank, &run::Rank::rank);
  if (row != run.ranks.end() && job.nodes > 1) label += fmt::format(", node {}", row->node);
  return label;
}

// --- what is known of all kernels before the first is written

/// One message: whether it is an activation, the sending rank, the micro batch and the sender's
/// chunk.
using Message = std::tuple<bool, int64_t, int64_t, int64_t>;

/// An end of a message on its way.
struct MessageEnd {
  Message message;
  int64_t rank;
  int32_t stream;
  int64_t at_ns;
};

struct KernelIndex {
  std::map<int64_t, std::vector<bool>> streams;  ///< by rank: which have kernels
  std::vector<MessageEnd> sends, receives;
  ParentSlices parents;
};

/// By name, not by stream: a send and a receive of one direction may run on two streams.
bool is_forward(const run::Kernel& kernel) {
  return kernel.name.find("_forward") != std::string::npos;
}

/// Who sent what this kernel receives. The last stage's forward output goes on to the first stage's
/// next chunk, and its gradient comes back the same way; "turned" chunks lie in reverse.
Message sender_of(const run::Kernel& receive, const JobView& job) {
  const int64_t ranks = job.stage_ranks(), stage = receive.rank / ranks;
  const int64_t chunk = std::max<int64_t>(receive.chunk, 0);
  const bool turned = receive.name.find("_turned") != std::string::npos;
  const int64_t step = is_forward(receive) != turned ? -1 : 1;
  const int64_t wrap = stage + step < 0 ? 1 : stage + step >= job.pp ? -1 : 0;
  const int64_t sender = receive.rank + (step + wrap * job.pp) * ranks;
  return {is_forward(receive), sender, receive.micro_batch, chunk + (wrap == 0 ? 0 : step)};
}

void note_message(const run::Kernel& kernel, const JobView& job, KernelIndex& index) {
  if (kernel.category != "send_recv") return;
  const auto is = [&](std::string_view what) { return kernel.name.find(what) != kernel.name.npos; };
  // An arrow binds to the slice that holds its time and must not lead back in time, though a
  // receive is often posted before its send: from the first moment of the one to the last of the
  // other.
  if (is("send"))
    index.sends.push_back(
        {{is_forward(kernel), kernel.rank, kernel.micro_batch, std::max<int64_t>(kernel.chunk, 0)},
         kernel.rank,
         kernel.stream,
         kernel.start_ns});
  if (is("recv"))
    index.receives.push_back({sender_of(kernel, job), kernel.rank, kernel.stream,
                              kernel.start_ns + std::max<int64_t>(0, kernel.duration_ns - 1)});
}

KernelIndex index_of(const KernelSource& kernels, const JobView& job) {
  KernelIndex index;
  const bool has_messages = job.pp >= 2 && job.stage_ranks() > 0;
  std::vector<bool>* used = nullptr;  // of the last kernel's rank
  int64_t rank = -1;
  kernels([&](const run::Kernel& kernel) {
    if (used == nullptr || kernel.rank != rank) used = &index.streams[rank = kernel.rank];
    const auto stream = static_cast<size_t>(std::max(kernel.stream, 0));
    if (used->size() <= stream) used->resize(stream + 1);
    (*used)[stream] = true;
    index.parents.add(kernel);
    if (has_messages) note_message(kernel, job, index);
  });
  std::ranges::stable_sort(index.sends,
                           [](const auto& a, const auto& b) { return a.message < b.message; });
  return index;
}

// --- events

void add_names(EventList& events, const std::map<int64_t, std::vector<bool>>& streams,
               const run::Run& run, const JobView& job) {
  for (const auto& [rank, used] : streams) {
    events.add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})",
                           rank, base::json_quote(process_label(rank, run, job))));
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

void add_parents(EventList& events, const KernelIndex& index, double step_s) {
  const auto step_ns = static_cast<int64_t>(std::llround(step_s * 1e9));
  for (const auto& [rank, streams] : index.streams)
    for (const ParentSlice& slice : index.parents.of_rank(rank, step_ns))
      events.add(fmt::format(
          R"({{"ph":"X","pid":{},"tid":0,"ts":{},"dur":{},"name":"{}","cat":"parent"}})", rank,
          trace_microseconds(slice.start_ns), trace_microseconds(slice.end_ns - slice.start_ns),
          slice.name));
}

/// Writes kernels as events. What their operators are called is quoted once.
class KernelWriter {
 public:
  explicit KernelWriter(EventList& events) : events_(events) {}

  void add(const run::Kernel& kernel) {
    line_.clear();
    const auto out = std::back_inserter(line_);
    fmt::format_to(out, FMT_COMPILE(R"({{"ph":"X","pid":{},"tid":{},"ts":)"), kernel.rank,
                   kernel.stream);
    append_microseconds(kernel.start_ns, line_);
    line_ += R"(,"dur":)";
    append_microseconds(kernel.duration_ns, line_);
    line_.append(R"(,"name":)").append(quoted(kernel.name));
    line_.append(R"(,"cat":)").append(quoted(kernel.category)).append(R"(,"args":{)");
    add_arguments(kernel);
    line_ += "}}";
    events_.add(line_);
  }

 private:
  const std::string& quoted(const std::string& text) {
    const auto [place, is_new] = quoted_.try_emplace(text);
    if (is_new) place->second = base::json_quote(text);
    return place->second;
  }
  void add_arguments(const run::Kernel& kernel) {
    const size_t start = line_.size();
    const auto name = [&](std::string_view word) {
      if (line_.size() > start) line_ += ',';
      line_.append("\"").append(word).append("\":");
    };
    const auto place = [&](std::string_view word, int64_t number) {
      if (number < 0) return;
      name(word);
      fmt::format_to(std::back_inserter(line_), FMT_COMPILE("{}"), number);
    };
    const auto amount = [&](std::string_view word, double number) {
      if (number <= 0) return;
      name(word);
      line_ += base::shortest(number);
    };
    place("micro_batch", kernel.micro_batch);
    place("chunk", kernel.chunk);
    place("layer", kernel.layer);
    amount("flops", kernel.flops);
    amount("bytes", kernel.bytes);
    amount("comm_bytes", kernel.comm_bytes);
  }

  EventList& events_;
  std::string line_;
  std::unordered_map<std::string, std::string> quoted_;
};

// --- arrows from sends to receives

void add_arrow(EventList& events, const MessageEnd& end, size_t id, bool start) {
  events.add(fmt::format(
      R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{},"name":"message","cat":"pipeline"{}}})",
      start ? 's' : 'f', id, end.rank, end.stream, trace_microseconds(end.at_ns),
      start ? "" : R"(,"bp":"e")"));
}

void add_arrows(EventList& events, const KernelIndex& index) {
  size_t id = 0;
  for (const MessageEnd& receive : index.receives) {
    // The last of those that are called the same.
    const auto behind = std::upper_bound(
        index.sends.begin(), index.sends.end(), receive.message,
        [](const Message& message, const MessageEnd& send) { return message < send.message; });
    if (behind == index.sends.begin() || std::prev(behind)->message != receive.message) continue;
    ++id;
    add_arrow(events, *std::prev(behind), id, true);
    add_arrow(events, receive, id, false);
  }
}

/// A process number that no rank has.
int64_t cluster_process(const std::map<int64_t, std::vector<bool>>& streams, const JobView& job) {
  return streams.empty() ? job.gpus : std::max(job.gpus, streams.rbegin()->first + 1);
}

}  // namespace

std::string_view stream_name(int32_t stream) {
  return stream >= 0 && stream < workload::kStreamCount ? kStreamNames[static_cast<size_t>(stream)]
                                                        : "stream";
}

Result<void> write_trace(const run::Run& run, const std::string& path) {
  const auto each = [&](const auto& use) {
    for (const run::Kernel& kernel : run.kernels) use(kernel);
  };
  return write_trace(run, each, path);
}

Result<void> write_trace(const run::Run& run, const KernelSource& kernels,
                         const std::string& path) {
  ERGOMETER_ASSIGN(TraceFile file, TraceFile::open(path));
  const JobView job = view_job(run.job_json);
  file.write(fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"tool\":\"ergometer\",\"source\":{},\"model\":"
      "{},"
      "\"cluster\":{}}},\n\"traceEvents\":[",
      base::json_quote(run.source), base::json_quote(job.model), base::json_quote(job.cluster)));
  EventList events(file);
  KernelIndex index = index_of(kernels, job);
  if (index.streams.empty())
    for (const run::Telemetry& reading : run.telemetry) index.streams[reading.rank];
  add_names(events, index.streams, run, job);
  add_parents(events, index, run.performance.step_time_s);
  KernelWriter writer(events);
  kernels([&](const run::Kernel& kernel) { writer.add(kernel); });
  add_arrows(events, index);
  // A Run may hold sensors of ranks whose kernels it does not: what else is asked for of it does
  // not change the trace.
  add_counters(
      run, cluster_process(index.streams, job),
      [&](int64_t rank) { return index.streams.contains(rank); },
      [&](const std::string& event) { events.add(event); });
  file.write("\n]}\n");
  return file.commit();
}

}  // namespace ergometer::report
