#include "run/sensor_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/collection.h"
#include "base/csv.h"
#include "base/text.h"
#include "run/sensor_errors_data.h"

namespace ergometer::run {
namespace {

constexpr double kHalf90 =
    1.6448536269514722;  ///< of a normal distribution, in standard deviations
/// Counters have a new value at least so often (assumed), however seldom they are read.
constexpr double kSlowestS = 1;
constexpr std::string_view kBetweenWords = " \t-_/()[],.";

struct SensorRow {
  std::string device, way;
  std::vector<std::string> names;
  SensorFacts facts;
};

std::vector<SensorRow> read_rows() {
  const std::string_view text(ergometer_sensor_errors,
                              ergometer_sensor_errors_end - ergometer_sensor_errors);
  const auto table = base::parse_csv(text, "catalog/tables/sensor_errors.csv");
  ERGOMETER_CHECK(table.has_value(), "the catalog's table of sensors");
  std::vector<SensorRow> rows;
  for (size_t i = 0; i < table->rows.size(); ++i) {
    const auto number = [&](const char* column) {
      return base::parse_number(table->cell(i, column)).value();
    };
    const std::string names = base::lower(table->cell(i, "names"));
    rows.push_back({std::string(table->cell(i, "device")),
                    std::string(table->cell(i, "way")),
                    names == "*" ? std::vector<std::string>() : base::split(names, '|'),
                    {number("own"), number("common"), number("window_s"), true}});
    // A controller, a meter or a package is what it is; of GPUs there are many.
    rows.back().facts.known = rows.back().device != "*" &&
                              (rows.back().device != "gpu" || !rows.back().names.empty()) &&
                              (rows.back().device != "cpu" || rows.back().way != "*");
  }
  return rows;
}

const std::vector<SensorRow>& all_rows() {
  static const std::vector<SensorRow> rows = read_rows();
  return rows;
}

bool is_called(const SensorRow& row, const std::vector<std::string_view>& words) {
  return row.names.empty() || std::ranges::any_of(words, [&](std::string_view word) {
           return base::contains(row.names, word);
         });
}

}  // namespace

SensorFacts sensor_facts(const Device& device, std::string_view way) {
  const std::string name = base::lower(device.name);
  std::vector<std::string_view> words = base::words(name, kBetweenWords);
  if (is_nvidia(device.uuid)) words.push_back("nvidia");
  for (const SensorRow& row : all_rows())
    if ((row.device == "*" || row.device == kind_name(device.kind)) &&
        (row.way == "*" || way.starts_with(row.way)) && is_called(row, words))
      return row.facts;
  return {};
}

double EnergyError::relative() const {
  return kHalf90 * std::sqrt(own * own + common * common + unseen * unseen);
}
double EnergyError::percent() const { return 100 * relative(); }

EnergyError gain_of(const SensorFacts& facts) {
  return {facts.own, facts.common, 0, facts.known, true};
}

double unseen(const SensorFacts& facts, const Looks& looks) {
  const auto square = [](double value) { return value * value; };
  double sum = square(looks.beat);
  if (looks.count > 0 && looks.interval_s > 0)
    sum += (1 - std::min(1.0, facts.window_s / looks.interval_s)) * square(looks.scatter) /
           looks.count;
  if (looks.duration_s > 0)
    sum += square(std::min({looks.counter_s, kSlowestS, looks.duration_s}) / looks.duration_s) / 6;
  return std::sqrt(sum);
}

EnergyError error_of_sum(std::span<const MeasuredEnergy> energies) {
  EnergyError sum;
  double all = 0;
  for (const auto& [energy_j, error] : energies) {
    all += energy_j;
    sum.own = std::hypot(sum.own, error.own * energy_j);
    sum.unseen += error.unseen * energy_j;
    sum.common += error.common * energy_j;
    sum.known = sum.known && error.known;
    sum.stated = sum.stated && (error.stated || energy_j == 0);
  }
  sum.stated = sum.stated && all > 0;
  if (!sum.stated) return sum;
  sum.own /= all;
  sum.unseen /= all;
  sum.common /= all;
  return sum;
}

}  // namespace ergometer::run
