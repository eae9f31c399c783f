#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/parallel.h"
#include "calibration/output.h"
#include "engine/outcome/interval.h"
#include "engine/simulate.h"
#include "spec/catalog/read.h"

namespace ergometer::calibration {
namespace {

/// Variance of a prediction's interval that other terms than `base` make; as the catalog has it.
double other_variance(const spec::Job& job, double base) {
  const auto run = engine::simulate(job, {});
  if (!run) return 0;
  const run::Performance& p = run->performance;
  const double sigma = std::log(p.step_time_s_high / p.step_time_s_low) / (2 * engine::kNormal90);
  return std::max(0.0, sigma * sigma - base * base);
}

/// The smallest base with which nine parts in ten of the rows' weight lie within their intervals.
double fitted_base(const Calibration& calibration, double catalog_base) {
  const size_t count = calibration.rows.size();
  std::vector<double> others(count);
  base::parallel_for(count, std::max(1U, std::thread::hardware_concurrency()), [&](size_t i) {
    others[i] = other_variance(calibration.samples.rows[i].job, catalog_base);
  });
  std::vector<std::pair<double, double>> rows;  // base that holds it, weight
  double whole = 0;
  for (size_t i = 0; i < calibration.rows.size(); ++i) {
    const Sample& sample = calibration.samples.rows[i];
    const double sigmas =
        std::log(calibration.rows[i].cross_validated_s / sample.measured_s) / engine::kNormal90;
    rows.emplace_back(std::sqrt(std::max(0.0, sigmas * sigmas - others[i])), sample.weight);
    whole += sample.weight;
  }
  std::sort(rows.begin(), rows.end());
  double sum = 0;
  for (const auto& [needed, weight] : rows) {
    sum += weight;
    if (sum >= 0.9 * whole) return needed;
  }
  return 0;
}

/// The table with another value of the term `base`, the rest as it stands.
Result<std::string> with_base(std::string_view table, double base, int64_t groups) {
  const size_t begin = table.find("\nbase,");
  if (begin == std::string_view::npos)
    return input_error("catalog/tables/uncertainty.csv: the term base is missing");
  const size_t end = std::min(table.find('\n', begin + 1), table.size());
  return fmt::format(
      "{}\nbase,{:.3f},\"with it nine in ten of {} cross-validated groups lie within their "
      "intervals\",fitted{}",
      table.substr(0, begin), base, groups, table.substr(end));
}

}  // namespace

Result<std::vector<ChangedFile>> evidence_files(const Calibration& calibration) {
  std::vector<ChangedFile> files = {{"tables/evidence.csv", engine::evidence_csv(evidence_without(
                                                                calibration.samples.rows, {}))}};
  const spec::CatalogEntry* table = spec::find_in_catalog(spec::CatalogKind::kTable, "uncertainty");
  if (table == nullptr) return files;
  ERGOMETER_ASSIGN(const engine::Uncertainty known,
                   engine::parse_uncertainty(table->text, "catalog/tables/uncertainty.csv"));
  ERGOMETER_ASSIGN(std::string text, with_base(table->text, fitted_base(calibration, known.base),
                                               calibration.cross_validated.groups));
  files.push_back({"tables/uncertainty.csv", std::move(text)});
  return files;
}

}  // namespace ergometer::calibration
