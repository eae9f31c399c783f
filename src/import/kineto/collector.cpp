#include "import/kineto/collector.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/collection.h"
#include "base/text.h"
#include "import/text/decimal.h"
#include "import/text/json_text.h"
#include "run/operator_tree.h"

namespace ergometer::importer {
namespace {

constexpr std::string_view kStepMark = "ProfilerStep#", kCommOp = "record_param_comms";

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return base::lower(x) == base::lower(y); });
}

bool is_memory(std::string_view category) {
  for (const std::string_view known : {"gpu_memcpy", "gpu_memset", "memcpy", "memset"})
    if (equal_ignoring_case(category, known)) return true;
  return false;
}

int64_t whole_or(std::string_view text, int64_t fallback) {
  return text.empty() ? fallback : whole_number(text).value_or(fallback);
}

/// Some writers give every number of a list a line of its own.
std::string_view on_one_line(std::string_view list, std::string& scratch) {
  if (list.find('\n') == std::string_view::npos) return list;
  scratch.clear();
  for (const char c : list) {
    if (c <= ' ' && c >= 0) continue;
    scratch += c;
    if (c == ',') scratch += ' ';
  }
  return scratch;
}

/// "7" and "stream 7" alike.
int32_t stream_number(std::string_view text) {
  const size_t digits = text.find_last_not_of("0123456789");
  const std::string_view number = digits == std::string_view::npos ? text : text.substr(digits + 1);
  const int64_t value = whole_or(number, -1);
  return value >= 0 && value <= INT32_MAX ? static_cast<int32_t>(value) : -1;
}

/// "ts" and "dur" of an event on the CPU; nothing where one of them makes no sense.
std::optional<Span> cpu_span(const EventText& event) {
  const auto start = nanoseconds(event.start);
  const auto duration = nanoseconds(event.duration);
  if (!start || !duration || *duration < 0 || *duration > kLargestTime - *start)
    return std::nullopt;
  return Span{*start, *duration};
}

/// The same of an event that has to be a complete one.
std::optional<Span> complete_span(const EventText& event) {
  return event.phase == "X" ? cpu_span(event) : std::nullopt;
}

/// One step marked by several threads, or by several ranks in one file, at the same time is one.
void join_marks(std::vector<run::StepMark>& steps) {
  std::vector<run::StepMark> joined;
  std::map<int64_t, size_t> latest;  // mark of a number
  for (const run::StepMark& step : steps) {
    const auto [place, is_new] = latest.try_emplace(step.number, joined.size());
    if (!is_new && step.start_ns < joined[place->second].end_ns) {
      int64_t& end_ns = joined[place->second].end_ns;
      end_ns = std::max(end_ns, step.end_ns);
    } else {
      place->second = joined.size();
      joined.push_back(step);
    }
  }
  steps = std::move(joined);
}

}  // namespace

std::string_view describe(DropReason reason) {
  switch (reason) {
    case DropReason::kNotGpu: return "not a GPU event";
    case DropReason::kNotAnObject: return "not an object";
    case DropReason::kMalformed: return "malformed JSON";
    case DropReason::kTooLarge: return "larger than 16 MiB";
    case DropReason::kNotComplete: return "GPU event that is no complete event (ph X)";
    case DropReason::kNoStart: return "GPU event without ts";
    case DropReason::kBadStart: return "GPU event whose ts is no number in range";
    case DropReason::kNoDuration: return "GPU event without dur";
    case DropReason::kBadDuration: return "GPU event whose dur is no number in range";
    case DropReason::kNegativeDuration: return "GPU event with a negative dur";
    case DropReason::kNoName: return "GPU event without a name";
    case DropReason::kCutOff: return "cut off where the file ends";
    case DropReason::kCount: break;
  }
  return "";
}

EventUse use_of_category(std::string_view category) {
  if (category.empty()) return EventUse::kNone;
  // The most frequent first: a trace has a hundred CPU events for a kernel.
  if (category == "python_function" || category == "ac2g") return EventUse::kNone;
  if (category == "cpu_op" || category == "Operator") return EventUse::kOperator;
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime" ||
      category == "hip_runtime" || category == "xpu_runtime" || category == "privateuse1_runtime")
    return EventUse::kLaunch;
  if (category == "user_annotation") return EventUse::kRange;
  if (category == "gpu_user_annotation") return EventUse::kGpuRange;
  if (equal_ignoring_case(category, "kernel") || is_memory(category)) return EventUse::kGpu;
  return EventUse::kNone;
}

bool needs_values(std::string_view operator_name) {
  // A convolution's stride, an attention's mask.
  return operator_name.find("conv") != std::string_view::npos ||
         operator_name.find("attention") != std::string_view::npos ||
         operator_name.find("attn") != std::string_view::npos;
}

void Collector::add(const EventText& event, EventUse use) {
  switch (use) {
    case EventUse::kGpu: return add_gpu(event);
    case EventUse::kLaunch: add_launch(event); break;
    case EventUse::kOperator: add_operator(event); break;
    case EventUse::kRange: add_range(event, false); break;
    case EventUse::kGpuRange: add_range(event, true); break;
    default: break;
  }
  // What was kept of it counts too: every entry of a file is either a GPU event or one of these.
  drop(DropReason::kNotGpu);
}

/// "ts" and "dur" of a GPU event; nothing, counted by reason, where one of them makes no sense.
std::optional<Span> Collector::gpu_span(const EventText& event) {
  const auto refuse = [&](DropReason reason) {
    drop(reason);
    return std::nullopt;
  };
  if (event.start.empty()) return refuse(DropReason::kNoStart);
  if (event.duration.empty()) return refuse(DropReason::kNoDuration);
  const auto start = nanoseconds(event.start);
  if (!start) return refuse(DropReason::kBadStart);
  const auto duration = nanoseconds(event.duration);
  if (!duration) return refuse(DropReason::kBadDuration);
  if (*duration < 0) return refuse(DropReason::kNegativeDuration);
  if (*duration > kLargestTime - *start) return refuse(DropReason::kBadDuration);
  return Span{*start, *duration};
}

uint32_t Collector::name_index(std::string_view escaped) {
  return index_of(unescaped(escaped, scratch_));
}

uint32_t Collector::index_of(std::string_view text) {
  if (const auto found = indices_.find(text); found != indices_.end()) return found->second;
  const auto index = static_cast<uint32_t>(texts_.size());
  indices_.emplace(texts_.emplace_back(text), index);
  return index;
}

/// A trace has few names and many kernels.
run::GpuClass Collector::class_of_name(uint32_t name) {
  if (classes_.size() <= name) classes_.resize(texts_.size());
  std::optional<run::GpuClass>& known = classes_[name];
  if (!known) known = class_of_kernel(texts_[name]);
  return *known;
}

/// A list of shapes or types as JSON. Those of hundreds of tensors at once are left out.
uint32_t Collector::list_index(std::string_view list) {
  constexpr size_t kLongest = 2048;
  const bool says_something = list.size() > 2 && list.size() <= kLongest && list.front() == '[';
  if (!says_something) return run::GpuEvent::kNone;
  return index_of(on_one_line(list, scratch_));
}

uint32_t Collector::add_collective(const EventText& event) {
  const auto text = [&](std::string_view escaped) {
    return std::string(unescaped(escaped, scratch_));
  };
  run::Collective c;
  c.name = text(event.collective);
  c.group = text(event.group);
  c.description = text(event.description);
  c.dtype = text(event.dtype);
  c.in_elements = whole_or(event.in_elements, -1);
  c.out_elements = whole_or(event.out_elements, -1);
  c.group_size = whole_or(event.group_size, -1);
  c.sequence = whole_or(event.sequence, -1);
  trace_.collectives.push_back(std::move(c));
  return static_cast<uint32_t>(trace_.collectives.size() - 1);
}

void Collector::add_gpu(const EventText& event) {
  if (event.phase != "X") return drop(DropReason::kNotComplete);
  if (event.name.empty()) return drop(DropReason::kNoName);
  const auto span = gpu_span(event);
  if (!span) return;
  run::GpuEvent gpu;
  gpu.start_ns = span->start_ns;
  gpu.duration_ns = span->duration_ns;
  gpu.name = name_index(event.name);
  gpu.kind = is_memory(event.category) ? run::GpuClass::kMemory : class_of_name(gpu.name);
  gpu.correlation = whole_or(event.correlation, -1);
  gpu.device = stream_number(event.device.empty() ? event.process : event.device);
  gpu.stream = stream_number(event.stream.empty() ? event.thread : event.stream);
  if (gpu.kind == run::GpuClass::kCommunication) {
    if (!event.collective.empty())
      gpu.collective = add_collective(event);
    else
      unnamed_.emplace_back(trace_.events.size(), whole_or(event.external_id, -1));
  }
  trace_.events.push_back(gpu);
}

void Collector::add_launch(const EventText& event) {
  run::Launch launch;
  launch.correlation = whole_or(event.correlation, -1);
  launch.external_id = whole_or(event.external_id, -1);
  const auto span = cpu_span(event);
  if (launch.correlation < 0 || !span) return;
  launch.start_ns = span->start_ns;
  launch.duration_ns = span->duration_ns;
  launch.thread = whole_or(event.thread, -1);
  launch.name = name_index(event.name);
  const bool waits = texts_[launch.name].find("Synchronize") != std::string::npos;
  (waits ? trace_.waits : trace_.launches).push_back(launch);
}

void Collector::add_step(const EventText& event, const Span& span) {
  if (!event.name.starts_with(kStepMark)) return;
  if (const auto number = whole_number(event.name.substr(kStepMark.size())))
    trace_.steps.push_back({*number, span.start_ns, span.end_ns()});
}

void Collector::add_operator(const EventText& event) {
  if (event.name == kCommOp && !event.collective.empty()) {
    const int64_t id = whole_or(event.external_id, -1);
    if (id >= 0) comm_ops_.push_back({id, add_collective(event)});
  }
  // Until 2022 ranges stood among the operators, whose names have no such sign.
  if (event.name.find('#') != std::string_view::npos) return add_range(event, false);
  const auto span = complete_span(event);
  if (!span || event.name.empty()) return;
  run::Operator op;
  op.name = name_index(event.name);
  op.shapes = list_index(event.shapes);
  op.dtypes = list_index(event.dtypes);
  if (needs_values(event.name)) op.values = list_index(event.values);
  op.external_id = whole_or(event.external_id, -1);
  op.record_function_id = whole_or(event.record_function_id, -1);
  op.sequence = whole_or(event.sequence_number, -1);
  const int64_t forward = whole_or(event.forward_thread, -1);
  if (forward > 0) op.forward_thread = forward;
  op.thread = whole_or(event.thread, -1);
  op.start_ns = span->start_ns;
  op.duration_ns = span->duration_ns;
  trace_.operators.push_back(op);
}

void Collector::add_range(const EventText& event, bool gpu) {
  const auto span = complete_span(event);
  if (!span || event.name.empty()) return;
  if (!gpu) add_step(event, *span);
  const int64_t thread = gpu ? stream_number(event.thread) : whole_or(event.thread, -1);
  trace_.ranges.push_back({name_index(event.name), gpu, thread, span->start_ns, span->duration_ns});
}

/// RCCL's kernels, and NCCL's in older traces, do not carry what they move: the call that launched
/// them leads to the operator that does.
void Collector::join_collectives() {
  std::ranges::stable_sort(comm_ops_, {}, &CommOp::external_id);
  const auto op_of = [&](int64_t external_id) {
    const auto found =
        std::lower_bound(comm_ops_.begin(), comm_ops_.end(), external_id,
                         [](const CommOp& op, int64_t wanted) { return op.external_id < wanted; });
    return found != comm_ops_.end() && found->external_id == external_id ? found->collective
                                                                         : run::GpuEvent::kNone;
  };
  for (const auto& [index, external_id] : unnamed_) {
    run::GpuEvent& event = trace_.events[index];
    if (external_id >= 0) event.collective = op_of(external_id);
    const run::Launch* launch = run::launch_of(trace_, event);
    if (event.collective == run::GpuEvent::kNone && launch != nullptr)
      event.collective = op_of(launch->external_id);
  }
}

/// Calls that put nothing on a GPU (memory, queries) are no launches. Those that take longer than
/// launches do (assumed) are kept beside the waits: the GPU may idle for them.
void Collector::keep_launches_of_events() {
  std::vector<int64_t> wanted = base::mapped(trace_.events, &run::GpuEvent::correlation);
  std::ranges::sort(wanted);
  constexpr int64_t kLongCallNs = 20'000;
  std::erase_if(trace_.launches, [&](const run::Launch& launch) {
    if (std::ranges::binary_search(wanted, launch.correlation)) return false;
    if (launch.duration_ns >= kLongCallNs) trace_.waits.push_back(launch);
    return true;
  });
}

/// An operator that launched nothing, neither itself nor within, tells nothing of the GPU.
void Collector::keep_operators_of_launches() {
  std::ranges::sort(trace_.operators, [](const auto& a, const auto& b) {
    return std::tie(a.start_ns, b.duration_ns, a.thread, a.external_id) <
           std::tie(b.start_ns, a.duration_ns, b.thread, b.external_id);
  });
  std::vector<bool> kept(trace_.operators.size());
  const run::OperatorTree tree(trace_.operators);
  for (const run::Launch& launch : trace_.launches)
    for (uint32_t op = tree.of(launch); op != run::OperatorTree::kNone && !kept[op];
         op = tree.parent(op))
      kept[op] = true;
  size_t position = 0;
  std::erase_if(trace_.operators, [&](const run::Operator&) { return !kept[position++]; });
  trace_.operators.shrink_to_fit();
}

void Collector::keep_names_in_use() {
  constexpr uint32_t kNone = run::GpuEvent::kNone;
  std::vector<uint32_t> renamed(texts_.size(), kNone);
  const auto for_each_name = [&](auto&& use) {
    for (run::GpuEvent& event : trace_.events) use(event.name);
    for (run::Launch& launch : trace_.launches) use(launch.name);
    for (run::Launch& wait : trace_.waits) use(wait.name);
    for (run::Range& range : trace_.ranges) use(range.name);
    for (run::Operator& op : trace_.operators)
      for (uint32_t* name : {&op.name, &op.shapes, &op.dtypes, &op.values}) use(*name);
  };
  for_each_name([&](uint32_t name) {
    if (name != kNone) renamed[name] = 0;
  });
  for (uint32_t& name : renamed) {
    if (name == kNone) continue;
    const auto old = static_cast<size_t>(&name - renamed.data());
    name = static_cast<uint32_t>(trace_.names.size());
    trace_.names.push_back(std::move(texts_[old]));
  }
  for_each_name([&](uint32_t& name) {
    if (name != kNone) name = renamed[name];
  });
}

int64_t Collector::entries() const {
  auto count = static_cast<int64_t>(trace_.events.size());
  for (const int64_t dropped : dropped_) count += dropped;
  return count;
}

run::RankTrace Collector::finish(const std::string& file) {
  // Not a stable sort: that takes as much memory again as the launches have.
  std::ranges::sort(trace_.launches, [](const auto& a, const auto& b) {
    return std::tie(a.correlation, a.start_ns, a.duration_ns, a.external_id) <
           std::tie(b.correlation, b.start_ns, b.duration_ns, b.external_id);
  });
  const auto earlier = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::ranges::stable_sort(trace_.steps, earlier);
  join_marks(trace_.steps);
  std::ranges::stable_sort(trace_.ranges, earlier);
  join_collectives();
  keep_launches_of_events();
  std::ranges::stable_sort(trace_.waits, earlier);
  keep_operators_of_launches();
  indices_.clear();
  keep_names_in_use();
  for (size_t i = 0; i < dropped_.size(); ++i) {
    if (dropped_[i] == 0) continue;
    trace_.dropped.push_back(
        {file, std::string(describe(static_cast<DropReason>(i))), dropped_[i]});
  }
  trace_.file = file;
  return std::move(trace_);
}

}  // namespace ergometer::importer
