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

std::string note(const run::StudyPoint& point, const run::StudyPoint& first) {
  const std::vector<std::string> names = differing(point, first);
  if (names.empty()) return fmt::format("the same job as {}", name_of(first));
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
