#include "cli/predict/optimize_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "analysis/telemetry/moment.h"
#include "base/collection.h"
#include "base/text.h"
#include "calibration/twin/board_history.h"
#include "calibration/twin/sampling.h"
#include "cli/console/option_values.h"
#include "cli/console/stop_at_signal.h"
#include "cli/job/recorded_job.h"
#include "physics/gpu_power.h"
#include "run/file/growing_run.h"

namespace ergometer::cli {
namespace {

using calibration::twin::BoardChange;
using calibration::twin::BoardChanges;
using calibration::twin::BoardHistory;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kSecondNs = 1'000'000'000;
/// Of readings that a first plan takes, and what of three times as many it no longer waits for.
constexpr int64_t kEnoughNs = 120 * kSecondNs, kAtMostNs = 3 * kEnoughNs;
constexpr double kPersistS = 300, kShortestS = 10, kLongestS = 3600;
constexpr double kSettledK = 1;
/// Of its power limit: what a GPU at work draws at least (assumed).
constexpr double kWorks = 0.3;
constexpr std::chrono::seconds kGoneAfter(60);

Result<int64_t> persist_ns(const Arguments& arguments) {
  const std::string text = arguments.value("persist", fmt::format("{}s", kPersistS));
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds < kShortestS || *seconds > kLongestS)
    return input_error("--persist: '{}' is not a length of time from 10s to 1h, like 5min", text);
  return static_cast<int64_t>(*seconds * static_cast<double>(kSecondNs));
}

/// A line a plan. It is a log: what is there is written over at the start, and grows from there.
class PlanFile {
 public:
  static Result<PlanFile> open(const std::string& path) {
    PlanFile file;
    if (path.empty()) return file;
    file.path_ = path;
    file.file_.reset(std::fopen(path.c_str(), "we"));
    if (!file.file_) return input_error("--plans: {}: cannot be written", path);
    return file;
  }
  Result<void> add(const std::string& line) {
    if (!file_) return {};
    const bool written = std::fputs(line.c_str(), file_.get()) >= 0;
    if (written && std::fflush(file_.get()) == 0) return {};
    return missing_error("--plans: {}: cannot be written; is the disk full?", path_);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

std::string told(const std::vector<BoardChange>& changes) {
  std::string text = changes.front().text();
  if (changes.size() > 1) text += fmt::format(" and {} more", changes.size() - 1);
  return text;
}

std::string listed(const std::vector<BoardChange>& changes) {
  constexpr size_t kMostListed = 16;
  std::string text = "Since the plan before\n";
  for (size_t i = 0; i < std::min(changes.size(), kMostListed); ++i)
    text += fmt::format("  {}, since {}\n", changes[i].text(),
                        analysis::format_moment(changes[i].since_ns));
  if (changes.size() > kMostListed)
    text += fmt::format("  and {} more\n", changes.size() - kMostListed);
  return text;
}

/// What to do at the end of each stretch of readings.
class PlanWatch {
 public:
  PlanWatch(const Arguments& arguments, const MakePlan& make, const Console& console, PlanFile file,
            int64_t persist, double works_w)
      : json_(arguments.has("json")),
        make_(make),
        console_(console),
        file_(std::move(file)),
        history_(std::max(kAtMostNs, persist + kEnoughNs)),
        changes_(persist),
        works_w_(works_w) {}

  Result<void> add(const run::GrowingRun& run, const std::vector<run::ReadingCell>& cells) {
    // Not more than a stretch at once, as if they had just come.
    for (size_t from = 0; from < cells.size();) {
      size_t to = from;
      while (to < cells.size() && cells[to].time_ns < cells[from].time_ns + history_.stretch_ns())
        ++to;
      history_.add(run.devices(), {cells.begin() + static_cast<ptrdiff_t>(from),
                                   cells.begin() + static_cast<ptrdiff_t>(to)});
      from = to;
      ERGOMETER_TRY(go_on_to(history_.latest_ns() - history_.stretch_ns()));
    }
    return {};
  }
  /// What is left when nothing more comes.
  Result<void> finish() { return go_on_to(history_.latest_ns()); }

  int64_t plans() const { return plans_; }
  /// Why there is no plan yet.
  const std::string& waits_for() const { return waits_for_; }

 private:
  Result<void> go_on_to(int64_t time_ns) {
    const int64_t stretch = history_.stretch_ns();
    if (at_ns_ == 0) at_ns_ = history_.first_ns() / stretch * stretch;
    while (at_ns_ + stretch <= time_ns && !StopAtSignal::asked()) {
      at_ns_ += stretch;
      ERGOMETER_TRY(plans_ == 0 ? first_plan() : next_plan());
    }
    return {};
  }

  /// The readings of GPUs at work that are enough for a plan, or what they lack.
  Result<void> first_plan() {
    const run::DeviceLog log = calibration::twin::at_work(history_.log(0, at_ns_, {}));
    const auto [from_ns, to_ns] = span_of(log);
    waits_for_ = fmt::format("{:.0f} s of the job at work were read, a plan takes {}",
                             static_cast<double>(to_ns - from_ns) * 1e-9, kEnoughNs / kSecondNs);
    if (to_ns - from_ns < kEnoughNs) return {};
    waits_for_ = "its GPUs draw too little to be at work";
    if (median_watts(from_ns) < works_w_) return {};
    waits_for_ = "its temperatures do not settle";
    if (to_ns - from_ns < kAtMostNs - 2 * history_.stretch_ns() &&
        calibration::twin::unsettled_k(run::readings_within(log, to_ns - kEnoughNs, to_ns)) >
            kSettledK)
      return {};
    PlanCause cause{1, to_ns, static_cast<double>(to_ns - from_ns) * 1e-9, {}};
    ERGOMETER_ASSIGN(const WatchedPlan plan, make_(log, cause));
    ERGOMETER_TRY(tell(plan, cause));
    changes_.plan_made(history_, at_ns_ - BoardChanges::kMinuteNs, at_ns_);
    return {};
  }

  Result<void> next_plan() {
    const std::vector<BoardChange> changes = changes_.look(history_, at_ns_);
    if (changes.empty()) return {};
    const int64_t since_ns = std::ranges::min(changes, {}, &BoardChange::since_ns).since_ns;
    const run::DeviceLog log = history_.log(since_ns, at_ns_, changes_.rests());
    PlanCause cause{plans_ + 1, at_ns_, static_cast<double>(at_ns_ - since_ns) * 1e-9, changes};
    const auto plan = make_(log, cause);
    if (!plan)
      stands(changes, "what was read since tells no new one: " + plan.error().message);
    else if (plan->keeps)
      stands(changes, plan->verdict);
    else
      ERGOMETER_TRY(tell(*plan, cause));
    changes_.plan_made(history_, std::max(since_ns, at_ns_ - BoardChanges::kMinuteNs), at_ns_);
    return {};
  }

  Result<void> tell(const WatchedPlan& plan, const PlanCause& cause) {
    plans_ = cause.number;
    ERGOMETER_TRY(file_.add(plan.json));
    std::string text = plans_ > 1 ? "\n" : "";
    text += fmt::format("Plan {}, {}, by {:.0f} s of readings\n", cause.number,
                        analysis::format_moment(cause.time_ns), cause.readings_s);
    if (!cause.changes.empty()) text += listed(cause.changes);
    console_.answer(json_ ? plan.json : text + plan.text);
    std::fflush(console_.out);
    return {};
  }

  /// Of documents that programs read it is no part.
  void stands(const std::vector<BoardChange>& changes, std::string_view why) {
    const std::string line = fmt::format("Plan {} stands, {}: {}; {}\n", plans_,
                                         analysis::format_moment(at_ns_), told(changes), why);
    if (json_) return console_.note(line.substr(0, line.size() - 1));
    console_.answer('\n' + line);
    std::fflush(console_.out);
  }

  std::pair<int64_t, int64_t> span_of(const run::DeviceLog& log) const {
    std::pair<int64_t, int64_t> span = {at_ns_, 0};
    for (const run::Device& device : log.devices)
      for (const run::Series& series : device.series) {
        span.first = std::min(span.first, series.samples.front().time_ns);
        span.second = std::max(span.second, series.samples.back().time_ns);
      }
    span.first -= history_.stretch_ns() / 2;
    span.second += history_.stretch_ns() / 2;
    return span.second > span.first ? span : std::pair(at_ns_, at_ns_);
  }

  double median_watts(int64_t from_ns) const {
    std::vector<double> watts;
    for (size_t i = 0; i < history_.devices().size(); ++i)
      if (const auto mean = history_.mean(i, BoardHistory::kWatts, from_ns, at_ns_))
        watts.push_back(*mean);
    return base::upper_median(std::move(watts));
  }

  bool json_;
  const MakePlan& make_;
  const Console& console_;
  PlanFile file_;
  BoardHistory history_;
  BoardChanges changes_;
  double works_w_;
  int64_t at_ns_ = 0, plans_ = 0;
  std::string waits_for_ = "no readings of GPUs";
};

/// Whether to look on: not when the Run is closed, or has not grown while nobody writes it.
class Growing {
 public:
  bool goes_on(const run::GrowingRun& run, const run::GrowingRun::Growth& growth,
               const Console& console) {
    if (growth.closed) return false;
    if (!growth.cells.empty()) grew_ = SteadyClock::now();
    const bool rests = SteadyClock::now() - grew_ >= kGoneAfter;
    if (rests && !run.is_being_written()) {
      console.note("{}: has not grown for {} s, and nobody writes it", run.path(),
                   kGoneAfter.count());
      return false;
    }
    if (rests && !told_)
      console.note("{}: has not grown for {} s; its writer is there, waiting", run.path(),
                   kGoneAfter.count());
    told_ = rests;
    return true;
  }

 private:
  SteadyClock::time_point grew_ = SteadyClock::now();
  bool told_ = false;
};

Result<void> follow(run::GrowingRun& run, PlanWatch& watch, const Console& console) {
  constexpr std::chrono::milliseconds kBetween(250);
  Growing growing;
  auto next = SteadyClock::now();
  while (!StopAtSignal::asked()) {
    if (SteadyClock::now() < next) {
      std::this_thread::sleep_for(kBetween);
      continue;
    }
    ERGOMETER_ASSIGN(const run::GrowingRun::Growth growth, run.look());
    ERGOMETER_TRY(watch.add(run, growth.cells));
    if (growth.more) continue;
    if (!growing.goes_on(run, growth, console)) return watch.finish();
    next = SteadyClock::now() + std::chrono::seconds(1);
  }
  return {};
}

}  // namespace

void add_watch_flags(std::vector<Flag>& flags) {
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "optimization", help));
  };
  add("watch", "",
      "follow the Run of --from while it is recorded: a plan, and another when what GPUs differ by "
      "changed for good. It applies nothing");
  add("persist", "TIME", "of --watch: how long a change stays before it counts, 10s to 1h; 5min");
  add("plans", "FILE", "of --watch: write each plan there, as --json has it, a line a plan");
}

Result<void> check_watch(const Arguments& arguments) {
  if (!arguments.has("watch")) {
    for (const char* part : {"persist", "plans"})
      if (arguments.has(part)) return input_error("--{} is of --watch, which is not given", part);
    return {};
  }
  if (!arguments.has("from"))
    return input_error("--watch follows a Run: --from FILE says which, and is not given");
  if (base::contains(arguments.value("from"), ","))
    return input_error("--watch follows one Run; --from names several: {}",
                       arguments.value("from"));
  return {};
}

Result<int> watch_plans(const Arguments& arguments, const spec::Job& job, const MakePlan& make,
                        const Console& console) {
  ERGOMETER_ASSIGN(const int64_t persist, persist_ns(arguments));
  ERGOMETER_ASSIGN(run::GrowingRun run, run::GrowingRun::open(arguments.value("from")));
  ERGOMETER_TRY(check_growing_job(run.path(), job));
  ERGOMETER_ASSIGN(const physics::GpuPower power, physics::gpu_power(job.cluster.node.gpu));
  ERGOMETER_ASSIGN(PlanFile file, PlanFile::open(arguments.value("plans")));
  PlanWatch watch(arguments, make, console, std::move(file), persist, kWorks * power.cap_w);
  const StopAtSignal stop(console.hosted);
  ERGOMETER_TRY(follow(run, watch, console));
  if (StopAtSignal::asked()) return StopAtSignal::status();
  if (watch.plans() > 0) {
    console.note("{}: ended; plan {} stands", run.path(), watch.plans());
    return 0;
  }
  return input_error("{}: ended before a plan could be made: {}", run.path(), watch.waits_for());
}

}  // namespace ergometer::cli
