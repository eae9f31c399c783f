#include "study/finish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "study/by_code.h"
#include "study/figures.h"

namespace ergometer::study {
namespace {

std::string name_of(const run::StudyPoint& point) {
  return point.family.empty() ? point.id : point.family + "/" + point.id;
}

/// Settings that one of the two has otherwise, or has and the other does not.
std::vector<std::string> differing(const run::StudyPoint& a, const run::StudyPoint& b) {
  std::set<std::string> names;
  for (const auto* point : {&a, &b})
    for (const auto& [name, text] : point->settings) {
      const auto& other = point == &a ? b.settings : a.settings;
      const auto found = other.find(name);
      if (found == other.end() || found->second != text) names.insert(name);
    }
  return {names.begin(), names.end()};
}

/// The resolved job, the last member of the summary.
std::string_view job_of(const run::StudyPoint& point) {
  const size_t at = point.summary_json.rfind("\n  \"job\": ");
  return at == std::string::npos ? std::string_view()
                                 : std::string_view(point.summary_json).substr(at);
}

/// A model may be written in full or named: the job tells its sizes.
bool is_same_job(const std::vector<std::string>& names, const run::StudyPoint& a,
                 const run::StudyPoint& b) {
  if (names.empty()) return true;
  return names == std::vector<std::string>{"model"} && !job_of(a).empty() && job_of(a) == job_of(b);
}

std::string note(const run::StudyPoint& point, const run::StudyPoint& first) {
  const std::vector<std::string> names = differing(point, first);
  if (is_same_job(names, point, first)) return fmt::format("the same job as {}", name_of(first));
  return fmt::format("the same result as {}: {} {} no effect here", name_of(first),
                     fmt::join(names, ", "), names.size() == 1 ? "has" : "have");
}

}  // namespace

void note_equals(run::Study& study) {
  std::map<std::map<std::string, double>, size_t> seen;
  for (size_t i = 0; i < study.points.size(); ++i) {
    run::StudyPoint& point = study.points[i];
    if (point.values.empty()) continue;
    const auto [first, is_new] = seen.emplace(point.values, i);
    if (!is_new) point.notes.push_back(note(point, study.points[first->second]));
  }
}

void finish(const Definition& definition, run::Study& study) {
  note_equals(study);
  study.figures = make_figures(definition, study);
  study.findings.clear();
  const StudyCode* code = code_of(definition.name);
  if (code == nullptr) return;
  if (code->figures != nullptr)
    for (run::Figure& figure : code->figures(study)) study.figures.push_back(std::move(figure));
  if (code->findings != nullptr) study.findings = code->findings(study);
}

}  // namespace ergometer::study
