#include "study/charllm/as_measured.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace ergometer::study {
namespace {

using charllm::Found;
using charllm::Measure;
using run::Agreement;

Found found(double value, Agreement agrees, int64_t point, double low, double high) {
  Found result;
  result.finding.predicted = fmt::format("text of {}", value);
  result.finding.agrees = agrees;
  result.finding.points = {point};
  result.measure = Measure{value, " %", low, high};
  return result;
}

const std::vector<std::string> kThree = {"boards 1, 20 C", "boards 2, 20 C", "boards 1, 40 C"};

TEST(AsMeasured, ASpreadTellsItsMiddleAndWhereItAgrees) {
  const run::StudyFinding spread =
      charllm::spread_of({found(-3.9, Agreement::kNo, 1, 0, charllm::kAny),
                          found(1.5, Agreement::kYes, 4, 0, charllm::kAny),
                          found(-1.9, Agreement::kInPart, 7, 0, charllm::kAny)},
                         kThree);
  EXPECT_EQ(spread.predicted,
            "-1.9 % (-3.9 to 1.5), as reported under 1 of 3 conditions (boards 2, 20 C); "
            "boards 1, 40 C: text of -1.9");
  EXPECT_EQ(spread.agrees, Agreement::kInPart);
  EXPECT_EQ(spread.points, (std::vector<int64_t>{1, 4, 7}));
}

TEST(AsMeasured, MostConditionsDecide) {
  const auto agrees = [](Agreement a, Agreement b, Agreement c, double reported) {
    return charllm::spread_of(
               {found(1, a, 0, reported, reported), found(2, b, 0, reported, reported),
                found(3, c, 0, reported, reported)},
               kThree)
        .agrees;
  };
  EXPECT_EQ(agrees(Agreement::kYes, Agreement::kYes, Agreement::kNo, 9), Agreement::kYes);
  EXPECT_EQ(agrees(Agreement::kNo, Agreement::kInPart, Agreement::kInPart, 9), Agreement::kInPart);
  EXPECT_EQ(agrees(Agreement::kNo, Agreement::kInPart, Agreement::kNo, 9), Agreement::kNo);
  // Nowhere as reported, but what was reported lies between the lowest and the highest.
  EXPECT_EQ(agrees(Agreement::kNo, Agreement::kNo, Agreement::kNo, 2.5), Agreement::kInPart);
}

TEST(AsMeasured, EveryJobIsPlayedUnderEveryCondition) {
  const auto points = as_measured_points();
  ASSERT_TRUE(points) << points.error().message;
  std::set<std::pair<std::string, std::string>> names;
  std::map<std::pair<std::string, std::string>, size_t> in_condition;
  for (const Point& point : *points) {
    EXPECT_TRUE(names.emplace(point.family, point.id).second) << point.family << "/" << point.id;
    ++in_condition[{point.axes.at("seed"), point.axes.at("room")}];
    const auto& all = point.settings.all();
    EXPECT_EQ(all.at("measured_step").text, "11");
    EXPECT_EQ(all.at("seed").text, point.axes.at("seed"));
    EXPECT_EQ(all.at("inlet_c").text + " C", point.axes.at("room"));
  }
  ASSERT_EQ(in_condition.size(), 9u);
  for (const auto& [condition, count] : in_condition) EXPECT_EQ(count, points->size() / 9);
  for (size_t i = 0; i < points->size() / 9; ++i) {
    const auto job = spec::resolve((*points)[i].settings);
    EXPECT_TRUE(job || (*points)[i].refusal) << (*points)[i].id;
  }
}

}  // namespace
}  // namespace ergometer::study
