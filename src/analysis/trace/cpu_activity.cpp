#include "analysis/trace/cpu_activity.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/math/sum.h"
#include "analysis/trace/idle.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

enum class Doing : uint8_t { kNothing, kLaunching, kLoading, kNamed };

/// A call, operator or range of a thread.
struct Entry {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t name = 0;
  Doing doing = Doing::kNothing;
};

/// What a name says that is neither a launch nor a wait. PyTorch's loader: "enumerate(DataLoader)",
/// Lightning's "[pl][profile]...train_dataloader_next", Megatron-LM's "batch-generator".
Doing doing_of(const std::string& name) {
  if (name.starts_with("ProfilerStep")) return Doing::kNothing;  // all of a step is within
  const std::string text = base::lower(name);
  // Megatron-LM's get_batch_on_this_tp_rank sends what is loaded to other ranks.
  for (const std::string_view other : {"get_batch_size", "_on_this_"})
    if (text.find(other) != std::string::npos) return Doing::kNamed;
  for (const std::string_view word :
       {"dataloader", "data_loader", "data loader", "data_loading", "data loading", "dataiter",
        "data_iter", "get_batch", "next_batch", "load_batch", "batch-generator"})
    if (text.find(word) != std::string::npos) return Doing::kLoading;
  return Doing::kNamed;
}

class Activities {
 public:
  Activities(const run::RankTrace& trace, const std::map<int64_t, Intervals>& times)
      : times_(times), one_thread_(times.size() == 1 && times.contains(-1)) {
    for (const std::string& name : trace.names) doing_.push_back(doing_of(name));
    for (const run::Launch& launch : trace.launches)
      add(launch, launch.duration_ns <= kLongestLaunchNs ? Doing::kLaunching : Doing::kNamed);
    for (const run::Launch& wait : trace.waits) add(wait, Doing::kNamed);
    for (const run::Operator& op : trace.operators) add(op, doing_[op.name]);
    for (const run::Range& range : trace.ranges)
      if (!range.gpu) add(range, doing_[range.name]);
  }

  CpuActivity found() {
    for (auto& [thread, entries] : entries_) {
      std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
        // What takes the same time is a call within an operator.
        return std::tie(a.start_ns, b.end_ns, b.doing) < std::tie(b.start_ns, a.end_ns, a.doing);
      });
      walk(entries, times_.at(thread));
    }
    return std::move(found_);
  }

 private:
  template <class Call>
  void add(const Call& call, Doing doing) {
    const auto times = times_.find(one_thread_ ? -1 : call.thread);
    const Entry entry{call.start_ns, call.start_ns + call.duration_ns, call.name, doing};
    // Those outside of the times are most: they are not kept.
    if (times == times_.end() || doing == Doing::kNothing || !touches(times->second, entry)) return;
    if (doing == Doing::kNamed && call.name == run::GpuEvent::kNone) return;
    entries_[times->first].push_back(entry);
  }

  static Intervals::const_iterator first_behind(const Intervals& times, int64_t time_ns) {
    return std::ranges::upper_bound(times, time_ns, {}, &Interval::end_ns);
  }
  static bool touches(const Intervals& times, const Entry& entry) {
    const auto next = first_behind(times, entry.start_ns);
    return next != times.end() && next->start_ns < entry.end_ns;
  }

  /// A thread's entries as the innermost at every time.
  void walk(const std::vector<Entry>& entries, const Intervals& times) {
    std::vector<Entry> open;
    int64_t reached = INT64_MIN;
    const auto go_to = [&](int64_t time_ns) {
      for (; !open.empty() && open.back().end_ns <= time_ns; open.pop_back()) {
        tell(open.back(), reached, open.back().end_ns, times);
        reached = std::max(reached, open.back().end_ns);
      }
      if (!open.empty()) tell(open.back(), reached, time_ns, times);
      reached = std::max(reached, time_ns);
    };
    for (Entry entry : entries) {
      go_to(entry.start_ns);
      if (!open.empty() && open.back().doing == Doing::kLoading) entry.doing = Doing::kLoading;
      open.push_back(entry);
    }
    go_to(INT64_MAX);
  }

  void tell(const Entry& entry, int64_t from_ns, int64_t to_ns, const Intervals& times) {
    int64_t both = 0;
    for (auto at = first_behind(times, from_ns); at != times.end() && at->start_ns < to_ns; ++at)
      both += std::min(to_ns, at->end_ns) - std::max(from_ns, at->start_ns);
    if (both <= 0) return;
    switch (entry.doing) {
      case Doing::kNothing: break;
      case Doing::kLaunching: add_time(found_.launching_ns, both); break;
      case Doing::kLoading: add_time(found_.loading_ns, both); break;
      case Doing::kNamed: add_time(found_.named_ns[entry.name], both); break;
    }
  }

  const std::map<int64_t, Intervals>& times_;
  bool one_thread_;
  std::vector<Doing> doing_;  ///< by name
  std::map<int64_t, std::vector<Entry>> entries_;
  CpuActivity found_;
};

}  // namespace

CpuActivity cpu_activity(const run::RankTrace& trace, const std::map<int64_t, Intervals>& times) {
  return times.empty() ? CpuActivity{} : Activities(trace, times).found();
}

}  // namespace ergometer::analysis
