#include "import/text/rank_name.h"

#include <gtest/gtest.h>

namespace ergometer::importer {
namespace {

TEST(RankInName, ReadsTheSpellingsInUse) {
  EXPECT_EQ(rank_in_name("rank-0.json"), 0);
  EXPECT_EQ(rank_in_name("rank0_iter16_18.json"), 0);
  EXPECT_EQ(rank_in_name("a/b/trace_rank[5].json.gz"), 5);
  EXPECT_EQ(rank_in_name("worker3_step_12.1694128201557.pt.trace.json"), 3);
  EXPECT_EQ(rank_in_name("mi300_act_checkpoint_rank12of16.json"), 12);
  EXPECT_EQ(rank_in_name("Rank_7.json"), 7);
  EXPECT_EQ(rank_in_name("rank=3/trace.json"), 3);
}

TEST(RankInName, TakesTheFilesOwnNameFirst) {
  EXPECT_EQ(rank_in_name("rank_1/trace_rank_2.json"), 2);
  EXPECT_EQ(rank_in_name("rank_1/trace.json"), 1);
  EXPECT_EQ(rank_in_name("nemo_globalrank-9_localrank-1.json"), 9);
}

TEST(RankInName, KnowsWhenThereIsNone) {
  EXPECT_EQ(rank_in_name("trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("ranking.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank_of_all.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("localrank-1.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank123456789012.json"), std::nullopt);
}

}  // namespace
}  // namespace ergometer::importer
