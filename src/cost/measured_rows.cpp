#include "cost/measured_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace ergometer::cost {
namespace {

/// Fields of one line of CSV; quotes may hold commas and, doubled, quotes.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += line[i];
    }
  }
  return out;
}

std::vector<double> magnitudes(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values) out.push_back(std::abs(value));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string MeasuredRow::word(const std::string& key) const {
  const size_t at = (" " + config).find(" " + key + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 1;
  return config.substr(begin, config.find_first_of(", ", begin) - begin);
}

int64_t MeasuredRow::number(const std::string& key) const {
  const std::string text = word(key);
  EXPECT_FALSE(text.empty()) << id << " has no " << key;
  return text.empty() ? 1 : std::stoll(text);
}

std::vector<MeasuredRow> measured_rows() {
  std::ifstream file(ERGOMETER_SOURCE_DIR "/tests/validation/data/microbench.csv");
  EXPECT_TRUE(file.good());
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "id,kind,device,n_devices,config,value,unit,year,source,where");
  std::vector<MeasuredRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> field = fields(line);
    EXPECT_EQ(field.size(), 10u) << line;
    if (field.size() != 10) continue;
    rows.push_back({field[0], field[1], field[2], field[4], field[6], std::stoi(field[3]),
                    std::stod(field[5])});
  }
  return rows;
}

double Errors::median() const {
  const std::vector<double> sorted = magnitudes(values);
  const size_t middle = sorted.size() / 2;
  if (sorted.empty()) return 0;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Errors::mean() const {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double Errors::max() const { return values.empty() ? 0 : magnitudes(values).back(); }

void Errors::print(const std::string& title) const {
  double bias = 0;
  for (const double value : values) bias += value / static_cast<double>(values.size());
  fmt::print(
      "{:<34} {:>4} rows  median {:>5.1f} %  mean {:>5.1f} %  max {:>5.1f} %  bias {:>+5.1f} %\n",
      title, values.size(), 100 * median(), 100 * mean(), 100 * max(), 100 * bias);
}

}  // namespace ergometer::cost
