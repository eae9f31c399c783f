#include "campaign/by_hour.h"

#include <gtest/gtest.h>

namespace ergometer::campaign {
namespace {

constexpr spec::MeasureRange kWatts{"W", 1, 1e9};

TEST(ByHour, IsReadInOrder) {
  const auto series = parse_by_hour("hour,limit\n0,20 MW\n1,15 MW\n", "l.csv", "limit", kWatts);
  ASSERT_TRUE(series.has_value());
  EXPECT_EQ(*series, (std::vector<double>{20e6, 15e6}));
}

TEST(ByHour, SaysWhatIsWrong) {
  const auto said = [](std::string_view csv) {
    const auto series = parse_by_hour(csv, "l.csv", "limit", kWatts);
    return series ? std::string() : series.error().message;
  };
  EXPECT_EQ(said("hour,limit\n1,20 MW\n"),
            "l.csv:2: hour is '1'; allowed: 0, hours follow each other from 0");
  EXPECT_EQ(said("hour,limit\n"), "l.csv: holds no hour");
  EXPECT_TRUE(said("hour,limit\n0,much\n").starts_with("l.csv:2: limit: "));
}

}  // namespace
}  // namespace ergometer::campaign
