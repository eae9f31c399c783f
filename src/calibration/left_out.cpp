#include "calibration/left_out.h"

#include <map>
#include <set>

#include "base/parallel.h"
#include "engine/outcome/evidence_tables.h"
#include "engine/prepared.h"

namespace ergometer::calibration {
namespace {

std::optional<LeftOutRow> predict(const Sample& sample, const ParameterList& list,
                                  std::span<const double> x,
                                  const std::vector<engine::Evidence>& evidence) {
  spec::Job job = sample.job;
  apply(list, x, parameters_used(list, job), job);
  const auto found = engine::estimate_performance(job, evidence);
  if (!found || !(found->step_time_s > 0)) return {};
  return LeftOutRow{found->step_time_s, found->step_time_s_low, found->step_time_s_high};
}

}  // namespace

std::vector<engine::Evidence> evidence_without(const std::vector<Sample>& samples,
                                               std::string_view source) {
  struct Seen {
    std::set<std::string> groups;
    int64_t rows = 0, most_gpus = 0;
  };
  std::map<engine::EvidenceKey, Seen> seen;
  for (const Sample& sample : samples) {
    if (!source.empty() && sample.source == source) continue;
    Seen& it = seen[engine::evidence_key(sample.job)];
    it.groups.insert(sample.group);
    it.most_gpus = std::max(it.most_gpus, sample.job.gpus);
    ++it.rows;
  }
  std::vector<engine::Evidence> result;
  for (const auto& [key, it] : seen)
    result.push_back({key, static_cast<int64_t>(it.groups.size()), it.rows, it.most_gpus});
  return result;
}

std::vector<std::optional<LeftOutRow>> predict_without(const std::vector<Sample>& samples,
                                                       const ParameterList& list,
                                                       std::span<const double> x,
                                                       const std::string& source, size_t threads,
                                                       const Watcher& watcher) {
  const ParameterList ignorant = without_source(list, source);
  std::vector<double> values(x.begin(), x.end());
  values.resize(ignorant.parameters.size(), 0);
  std::vector<engine::Evidence> evidence = evidence_without(samples, source);
  evidence.insert(evidence.end(), engine::own_evidence().begin(), engine::own_evidence().end());
  std::vector<std::optional<LeftOutRow>> rows(samples.size());
  if (watcher.begin) watcher.begin("leave out " + source, samples.size());
  base::parallel_for(samples.size(), threads, [&](size_t i) {
    if (samples[i].source == source) rows[i] = predict(samples[i], ignorant, values, evidence);
    if (watcher.advance) watcher.advance();
  });
  return rows;
}

}  // namespace ergometer::calibration
