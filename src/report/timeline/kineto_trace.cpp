#include "report/timeline/kineto_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/simulated_traces.h"
#include "analysis/work/collective_kind.h"
#include "base/json_writer.h"
#include "report/summary/job_view.h"
#include "report/timeline/trace_counters.h"
#include "report/timeline/trace_file.h"

namespace ergometer::report {
namespace {

using analysis::CollectiveKind;
using base::json_quote;

constexpr std::string_view kEnding = ".kineto.json";
constexpr int kProcess = 1, kThread = 1;  ///< of the training program, on the CPU

/// What PyTorch calls it.
std::string_view collective_word(CollectiveKind kind, std::string_view name) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "allreduce";
    case CollectiveKind::kAllGather: return "_allgather_base";
    case CollectiveKind::kReduceScatter: return "_reduce_scatter_base";
    case CollectiveKind::kAllToAll: return "all_to_allv";
    default: return name;
  }
}

/// Elements that a rank gives and gets, of bytes that a whole gathered or reduced buffer has.
std::pair<int64_t, int64_t> elements_of(const run::Collective& collective, CollectiveKind kind) {
  const int64_t whole = collective.in_elements;
  const int64_t part = collective.group_size > 0 ? whole / collective.group_size : -1;
  if (kind == CollectiveKind::kAllGather) return {part, whole};
  if (kind == CollectiveKind::kReduceScatter) return {whole, part};
  return {whole, whole};
}

/// Who takes part, where the layout alone says it.
std::vector<int64_t> ranks_of(const run::Collective& collective, int64_t rank,
                              const analysis::RankLayout& job) {
  const auto spaced = [](int64_t first, int64_t step, int64_t count) {
    std::vector<int64_t> ranks;
    for (int64_t i = 0; i < count; ++i) ranks.push_back(first + i * step);
    return ranks;
  };
  const std::string& what = collective.description;
  const int64_t stage = rank / job.stage_ranks(), in_tensor = rank % job.tp;
  if (what == "tp") return spaced(rank - in_tensor, 1, job.tp);
  if (what == "cp")
    return spaced(rank / (job.tp * job.cp) * job.tp * job.cp + in_tensor, job.tp, job.cp);
  if (what == "dp") return spaced(stage * job.stage_ranks() + in_tensor, job.tp, job.cp * job.dp);
  if (what == "world") return spaced(0, 1, job.stage_ranks() * job.pp);
  const int64_t etp = job.expert_tp(), experts = job.expert_ranks();
  if (what == "etp") return spaced(rank / etp * etp, 1, etp);
  if (what == "ep") return spaced(rank / experts * experts + rank % etp, etp, job.ep);
  if (what == "edp")
    return spaced(stage * job.stage_ranks() + rank % job.stage_ranks() % experts, experts,
                  job.stage_ranks() / experts);
  return {};
}

/// When a rank's host was late: starts of kernels before which neither a kernel ran nor one waited
/// for other ranks. What is left of a rank's time is the host's.
std::set<int64_t> late_launches(std::vector<run::Kernel> kernels) {
  std::ranges::sort(kernels, {}, &run::Kernel::start_ns);
  std::set<int64_t> late;
  int64_t busy_until = 0;
  for (const run::Kernel& kernel : kernels) {
    if (kernel.start_ns > busy_until) late.insert(kernel.start_ns);
    busy_until = std::max(busy_until, kernel.start_ns + kernel.duration_ns);
  }
  return late;
}

class KinetoFile {
 public:
  KinetoFile(TraceFile& file, const std::string& gpu, const analysis::RankLayout& layout,
             std::set<int64_t> late)
      : file_(file), gpu_(gpu), layout_(layout), late_(std::move(late)) {}

  void add(const run::RankTrace& trace, double step_s) {
    file_.write(fmt::format(
        "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceName\":\"a prediction of "
        "Ergometer; launches lie as early as can be where the GPU does not wait for "
        "them\",\n\"deviceProperties\":[{{\"id\":0,"
        "\"name\":{}}}],\n\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{},\"world_size\":{}}"
        "},"
        "\n\"baseTimeNanoseconds\":0,\n\"traceEvents\":[\n",
        json_quote(gpu_), trace.rank, trace.world_size));
    const auto step_ns = static_cast<int64_t>(std::llround(step_s * 1e9));
    complete("user_annotation", "ProfilerStep#0", kProcess, kThread, 0, step_ns, "");
    complete("gpu_user_annotation", "ProfilerStep#0", 0, 0, 0, step_ns, "");
    for (const run::Range& range : trace.ranges)
      complete("gpu_user_annotation", trace.names[range.name], 0, range.thread, range.start_ns,
               range.duration_ns, "");
    std::vector<size_t> order(trace.events.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t x, size_t y) {
      return trace.events[x].start_ns < trace.events[y].start_ns;
    });
    for (size_t i = 0; i < order.size(); ++i) add_event(trace, trace.events[order[i]], i);
    file_.write("\n]}\n");
  }

 private:
  void complete(std::string_view category, std::string_view name, int64_t process, int64_t thread,
                int64_t start_ns, int64_t duration_ns, const std::string& arguments) {
    file_.write(fmt::format(
        R"({}{{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        first_ ? "" : ",\n", category, json_quote(name), process, thread,
        trace_microseconds(start_ns), trace_microseconds(duration_ns), arguments));
    first_ = false;
  }

  void add_event(const run::RankTrace& trace, const run::GpuEvent& event, size_t index) {
    constexpr int64_t kApartNs = 2, kLongNs = 1;
    const auto id = static_cast<int64_t>(index) + 1;
    called_ns_ = late_.contains(event.start_ns) ? event.start_ns
                                                : std::min(called_ns_ + kApartNs, event.start_ns);
    const int64_t call_ns = called_ns_;
    const std::string join = fmt::format(R"("External id":{0},"correlation":{0})", id);
    const bool talks = event.collective != run::GpuEvent::kNone;
    const std::string known = talks ? collective(trace, trace.collectives[event.collective]) : "";
    const std::string& name = trace.names[event.name];
    complete("cpu_op", talks ? "record_param_comms" : operator_name(name), kProcess, kThread,
             call_ns, kLongNs, fmt::format(R"("External id":{}{})", id, known));
    complete("cuda_runtime", "cudaLaunchKernel", kProcess, kThread, call_ns, kLongNs, join);
    arrow('s', id, kProcess, kThread, call_ns);
    complete(event.kind == run::GpuClass::kMemory ? "gpu_memcpy" : "kernel", name, 0, event.stream,
             event.start_ns, event.duration_ns,
             fmt::format(R"({},"device":0,"stream":{}{})", join, event.stream, known));
    arrow('f', id, 0, event.stream, event.start_ns);
  }

  void arrow(char phase, int64_t id, int64_t process, int64_t thread, int64_t at_ns) {
    file_.write(fmt::format(
        R"(,{}{{"ph":"{}","id":{},"pid":{},"tid":{},"ts":{},"cat":"ac2g","name":"ac2g"{}}})", '\n',
        phase, id, process, thread, trace_microseconds(at_ns), phase == 'f' ? R"(,"bp":"e")" : ""));
  }

  /// "sm90_xmma_gemm [qkv]": the operator.
  static std::string_view operator_name(std::string_view kernel) {
    const size_t from = kernel.rfind('[');
    return from == std::string_view::npos || !kernel.ends_with(']')
               ? kernel
               : kernel.substr(from + 1, kernel.size() - from - 2);
  }

  std::string collective(const run::RankTrace& trace, const run::Collective& it) const {
    const CollectiveKind kind = analysis::collective_kind(it.name);
    const auto [in, out] = elements_of(it, kind);
    std::string text =
        fmt::format(R"(,"Collective name":{},"In msg nelems":{},"Out msg nelems":{},"dtype":{})",
                    json_quote(collective_word(kind, it.name)), in, out, json_quote(it.dtype));
    if (it.group_size > 0) text += fmt::format(R"(,"Group size":{})", it.group_size);
    text += fmt::format(R"(,"Process Group Name":{},"Process Group Description":{})",
                        json_quote(it.group), json_quote(it.description));
    const std::vector<int64_t> ranks = ranks_of(it, trace.rank, layout_);
    if (!ranks.empty())
      text += fmt::format(R"(,"Process Group Ranks":"[{}]")", fmt::join(ranks, ", "));
    return text;
  }

  TraceFile& file_;
  const std::string& gpu_;
  const analysis::RankLayout& layout_;
  std::set<int64_t> late_;
  int64_t called_ns_ = 0;  ///< when the host launched the last kernel
  bool first_ = true;
};

std::string path_of(const std::string& path, int64_t rank) {
  const size_t at = path.rfind(kEnding);
  return path.substr(0, at) + fmt::format(".rank-{}", rank) + path.substr(at);
}

Result<void> write_rank(const run::Run& run, std::vector<run::Kernel> kernels, const JobView& job,
                        const std::string& path) {
  const analysis::RankLayout layout{job.tp, job.cp, job.dp, job.pp, job.ep, job.etp};
  const std::set<int64_t> late = late_launches(kernels);
  run::Run one;
  one.performance = run.performance;
  one.kernels = std::move(kernels);
  const std::vector<run::RankTrace> traces = analysis::simulated_traces(one, layout);
  ERGOMETER_ASSIGN(TraceFile file, TraceFile::open(path));
  for (const run::RankTrace& trace : traces)
    KinetoFile(file, job.gpu, layout, late).add(trace, run.performance.step_time_s);
  return file.commit();
}

}  // namespace

bool is_kineto_path(const std::string& path) {
  return path.ends_with(kEnding) || path.ends_with(std::string(kEnding) + ".gz");
}

Result<std::vector<std::string>> write_kineto(const run::Run& run, const KernelSource& kernels,
                                              const std::string& path) {
  const JobView job = view_job(run.job_json);
  std::vector<int64_t> ranks;
  kernels([&](const run::Kernel& kernel) {
    if (ranks.empty() || ranks.back() != kernel.rank) ranks.push_back(kernel.rank);
  });
  std::vector<std::string> files;
  std::vector<run::Kernel> of_rank;
  Result<void> written;
  const auto flush = [&] {
    if (of_rank.empty() || !written) return;
    files.push_back(ranks.size() == 1 ? path : path_of(path, of_rank.front().rank));
    written = write_rank(run, std::exchange(of_rank, {}), job, files.back());
  };
  kernels([&](const run::Kernel& kernel) {
    if (!of_rank.empty() && of_rank.front().rank != kernel.rank) flush();
    of_rank.push_back(kernel);
  });
  flush();
  if (!written) return tl::unexpected(written.error());
  return files;
}

}  // namespace ergometer::report
