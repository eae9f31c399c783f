#include "run/study_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "run/summary_fields.h"

namespace ergometer::run {
namespace {

std::vector<std::string> names_of(const std::vector<StudyColumn>& columns, size_t most) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(most, columns.size()); ++i) names.push_back(columns[i].name);
  return names;
}

TEST(StudyColumns, AxesThenNamesThenNumbers) {
  Study study;
  study.axes = {{"tp", {"1", "2"}}, {"network", {"as built"}}};
  StudyPoint point;
  point.values = {{"performance.mfu", 0.5}, {"links.nic.utilization", 0.25}};
  study.points = {point};
  const std::vector<StudyColumn> columns = study_columns(study);
  EXPECT_EQ(names_of(columns, 7),
            (std::vector<std::string>{"tp", "network", "family", "id", "status", "reason",
                                      "performance.step_time_s"}));
  // All of the summary's numbers, though the point has but one of them, and then its own.
  EXPECT_EQ(columns.size(), 6 + summary_fields().size() + 1);
  EXPECT_EQ(columns.back().name, "links.nic.utilization");
}

TEST(StudyColumns, NamesNeverCollideInWhateverCase) {
  Study study;
  for (const char* name : {"status", "axis.status", "TP", "tp", "Memory.Peak_Bytes", "position"})
    study.axes.push_back({name, {"x"}});
  const std::vector<StudyColumn> columns = study_columns(study);
  EXPECT_EQ(names_of(columns, 6),
            (std::vector<std::string>{"axis.status", "axis.axis.status", "TP", "axis.tp",
                                      "axis.Memory.Peak_Bytes", "axis.position"}));
  std::set<std::string> seen;
  for (const StudyColumn& column : columns)
    EXPECT_TRUE(seen.insert(base::lower(column.name)).second) << column.name;
  StudyPoint point;
  point.axes = {{"status", "axis"}, {"TP", "1"}, {"tp", "2"}};
  EXPECT_EQ(std::get<std::string>(cell(point, columns[0])), "axis");
  EXPECT_EQ(std::get<std::string>(cell(point, columns[3])), "2");
}

TEST(StudyColumns, ACellWithoutValueHoldsNothing) {
  Study study;
  study.axes = {{"tp", {"1"}}};
  StudyPoint refused;
  refused.id = "x";
  refused.reason = "why";
  for (const StudyColumn& column : study_columns(study)) {
    const bool known = column.name == "id" || column.name == "status" || column.name == "reason";
    EXPECT_EQ(std::holds_alternative<std::monostate>(cell(refused, column)), !known) << column.name;
  }
}

}  // namespace
}  // namespace ergometer::run
