#include "calibration/left_out.h"

#include "base/parallel.h"
#include "engine/outcome/evidence_tables.h"
#include "engine/prepared.h"
#include "validation/evidence.h"

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
  validation::EvidenceCount kinds;
  for (const Sample& sample : samples)
    if (source.empty() || sample.source != source)
      kinds.add(engine::evidence_key(sample.job), sample.group, sample.job.gpus);
  return kinds.rows();
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
