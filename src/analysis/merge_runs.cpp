#include "analysis/merge_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/findings/trace_summary.h"
#include "analysis/ranks/collective_match.h"
#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

constexpr double kPartsPerMillion = 1e-6;

/// A clock among those that are to be brought together: a host's, or that of a trace whose host is
/// not known.
struct Clock {
  std::string name;
  std::vector<std::string> files;
  std::vector<run::ClockReading> readings;
  std::vector<run::ClockProbe> probes;
};

/// What was seen of two clocks.
struct ClockEdge {
  size_t from = 0, to = 0;
  ClockModel model;  ///< a time of `from` plus this is one of `to`
  const char* method = "";
};

/// From the other's times back.
ClockModel inverse(const ClockModel& model) {
  ClockModel result = model;
  result.at_ns = model.at_ns + std::llround(model.offset_ns);
  result.offset_ns = -model.offset_ns;
  const double drift = model.drift_ppm * kPartsPerMillion;
  result.drift_ppm = -drift / (1 + drift) / kPartsPerMillion;
  return result;
}

/// `first`, then `second` of what comes out of it; uncertainties add up.
ClockModel chain(const ClockModel& first, const ClockModel& second) {
  const double a = first.drift_ppm * kPartsPerMillion, b = second.drift_ppm * kPartsPerMillion;
  ClockModel result = first;
  const int64_t between_ns = first.at_ns + std::llround(first.offset_ns);
  result.offset_ns = first.offset_ns + static_cast<double>(second.offset_at(between_ns));
  result.drift_ppm = ((1 + a) * (1 + b) - 1) / kPartsPerMillion;
  result.uncertainty_ns += second.uncertainty_ns;
  result.drift_uncertainty_ppm += second.drift_uncertainty_ppm;
  result.samples = std::min(first.samples, second.samples);
  return result;
}

/// "node01.cluster.local" and "node01" are one host.
std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

class Merger {
 public:
  Merger(std::vector<RunPart> parts, const std::string& reference)
      : parts_(std::move(parts)), reference_(reference) {}

  Result<MergedRun> merge() {
    ERGOMETER_TRY(check_sources());
    order_parts();
    number_gpus();
    ERGOMETER_TRY(check_devices());
    collect_clocks();
    ERGOMETER_TRY(find_reference());
    find_edges();
    find_models();
    for (RunPart& part : parts_) correct(part);
    join();
    return std::move(result_);
  }

 private:
  Result<void> check_sources() const;
  Result<void> check_devices() const;
  void order_parts();
  void number_gpus();
  std::string host_of(const RunPart& part) const;
  size_t clock(const std::string& name, const std::string& file);
  std::optional<size_t> known_clock(std::string_view name) const;
  void collect_clocks();
  size_t clock_of(const run::RankTrace& trace, const RunPart& part);
  Result<void> find_reference();
  void find_edges();
  void find_trace_edges();
  void find_models();
  std::optional<ClockEdge> next_edge(const std::vector<bool>& settled) const;
  void take_synchronized(size_t clock);
  void correct(RunPart& part);
  void correct(run::Device& device, const std::string& fallback) const;
  void correct(run::RankTrace& trace, const ClockModel& model) const;
  const ClockModel& model_of(const std::string& host, const std::string& fallback) const;
  void join();
  void join_facts();

  std::vector<RunPart> parts_;
  std::string reference_;
  std::vector<Clock> clocks_;
  std::map<std::string, size_t, std::less<>> clock_numbers_;
  std::vector<size_t> trace_clocks_;  ///< of all parts' traces, one after the other
  std::vector<ClockEdge> edges_;
  size_t origin_ = 0;
  MergedRun result_;
};

Result<void> Merger::check_sources() const {
  for (const RunPart& part : parts_)
    if (part.run.source == "simulated")
      return input_error(
          "{}: a simulated Run has no clock of a host to bring together with others'; "
          "merge takes what was recorded or imported",
          part.file);
  return {};
}

/// A GPU that two parts hold at the same time would count twice.
Result<void> Merger::check_devices() const {
  struct Seen {
    int64_t first_ns = 0, last_ns = 0;
    std::string file;
  };
  std::map<std::string, std::vector<Seen>> gpus;
  for (const RunPart& part : parts_) {
    for (const run::Device& device : part.run.log.devices) {
      if (device.uuid.empty()) continue;
      Seen seen{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                part.file};
      for (const run::Series& series : device.series) {
        if (series.samples.empty()) continue;
        seen.first_ns = std::min(seen.first_ns, series.samples.front().time_ns);
        seen.last_ns = std::max(seen.last_ns, series.samples.back().time_ns);
      }
      for (const Seen& other : gpus[device.uuid])
        if (seen.first_ns <= other.last_ns && other.first_ns <= seen.last_ns)
          return input_error(
              "{} and {}: both hold readings of {} at the same time; give one of them", other.file,
              part.file, device.uuid);
      gpus[device.uuid].push_back(std::move(seen));
    }
  }
  return {};
}

/// By the job's own number of the node, where every part that was recorded has one.
void Merger::order_parts() {
  const auto node = [](const RunPart& part) -> std::optional<int64_t> {
    for (const char* name : {"SLURM_NODEID", "GROUP_RANK", "NODE_RANK"}) {
      const auto fact = part.run.facts.find(name);
      if (fact == part.run.facts.end()) continue;
      if (const auto number = base::parse_integer(fact->second)) return *number;
    }
    return std::nullopt;
  };
  std::set<int64_t> numbers;
  for (const RunPart& part : parts_) {
    const auto number = node(part);
    if (!number) return;
    numbers.insert(*number);
  }
  if (numbers.size() == parts_.size())
    std::ranges::stable_sort(
        parts_, [&](const RunPart& a, const RunPart& b) { return *node(a) < *node(b); });
}

/// Ranks stay as they are when every GPU has one and no two have the same.
void Merger::number_gpus() {
  std::set<int64_t> ranks;
  bool known = true, unique = true;
  for (const RunPart& part : parts_)
    for (const run::Device& device : part.run.log.devices) {
      if (device.kind != run::DeviceKind::kGpu) continue;
      known = known && device.rank >= 0;
      unique = unique && (device.rank < 0 || ranks.insert(device.rank).second);
    }
  if (known && unique) return;
  int64_t next = 0;
  for (RunPart& part : parts_)
    for (run::Device& device : part.run.log.devices)
      if (device.kind == run::DeviceKind::kGpu) device.rank = next++;
  if (!unique)
    result_.notes.push_back(
        "GPUs of several files had the same ranks: they are counted anew, node after node");
}

std::string Merger::host_of(const RunPart& part) const {
  if (!part.run.clocks.empty()) return part.run.clocks.front().host;
  const auto fact = part.run.facts.find("host");
  if (fact != part.run.facts.end() && !fact->second.empty()) return fact->second;
  for (const run::Device& device : part.run.log.devices)
    if (!device.host.empty()) return device.host;
  return part.file;
}

std::optional<size_t> Merger::known_clock(std::string_view name) const {
  const auto found = clock_numbers_.find(short_name(name));
  return found == clock_numbers_.end() ? std::nullopt : std::optional(found->second);
}

size_t Merger::clock(const std::string& name, const std::string& file) {
  const auto [entry, fresh] =
      clock_numbers_.try_emplace(std::string(short_name(name)), clocks_.size());
  if (fresh) clocks_.push_back({name, {}, {}, {}});
  std::vector<std::string>& files = clocks_[entry->second].files;
  if (!base::contains(files, file)) files.push_back(file);
  return entry->second;
}

void Merger::collect_clocks() {
  for (const RunPart& part : parts_) {
    if (!part.run.log.devices.empty() || !part.run.clocks.empty()) clock(host_of(part), part.file);
    for (const run::Device& device : part.run.log.devices)
      if (!device.host.empty()) clock(device.host, part.file);
    for (const run::HostClock& host : part.run.clocks) {
      Clock& known = clocks_[clock(host.host, part.file)];
      known.readings.insert(known.readings.end(), host.readings.begin(), host.readings.end());
      known.probes.insert(known.probes.end(), host.probes.begin(), host.probes.end());
    }
  }
  for (const RunPart& part : parts_)
    for (const run::RankTrace& trace : part.run.traces)
      trace_clocks_.push_back(clock_of(trace, part));
}

/// A trace was made on the host that has its rank's GPU. Failing that, on its part's, if that is
/// one; else its clock is one of its own.
size_t Merger::clock_of(const run::RankTrace& trace, const RunPart& part) {
  for (const RunPart& other : parts_)
    for (const run::Device& device : other.run.log.devices)
      if (device.kind == run::DeviceKind::kGpu && device.rank == trace.rank)
        return clock(device.host.empty() ? host_of(other) : device.host, part.file);
  const bool one_host = !part.run.log.devices.empty() || part.run.clocks.size() == 1;
  return clock(one_host ? host_of(part) : fmt::format("rank {}", trace.rank), part.file);
}

Result<void> Merger::find_reference() {
  if (reference_.empty()) return {};
  const auto found = known_clock(reference_);
  if (!found) {
    std::string names;
    for (const Clock& known : clocks_) names += (names.empty() ? "" : ", ") + known.name;
    return input_error("--reference {}: no file is of that host; there are {}", reference_, names);
  }
  origin_ = *found;
  return {};
}

void Merger::find_edges() {
  for (size_t from = 0; from < clocks_.size(); ++from) {
    std::map<size_t, std::vector<run::ClockProbe>> by_peer;
    for (const run::ClockProbe& probe : clocks_[from].probes)
      if (const auto to = known_clock(probe.peer); to && *to != from) by_peer[*to].push_back(probe);
    for (const auto& [to, probes] : by_peer)
      if (const auto model = clock_from_probes(probes))
        edges_.push_back({from, to, *model, "probes"});
  }
  find_trace_edges();
}

void Merger::find_trace_edges() {
  std::vector<run::RankTrace> traces;
  for (const RunPart& part : parts_)
    traces.insert(traces.end(), part.run.traces.begin(), part.run.traces.end());
  if (traces.size() < 2) return;
  const ClockTable table = align_clocks(traces, match_collectives(traces));
  std::optional<size_t> reference;
  for (size_t i = 0; i < traces.size(); ++i)
    if (traces[i].rank == table.reference) reference = i;
  if (!reference) return;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (i == *reference || !table.ranks[i].known || trace_clocks_[i] == trace_clocks_[*reference])
      continue;
    ClockModel model = table.ranks[i].model;
    model.at_ns += traces[i].base_time_ns;
    edges_.push_back({trace_clocks_[i], trace_clocks_[*reference], model, "collectives"});
  }
}

/// The edge that ties a further clock to the settled ones with the least uncertainty.
std::optional<ClockEdge> Merger::next_edge(const std::vector<bool>& settled) const {
  std::optional<ClockEdge> best;
  double least_ns = std::numeric_limits<double>::infinity();
  for (const ClockEdge& edge : edges_) {
    if (settled[edge.from] == settled[edge.to]) continue;
    ClockEdge towards = edge;
    if (settled[edge.from]) {
      std::swap(towards.from, towards.to);
      towards.model = inverse(edge.model);
    }
    const double uncertainty_ns =
        towards.model.uncertainty_ns + result_.hosts[towards.to].model.uncertainty_ns;
    if (uncertainty_ns >= least_ns) continue;
    least_ns = uncertainty_ns;
    best = towards;
  }
  return best;
}

/// Prim's way from the reference outwards: what is known best comes first.
void Merger::find_models() {
  for (const Clock& known : clocks_)
    result_.hosts.push_back({known.name, known.files, "unknown", "", {}, false});
  std::vector<bool> settled(clocks_.size(), false);
  if (clocks_.empty()) return;
  settled[origin_] = true;
  result_.hosts[origin_].method = "reference";
  result_.hosts[origin_].bounded = true;
  while (const auto edge = next_edge(settled)) {
    HostClockReport& host = result_.hosts[edge->from];
    const HostClockReport& against = result_.hosts[edge->to];
    host.method = edge->method;
    host.against = against.host;
    host.model = chain(edge->model, against.model);
    host.bounded = true;
    settled[edge->from] = true;
  }
  for (size_t i = 0; i < clocks_.size(); ++i)
    if (!settled[i]) take_synchronized(i);
}

/// Where nothing was seen of two clocks there is what their kernels say of them.
void Merger::take_synchronized(size_t number) {
  const auto error_ns = [](const Clock& known) {
    int64_t worst = 0;
    for (const run::ClockReading& reading : known.readings) {
      if (reading.max_error_ns <= 0) return int64_t{0};
      worst = std::max(worst, reading.max_error_ns);
    }
    return worst;
  };
  const int64_t own_ns = error_ns(clocks_[number]), other_ns = error_ns(clocks_[origin_]);
  HostClockReport& host = result_.hosts[number];
  if (own_ns > 0 && other_ns > 0) {
    host.method = "synchronized";
    host.against = clocks_[origin_].name;
    host.model.uncertainty_ns = static_cast<double>(own_ns) + static_cast<double>(other_ns);
    host.bounded = true;
  } else {
    result_.notes.push_back(
        fmt::format("nothing tells how the clock of {} stands to that of {}: they are taken as "
                    "equal",
                    host.host, clocks_[origin_].name));
  }
}

const ClockModel& Merger::model_of(const std::string& host, const std::string& fallback) const {
  const auto found = known_clock(host.empty() ? fallback : host);
  return result_.hosts[found ? *found : *known_clock(fallback)].model;
}

void Merger::correct(run::Device& device, const std::string& fallback) const {
  const ClockModel& model = model_of(device.host, fallback);
  for (run::Series& series : device.series)
    for (run::Sample& sample : series.samples) sample.time_ns += model.offset_at(sample.time_ns);
  for (run::EnergyWindow& window : device.windows)
    window.start_ns += model.offset_at(window.start_ns);
}

/// The zero moves by the offset, times further on by what the clock drifted since.
void Merger::correct(run::RankTrace& trace, const ClockModel& model) const {
  const int64_t base_ns = trace.base_time_ns;
  const int64_t shift_ns = base_ns == 0 ? 0 : model.offset_at(base_ns);
  const auto move = [&](int64_t& time_ns) {
    time_ns += model.offset_at(base_ns + time_ns) - shift_ns;
  };
  trace.base_time_ns += shift_ns;
  for (run::GpuEvent& event : trace.events) move(event.start_ns);
  for (run::Launch& launch : trace.launches) move(launch.start_ns);
  for (run::Operator& op : trace.operators) move(op.start_ns);
  for (run::Range& range : trace.ranges) move(range.start_ns);
  for (run::PipelineTask& task : trace.tasks) move(task.start_ns);
  for (run::StepMark& step : trace.steps) {
    move(step.start_ns);
    move(step.end_ns);
  }
}

void Merger::correct(RunPart& part) {
  const std::string fallback = host_of(part);
  for (run::Device& device : part.run.log.devices) {
    if (device.host.empty()) device.host = fallback;
    correct(device, fallback);
  }
  for (run::HostClock& host : part.run.clocks) {
    const ClockModel& model = model_of(host.host, fallback);
    for (run::ClockReading& reading : host.readings)
      reading.time_ns += model.offset_at(reading.time_ns);
    // Times of two clocks: corrected, they would no longer say what they were seen for.
    host.probes.clear();
  }
  if (!part.run.log.training.empty() && known_clock(fallback))
    for (run::TrainingLog& training : part.run.log.training) {
      const ClockModel& model = model_of("", fallback);
      for (run::Phase& phase : training.phases) {
        phase.start_ns += model.offset_at(phase.start_ns);
        phase.end_ns += model.offset_at(phase.end_ns);
      }
      for (run::TrainingStep& step : training.steps)
        if (step.end_ns > 0) step.end_ns += model.offset_at(step.end_ns);
    }
  size_t before = 0;
  for (const RunPart& other : parts_) {
    if (&other == &part) break;
    before += other.run.traces.size();
  }
  for (size_t i = 0; i < part.run.traces.size(); ++i)
    correct(part.run.traces[i], result_.hosts[trace_clocks_[before + i]].model);
}

template <class Item>
void append(std::vector<Item>& to, std::vector<Item>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void Merger::join() {
  run::DeviceLog log;
  std::vector<run::HostClock> clocks;
  std::vector<run::RankTrace> traces;
  std::vector<run::Dropped> dropped;
  bool recorded = true;
  for (RunPart& part : parts_) {
    recorded = recorded && part.run.source == "recorded";
    append(log.devices, part.run.log.devices);
    append(log.training, part.run.log.training);
    append(log.power_limits, part.run.log.power_limits);
    append(log.gauges, part.run.log.gauges);
    append(log.collectives, part.run.log.collectives);
    append(log.dropped, part.run.log.dropped);
    append(log.notes, part.run.log.notes);
    append(clocks, part.run.clocks);
    append(traces, part.run.traces);
    append(dropped, part.run.dropped);
  }
  std::ranges::stable_sort(log.devices, [](const run::Device& a, const run::Device& b) {
    return std::pair(a.kind, a.rank) < std::pair(b.kind, b.rank);
  });
  std::ranges::stable_sort(traces, {}, &run::RankTrace::rank);
  if (std::string twice = note_of_twice(traces); !twice.empty())
    result_.notes.push_back(std::move(twice));
  result_.run = make_run(std::move(traces), std::move(dropped));
  result_.run.source = recorded ? "recorded" : "imported";
  result_.run.log = std::move(log);
  result_.run.clocks = std::move(clocks);
  join_facts();
}

/// What all parts agree on holds of the whole.
void Merger::join_facts() {
  for (const auto& [key, value] : parts_.front().run.facts) {
    const bool agreed = std::ranges::all_of(parts_, [&](const RunPart& part) {
      const auto found = part.run.facts.find(key);
      return found != part.run.facts.end() && found->second == value;
    });
    if (agreed) result_.run.facts[key] = value;
  }
}

}  // namespace

Result<MergedRun> merge_runs(std::vector<RunPart> parts, const std::string& reference) {
  return Merger(std::move(parts), reference).merge();
}

}  // namespace ergometer::analysis
