#include "analysis/energy/work_shares.h"

#include <map>
#include <string_view>

#include "analysis/trace/phases.h"
#include "analysis/work/kernel_class.h"

namespace ergometer::analysis {

WorkShares::WorkShares(const run::RankTrace& trace, const std::vector<PhaseOfEvent>& phases)
    : names_{"idle", "communication beside other work"} {
  std::map<std::string_view, size_t> numbers;
  std::vector<uint32_t> labels;
  KernelClasses classes(trace);
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const run::GpuEvent& event = trace.events[i];
    const std::string_view name = classes.of(event);
    const auto [number, is_new] = numbers.emplace(name, names_.size());
    if (is_new) {
      names_.emplace_back(name);
      communicates_.push_back(event.kind == run::GpuClass::kCommunication);
    }
    labels.push_back(
        static_cast<uint32_t>((number->second * kPhases) + static_cast<size_t>(phases[i].phase)));
  }
  timeline_ = label_time(trace.events, labels);
  for (const std::vector<uint32_t>& set : timeline_.sets) shares_.push_back(shares_of(set));
}

Matrix WorkShares::seconds_between(int64_t start_ns, int64_t end_ns) const {
  Matrix sums(names_.size(), kPhases + 1);
  size_t from = 0;
  for_each_between(timeline_, from, start_ns, end_ns, [&](uint32_t set, int64_t ns) {
    for (const WorkShare& s : shares_[set])
      sums.at(s.work, s.phase) += s.weight * static_cast<double>(ns) * 1e-9;
  });
  return sums;
}

std::vector<WorkShare> WorkShares::shares_of(const std::vector<uint32_t>& set) const {
  if (set.empty()) return {{0, kPhases, 1}};
  std::map<size_t, size_t> classes;
  bool communication = false, other = false;
  for (const uint32_t label : set) {
    ++classes[label / kPhases];
    (communicates_[label / kPhases - 2] ? communication : other) = true;
  }
  const bool beside = communication && other;
  std::vector<WorkShare> shares;
  for (const uint32_t label : set) {
    const size_t work = label / kPhases;
    const auto of_class = static_cast<double>(classes[work] * classes.size());
    shares.push_back({beside ? 1 : work, label % kPhases, 1 / of_class});
  }
  return shares;
}

}  // namespace ergometer::analysis
