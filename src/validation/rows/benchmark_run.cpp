#include "validation/rows/benchmark_run.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "validation/rows/model_table.h"
#include "validation/rows/names.h"

namespace ergometer::validation {

std::optional<BenchmarkRun> benchmark_run(std::string_view release, std::string_view model,
                                          std::string_view task) {
  const base::CsvTable& table = catalog_table("benchmark_runs");
  const std::string key = parse_model_name(model).key;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    if (table.cell(row, "release") != release || table.cell(row, "task") != task ||
        parse_model_name(table.cell(row, "model")).key != key)
      continue;
    const auto number = [&](std::string_view column) {
      const auto value = base::parse_number(table.cell(row, column));
      ERGOMETER_CHECK(value.has_value(), "benchmark_runs.csv holds numbers");
      return *value;
    };
    return BenchmarkRun{.eval_every = number("eval_every"),
                        .eval_from = number("eval_from"),
                        .eval_samples = number("eval_samples"),
                        .eval_pause_s = number("eval_pause_s"),
                        .pause_s = number("pause_s"),
                        .pause_deviation = number("pause_deviation")};
  }
  return std::nullopt;
}

spec::RunPhases phases_of(const BenchmarkRun& run, double length_s, double global_batch) {
  return {.length_s = length_s,
          .eval_every = run.eval_every / global_batch,
          .eval_from = run.eval_from / global_batch,
          .eval_batches = std::ceil(run.eval_samples / global_batch),
          .eval_pause_s = run.eval_pause_s,
          .pause_s = std::min(run.pause_s, length_s)};
}

}  // namespace ergometer::validation
