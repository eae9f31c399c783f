#include "page/time_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ergometer::page {
namespace {

TimeGrid grid_over(const std::vector<const Samples*>& lines, size_t most) {
  return TimeGrid(lines, most);
}

/// NaN as -1.
std::vector<double> shown(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double value : values) all.push_back(std::isnan(value) ? -1 : value);
  return all;
}

TEST(TimeGrid, FewTimesStandAsTheyAre) {
  const Samples a = {{0, 1}, {10, 2}, {20, 3}}, b = {{10, 5}, {20, 6}};
  const TimeGrid grid = grid_over({&a, &b}, 10);
  EXPECT_EQ(grid.times_ns(), (std::vector<int64_t>{0, 10, 20}));
  EXPECT_EQ(shown(grid.values(a)), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(shown(grid.values(b)), (std::vector<double>{-1, 5, 6}));
}

// A sensor that has nothing new adds no sample: the former value stands until its last one.
TEST(TimeGrid, AReadingStandsUntilTheNext) {
  const Samples all = {{0, 1}, {10, 1}, {20, 1}, {30, 1}}, rare = {{0, 7}, {20, 8}};
  const TimeGrid grid = grid_over({&all, &rare}, 10);
  EXPECT_EQ(shown(grid.values(rare)), (std::vector<double>{7, 7, 8, -1}));
}

// 0..7 in two buckets of four samples each: 5 is the first one's peak, 1 its trough, and the peak
// came first.
TEST(TimeGrid, ABucketShowsItsExtremesInTheirOrder) {
  const Samples line = {{0, 3}, {1, 5}, {2, 1}, {3, 2}, {4, 4}, {5, 4}, {6, 0}, {7, 9}};
  const TimeGrid grid = grid_over({&line}, 4);
  EXPECT_EQ(grid.times_ns(), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(shown(grid.values(line)), (std::vector<double>{5, 1, 0, 9}));
}

TEST(TimeGrid, OnePeakAmongAMillionIsNotLost) {
  Samples line;
  for (int64_t i = 0; i < 1'000'000; ++i) line.push_back({i * 1000, i == 765'432 ? 1000.0 : 1.0});
  const TimeGrid grid = grid_over({&line}, 2000);
  EXPECT_EQ(grid.times_ns().size(), 2000u);
  const std::vector<double> values = grid.values(line);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 1000.0);
}

// Devices that are read one after the other have hardly a time in common.
TEST(TimeGrid, TimesOfTheirOwnGoIntoBuckets) {
  Samples a, b;
  for (int64_t i = 0; i < 100; ++i) {
    a.push_back({i * 1000, 1});
    b.push_back({i * 1000 + 7, 2});
  }
  const TimeGrid grid = grid_over({&a, &b}, 1000);
  EXPECT_EQ(grid.times_ns().size(), 100u);
  for (const double value : grid.values(b)) EXPECT_EQ(value, 2);
}

TEST(TimeGrid, NothingOrOneSample) {
  const Samples none, one = {{5, 2}};
  EXPECT_TRUE(grid_over({}, 10).times_ns().empty());
  EXPECT_TRUE(grid_over({&none}, 10).times_ns().empty());
  const TimeGrid grid = grid_over({&none, &one}, 10);
  EXPECT_EQ(shown(grid.values(one)), (std::vector<double>{2}));
  EXPECT_EQ(shown(grid.values(none)), (std::vector<double>{-1}));
}

}  // namespace
}  // namespace ergometer::page
