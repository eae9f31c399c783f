#include "calibration/folds.h"

#include <gtest/gtest.h>

namespace ergometer::calibration {
namespace {

Sample sample(const char* group, const char* series) {
  Sample result;
  result.group = group;
  result.series = series;
  return result;
}

TEST(Folds, KeepGroupsAndSeriesTogether) {
  // a and b share the series m, b spans m and n, so c with n goes along; d and e are free.
  const std::vector<size_t> folds =
      assign_folds({sample("a", "m"), sample("b", "m"), sample("b", "n"), sample("c", "n"),
                    sample("d", "o"), sample("e", "p"), sample("d", "o")},
                   2);
  // Three groups hang together and take fold 0; d and e then make fold 1 two groups.
  EXPECT_EQ(folds, (std::vector<size_t>{0, 0, 0, 0, 1, 1, 1}));
}

TEST(Folds, AreFilledEvenly) {
  const std::vector<size_t> folds =
      assign_folds({sample("a", "m"), sample("b", "n"), sample("c", "o"), sample("d", "p")}, 2);
  EXPECT_EQ(folds, (std::vector<size_t>{0, 1, 0, 1}));
}

}  // namespace
}  // namespace ergometer::calibration
