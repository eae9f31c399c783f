#include "base/collection.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace ergometer::base {
namespace {

struct Weight {
  std::string name;
  double kg = 0;
};
const std::vector<Weight> kWeights = {{"a", 1.5}, {"b", 2}};

TEST(Collection, MapsAndSumsMembersAndWhatFunctionsMakeOfThem) {
  EXPECT_EQ(mapped(kWeights, &Weight::name), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(mapped(kWeights, [](const Weight& w) { return w.kg > 1.5; }),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(sum(kWeights, &Weight::kg), 3.5);
  EXPECT_EQ(sum(std::vector<double>{}), 0);
}

TEST(Collection, LooksUpValues) {
  EXPECT_TRUE(contains(std::vector<int>{1, 2}, 2));
  EXPECT_FALSE(contains(std::vector<int>{1, 2}, 3));
  const std::map<std::string, int> ages = {{"a", 7}};
  EXPECT_EQ(value_or(ages, "a", 0), 7);
  EXPECT_EQ(value_or(ages, "b", -1), -1);
}

}  // namespace
}  // namespace ergometer::base
