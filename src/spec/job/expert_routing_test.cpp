#include "spec/job/expert_routing.h"

#include <gtest/gtest.h>

#include <string>

namespace ergometer::spec {
namespace {

TEST(ExpertRouting, ReadsEveryForm) {
  EXPECT_TRUE(parse_expert_routing("even", 8)->is_even());
  EXPECT_TRUE(parse_expert_routing("w0", 8)->is_even());
  const auto zipf = parse_expert_routing("zipf:1.2", 8);
  ASSERT_TRUE(zipf);
  EXPECT_EQ(zipf->kind, RoutingKind::kZipf);
  EXPECT_EQ(zipf->amount, 1.2);
  const auto hot = parse_expert_routing("w5", 8);
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->kind, RoutingKind::kHotRank);
  EXPECT_EQ(hot->amount, 2);
  EXPECT_EQ(hot->text, "w5");
}

TEST(ExpertRouting, CountsOfAnExpertThatIsNotNamedAreNone) {
  const auto counts = parse_expert_routing("counts:5,1,1;2,0,2", 4);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->counts, (std::vector<std::vector<double>>{{5, 1, 1, 0}, {2, 0, 2, 0}}));
}

// Rows of one expert add up, layers stand in order, what other columns say is left alone.
TEST(ExpertRouting, ReadsATableOfCounts) {
  const char* table = "step,layer,expert,tokens\n1,5,0,10\n2,5,0,20\n1,3,1,7\n1,5,1,2.5\n";
  EXPECT_EQ(*parse_expert_counts(table, "a.csv", 2), "counts:0,7;30,2.5");
}

TEST(ExpertRouting, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const auto routing = parse_expert_routing(text, 4);
    return routing ? std::string() : routing.error().message;
  };
  for (const char* text : {"", "zipf", "zipf:", "zipf:x", "zipf:9", "hot-rank:0.5", "w8", "hot:2"})
    EXPECT_NE(error(text).find("allowed: even, zipf:S"), std::string::npos) << text;
  EXPECT_EQ(error("counts:1,2,3,4,5"), "counts: layer 0 has 5 experts; the model has 4");
  EXPECT_EQ(error("counts:1,2;0,0"), "counts: layer 1 has no tokens");
  EXPECT_EQ(error("counts:1,-2"), "counts: found \"-2\"; allowed: numbers of tokens from 0");
  const auto table = parse_expert_counts("layer,expert,tokens\n0,4,1\n", "a.csv", 4);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message, "a.csv:2: expert: found \"4\"; allowed: 0 to 3");
  EXPECT_FALSE(parse_expert_counts("layer,expert\n0,1\n", "a.csv", 4));
  EXPECT_FALSE(parse_expert_counts("layer,expert,tokens\n", "a.csv", 4));
}

}  // namespace
}  // namespace ergometer::spec
