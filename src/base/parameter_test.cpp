#include "base/parameter.h"

#include <gtest/gtest.h>

namespace ergometer::base {
namespace {

TEST(ParameterSet, FindsByNameAndKeepsTheSource) {
  ParameterSet set;
  set.set("tdp", {700, "W", "data sheet", Grade::kDatasheet});
  EXPECT_TRUE(set.has("tdp"));
  EXPECT_EQ(set.at("tdp"), 700);
  EXPECT_EQ(set.find("tdp")->source, "data sheet");
  EXPECT_EQ(to_string(set.find("tdp")->grade), "datasheet");
  EXPECT_EQ(set.find("l2"), nullptr);
  EXPECT_EQ(set.value_or("l2", 5), 5);
  EXPECT_EQ(set.value_or("tdp", 5), 700);
}

TEST(ParameterSetDeathTest, AMissingParameterIsOurBug) {
  EXPECT_EXIT(ParameterSet().at("l2"), testing::ExitedWithCode(70), "no parameter l2");
}

}  // namespace
}  // namespace ergometer::base
