#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/table.h"
#include "base/text.h"
#include "report/summary/job_view.h"
#include "study/output/output.h"

namespace ergometer::study {
namespace {

using Points = std::vector<const run::StudyPoint*>;

std::string rate(double tokens_per_s) {
  return base::format_count(std::llround(tokens_per_s)) + " tokens/s";
}
std::string efficiency(double tokens_per_j) { return fmt::format("{:.3g} tokens/J", tokens_per_j); }
std::string temperature(double degrees) { return fmt::format("{:.1f} C", degrees); }

/// What one may look for in a study, and the number that says who has it.
struct Aim {
  std::string_view title, number;
  bool most;  ///< else the least
  std::string (*text)(double);
};
constexpr std::array kAims = std::to_array<Aim>({
    {"fastest", "performance.tokens_per_s", true, rate},
    {"least energy", "power.tokens_per_j", true, efficiency},
    {"coolest", "thermal.max_gpu_c", false, temperature},
});

/// Rows that are alternatives to each other: one model, trained or used in one way. The job is the
/// last member of the summary.
std::string task_of(const run::StudyPoint& point) {
  constexpr std::string_view kJob = "\n  \"job\": ";
  const std::string& summary = point.summary_json;
  const size_t at = summary.rfind(kJob);
  if (at == std::string::npos) return {};
  const size_t start = at + kJob.size();
  const report::JobView job = report::view_job(summary.substr(start, summary.rfind('}') - start));
  return job.mode.empty() || job.mode == "pretrain" ? job.model : job.model + " " + job.mode;
}

/// The first of the best; null where nobody has the number.
const run::StudyPoint* best_of(const Points& points, const Aim& aim) {
  const std::string name(aim.number);
  const run::StudyPoint* best = nullptr;
  for (const run::StudyPoint* point : points) {
    const auto value = point->values.find(name);
    if (value == point->values.end()) continue;
    if (best == nullptr ||
        (aim.most ? value->second > best->values.at(name) : value->second < best->values.at(name)))
      best = point;
  }
  return best;
}

/// Jobs with rows to choose from, in the order of their first rows.
std::vector<std::pair<std::string, Points>> choices(const run::Study& study) {
  std::vector<std::pair<std::string, Points>> jobs;
  for (const run::StudyPoint& point : study.points) {
    if (point.status != run::PointStatus::kOk) continue;
    const std::string job = task_of(point);
    auto found =
        std::find_if(jobs.begin(), jobs.end(), [&](const auto& it) { return it.first == job; });
    if (found == jobs.end()) found = jobs.insert(jobs.end(), {job, {}});
    found->second.push_back(&point);
  }
  std::erase_if(jobs, [](const auto& job) { return job.second.size() < 2; });
  return jobs;
}

}  // namespace

std::string best_text(const run::Study& study, const report::TextStyle& style) {
  const auto jobs = choices(study);
  if (jobs.empty()) return {};
  const bool several = jobs.size() > 1;
  base::Table table(several ? "< <13 > <" : "<13 > <");
  for (const auto& [job, points] : jobs) {
    std::string name = job;
    for (const Aim& aim : kAims) {
      const run::StudyPoint* best = best_of(points, aim);
      if (best == nullptr) continue;
      std::vector<std::string> cells = {
          std::string(aim.title), aim.text(best->values.at(std::string(aim.number))),
          best->family.empty() ? best->id : best->family + "/" + best->id};
      if (several) cells.insert(cells.begin(), std::exchange(name, ""));
      table.add(std::move(cells));
    }
  }
  return report::heading(
             style, several ? "The best rows that fit, model by model" : "The best rows that fit") +
         table.text(style.width);
}

}  // namespace ergometer::study
