#include "import/rocprof/process.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/trace/trace_builder.h"

namespace ergometer::importer {
namespace {

/// "MEMORY_COPY_HOST_TO_DEVICE" as other profilers call it.
std::string copy_name(const std::string& operation) {
  if (operation == "MEMORY_COPY_HOST_TO_DEVICE") return "Memcpy HtoD (Host -> Device)";
  if (operation == "MEMORY_COPY_DEVICE_TO_HOST") return "Memcpy DtoH (Device -> Host)";
  if (operation == "MEMORY_COPY_DEVICE_TO_DEVICE") return "Memcpy DtoD (Device -> Device)";
  if (operation == "MEMORY_COPY_HOST_TO_HOST") return "Memcpy HtoH (Host -> Host)";
  return "Memcpy " + operation;
}

/// rocprofv3 writes 0 where the GPU gave no time.
std::optional<Span> record_span(const RocprofRecord& record, std::string_view what,
                                DropCounts& dropped) {
  if (record.start_ns == 0) {
    dropped.add(fmt::format("{} whose start is not known (0)", what));
    return std::nullopt;
  }
  return read_span(record.start_ns, record.end_ns, what, dropped);
}

}  // namespace

void RocprofProcess::add(std::string_view section, const RocprofRecord& record,
                         DropCounts& dropped) {
  const bool kernel = section == "kernel_dispatch", copy = section == "memory_copy";
  std::vector<Call>* const calls = section == "hip_api"      ? &launches_
                                   : section == "rccl_api"   ? &collectives_
                                   : section == "marker_api" ? &markers_
                                                             : nullptr;
  if (!kernel && !copy && calls == nullptr)
    return dropped.add(fmt::format("{}: not a GPU event", section));
  const auto span = record_span(record, kernel ? "kernel" : copy ? "copy" : "call", dropped);
  if (!span) return;
  const int64_t correlation = record.correlation.value_or(-1);
  if (calls != nullptr) {
    calls->push_back({*span, correlation, record.thread.value_or(-1), small(record.kind),
                      small(record.operation)});
    return;
  }
  const auto agent = kernel ? record.agent : record.target_agent;
  if (!agent) return dropped.add(fmt::format("{} that does not say its agent", section));
  work_.push_back({*span, correlation, (kernel ? record.kernel : record.operation).value_or(-1),
                   *agent, record.source_agent.value_or(-1),
                   small(record.stream ? record.stream : record.queue),
                   kernel ? -1 : std::max(small(record.kind), 0)});
}

std::string RocprofProcess::operation_name(int64_t kind, int64_t operation) const {
  const bool known = kind >= 0 && kind < static_cast<int64_t>(operations.size()) &&
                     operation >= 0 &&
                     operation < static_cast<int64_t>(operations[static_cast<size_t>(kind)].size());
  return known ? operations[static_cast<size_t>(kind)][static_cast<size_t>(operation)]
               : fmt::format("operation {} of kind {}", operation, kind);
}

/// A copy belongs to the GPU it goes to, else to the one it comes from.
int64_t RocprofProcess::gpu_of(const Work& work) const {
  if (work.kind < 0) return work.agent;
  const auto is_gpu = [&](int64_t handle) {
    const auto found = agents.find(handle);
    return found != agents.end() && found->second.gpu;
  };
  return !is_gpu(work.agent) && is_gpu(work.other_agent) ? work.other_agent : work.agent;
}

std::map<int64_t, TraceBuilder> RocprofProcess::place_work() {
  std::map<int64_t, TraceBuilder> gpus;
  for (const Work& work : work_) {
    const int64_t handle = gpu_of(work);
    TraceBuilder& gpu = gpus[handle];
    const auto agent = agents.find(handle);
    const auto symbol = kernels.find(work.what);
    const bool kernel = work.kind < 0;
    const std::string name = !kernel ? copy_name(operation_name(work.kind, work.what))
                             : symbol != kernels.end()
                                 ? symbol->second
                                 : fmt::format("kernel {} without a symbol", work.what);
    gpu.trace.events.push_back({.start_ns = work.span.start_ns,
                                .duration_ns = work.span.duration_ns,
                                .correlation = work.correlation,
                                .name = gpu.name(name),
                                .device = agent != agents.end() ? agent->second.index : -1,
                                .stream = work.stream,
                                .kind = kernel ? class_of_kernel(name) : run::GpuClass::kMemory});
  }
  work_ = {};
  return gpus;
}

/// Of calls that put nothing on this GPU none are kept, for a process may have many GPUs.
void RocprofProcess::add_launches(TraceBuilder& gpu) const {
  const std::vector<int64_t> wanted = gpu.correlations();
  for (const Call& call : launches_)
    if (std::ranges::binary_search(wanted, call.correlation))
      gpu.add_launch(call.correlation, call.thread, call.span);
}

void RocprofProcess::add_ranges(std::map<int64_t, TraceBuilder>& gpus, DropCounts& dropped) const {
  for (const Call& call : markers_) {
    const std::string operation = operation_name(call.kind, call.operation);
    if (operation.find("Range") == std::string::npos) {
      dropped.add(fmt::format("{}: not a range", operation));
      continue;
    }
    const auto message = messages.find(call.correlation);
    for (auto& [handle, gpu] : gpus)
      gpu.add_range(message != messages.end() ? message->second : operation, call.thread,
                    call.span);
  }
  for (const Call& call : collectives_)
    for (auto& [handle, gpu] : gpus)
      gpu.add_call({.name = operation_name(call.kind, call.operation),
                    .thread = call.thread,
                    .start_ns = call.span.start_ns,
                    .end_ns = call.span.end_ns(),
                    .group = ""});
}

std::vector<run::RankTrace> RocprofProcess::finish(DropCounts& dropped) {
  std::map<int64_t, TraceBuilder> gpus = place_work();
  add_ranges(gpus, dropped);
  std::vector<run::RankTrace> traces;
  for (auto& [handle, gpu] : gpus) {
    add_launches(gpu);
    const auto agent = agents.find(handle);
    if (agent != agents.end()) gpu.trace.gpu = agent->second.name;
    traces.push_back(gpu.finish());
  }
  return traces;
}

}  // namespace ergometer::importer
