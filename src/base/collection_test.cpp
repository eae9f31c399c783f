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

TEST(Collection, TheLargestIsOfWhatIsMadeOfThem) {
  const std::vector<std::string> words = {"ab", "abcd", "a"};
  EXPECT_EQ(largest(words, size_t{3}, &std::string::size), 4U);
  EXPECT_EQ(largest(words, size_t{9}, &std::string::size), 9U);
  EXPECT_EQ(largest(std::vector<int64_t>{3, -1}, 0.5), 3.0);
  EXPECT_EQ(largest(std::vector<double>{}, -1.0), -1.0);
}

TEST(Collection, SortedEachOnce) {
  std::vector<int> values = {3, 1, 3, 2, 1};
  sort_unique(values);
  EXPECT_EQ(values, (std::vector{1, 2, 3}));
}

TEST(Collection, ValuesOfAMapByTheirKeys) {
  EXPECT_EQ(values_of(std::map<int, std::string>{{2, "b"}, {1, "a"}}),
            (std::vector<std::string>{"a", "b"}));
}

TEST(Collection, PointersLeadToTheValuesThemselves) {
  const std::vector<int> values = {5, 7};
  EXPECT_EQ(pointers_to(values), (std::vector<const int*>{values.data(), values.data() + 1}));
}

TEST(Collection, NoneHasAMedianOfZero) {
  EXPECT_EQ(upper_median(std::vector<double>{}), 0);
  EXPECT_EQ(lower_median(std::vector<int64_t>{}), 0);
  EXPECT_EQ(middle_median({}), 0);
}

}  // namespace
}  // namespace ergometer::base
