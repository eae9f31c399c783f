#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/output.h"
#include "engine/interval.h"
#include "spec/read.h"

namespace ergometer::calibration {
namespace {

std::vector<engine::Evidence> evidence(const std::vector<Sample>& samples) {
  struct Seen {
    std::set<std::string> groups;
    int64_t rows = 0, most_gpus = 0;
  };
  std::map<engine::EvidenceKey, Seen> seen;
  for (const Sample& sample : samples) {
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

/// The smallest deviation that nine parts in ten of the rows' weight reach at most.
double spread(const Calibration& calibration) {
  std::vector<std::pair<double, double>> rows;  // deviation, weight
  double whole = 0;
  for (size_t i = 0; i < calibration.rows.size(); ++i) {
    const Sample& sample = calibration.samples.rows[i];
    rows.emplace_back(std::abs(std::log(calibration.rows[i].cross_validated_s / sample.measured_s)),
                      sample.weight);
    whole += sample.weight;
  }
  std::sort(rows.begin(), rows.end());
  double sum = 0;
  for (const auto& [deviation, weight] : rows) {
    sum += weight;
    if (sum >= 0.9 * whole) return deviation;
  }
  return 0;
}

/// The table with another value of the term `base`, the rest as it stands.
base::Result<std::string> with_base(std::string_view table, double base, int64_t groups) {
  const size_t begin = table.find("\nbase,");
  if (begin == std::string_view::npos)
    return base::input_error("catalog/tables/uncertainty.csv: the term base is missing");
  const size_t end = std::min(table.find('\n', begin + 1), table.size());
  return fmt::format(
      "{}\nbase,{:.3f},\"nine in ten of {} cross-validated groups lie within 1.645 "
      "of it\",fitted{}",
      table.substr(0, begin), base, groups, table.substr(end));
}

}  // namespace

base::Result<std::vector<ChangedFile>> evidence_files(const Calibration& calibration) {
  std::vector<ChangedFile> files = {
      {"tables/evidence.csv", engine::evidence_csv(evidence(calibration.samples.rows))}};
  const spec::CatalogEntry* table = spec::find_in_catalog(spec::CatalogKind::kTable, "uncertainty");
  if (table == nullptr) return files;
  ERGOMETER_ASSIGN(std::string text, with_base(table->text, spread(calibration) / engine::kNormal90,
                                               calibration.cross_validated.groups));
  files.push_back({"tables/uncertainty.csv", std::move(text)});
  return files;
}

}  // namespace ergometer::calibration
