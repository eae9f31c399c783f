#include "spec/collective/given_algorithms.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::spec {
namespace {

TEST(GivenAlgorithms, AreKeptInOrderAndOnce) {
  base::ParameterSet parameters;
  ASSERT_EQ(base::error_of(give_algorithm(all_pairs_file(2), "a.xml", parameters)), "");
  ASSERT_EQ(base::error_of(give_algorithm(exchange_file(2), "b.xml", parameters)), "");
  base::ParameterSet others;
  ASSERT_EQ(base::error_of(give_algorithm(all_pairs_file(2), "a.xml", others)), "");
  const auto given = given_algorithms(parameters);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[0]->name, "all-pairs");
  EXPECT_EQ(given[1]->name, "exchange");
  EXPECT_EQ(given_algorithms(others).front(), given[0]);
}

TEST(GivenAlgorithms, AKeyHoldsFilesOrTheirText) {
  EXPECT_TRUE(is_inline_algorithm(" \n<algo/>"));
  EXPECT_FALSE(is_inline_algorithm("algo.xml"));
  EXPECT_FALSE(is_inline_algorithm(""));
}

}  // namespace
}  // namespace ergometer::spec
