#include "engine/views/task_waits.h"

#include <fmt/format.h>

#include <algorithm>

namespace ergometer::engine {
namespace {

using plan::InstructionKind;
using Kind = run::PipelineTask::Kind;

/// Adds waits and work in order of time.
class GapFiller {
 public:
  explicit GapFiller(const std::vector<NamedWait>& waits) : waits_(waits) {
    std::ranges::stable_sort(waits_,
                             [](const auto& a, const auto& b) { return a.from_ns < b.from_ns; });
  }

  void up_to(int64_t time_ns, const char* rest) {
    for (; next_ < waits_.size() && waits_[next_].from_ns < time_ns; ++next_) {
      add(waits_[next_].from_ns, rest);
      add(std::min(waits_[next_].to_ns, time_ns), waits_[next_].what);
      if (waits_[next_].to_ns > time_ns) return;
    }
    add(time_ns, rest);
  }
  void work(const run::PipelineTask& task) {
    all_.push_back(task);
    now_ns_ = task.start_ns + task.duration_ns;
    while (next_ < waits_.size() && waits_[next_].to_ns <= now_ns_) ++next_;
  }
  std::vector<run::PipelineTask> take() { return std::move(all_); }

 private:
  void add(int64_t to_ns, const std::string& what) {
    if (to_ns <= now_ns_) return;
    const bool same = !all_.empty() && all_.back().kind == Kind::kWait && all_.back().what == what;
    if (!same) all_.push_back({.kind = Kind::kWait, .step = 0, .start_ns = now_ns_, .what = what});
    all_.back().duration_ns = to_ns - all_.back().start_ns;
    now_ns_ = to_ns;
  }

  std::vector<NamedWait> waits_;
  size_t next_ = 0;
  int64_t now_ns_ = 0;
  std::vector<run::PipelineTask> all_;
};

}  // namespace

void fill_gaps(const std::vector<NamedWait>& waits, int64_t step_ns,
               std::vector<run::PipelineTask>& work) {
  GapFiller filler(waits);
  for (const run::PipelineTask& task : work) {
    filler.up_to(task.start_ns, "host");
    filler.work(task);
  }
  filler.up_to(step_ns, "end of the step");
  work = filler.take();
}

MessageEnds::MessageEnds(const plan::Plan& plan) : ends_(static_cast<size_t>(plan.messages)) {
  for (const plan::Role& role : plan.roles)
    for (const plan::Instruction& it : role.program) {
      if (it.kind == InstructionKind::kSend) ends_[static_cast<size_t>(it.slot)].from = role.stage;
      if (it.kind == InstructionKind::kRecv) ends_[static_cast<size_t>(it.slot)].to = role.stage;
    }
}

WaitNames::WaitNames(const plan::Plan& plan, const MessageEnds& ends)
    : plan_(plan), ends_(ends), by_stream_(workload::kStreamCount, nullptr) {}

void WaitNames::follow(const plan::Instruction& it) {
  if (is_message(it)) {
    by_stream_[static_cast<size_t>(it.stream)] = &it;
  } else if (it.kind == InstructionKind::kRecord) {
    const auto event = static_cast<size_t>(it.slot);
    if (event >= by_event_.size()) by_event_.resize(event + 1, nullptr);
    by_event_[event] = by_stream_[static_cast<size_t>(it.stream)];
  }
}

std::string WaitNames::message_name(int32_t message, bool sends) const {
  return sends ? fmt::format("send to stage {}", ends_.to(message))
               : fmt::format("stage {}", ends_.from(message));
}

std::string WaitNames::name(const plan::Instruction& it) const {
  const plan::Instruction* message = is_message(it) ? &it : nullptr;
  if (it.kind == InstructionKind::kJoin) message = by_stream_[static_cast<size_t>(it.on)];
  if (it.kind == InstructionKind::kWait && static_cast<size_t>(it.slot) < by_event_.size())
    message = by_event_[static_cast<size_t>(it.slot)];
  if (message != nullptr)
    return message_name(message->slot, message->kind == InstructionKind::kSend);
  return it.op < 0 ? "host" : plan_.operators[static_cast<size_t>(it.op)].name;
}

}  // namespace ergometer::engine
