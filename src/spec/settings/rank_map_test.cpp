#include "spec/settings/rank_map.h"

#include <gtest/gtest.h>

#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

using Gpus = std::vector<int64_t>;

TEST(RankMap, ReadsNumbersRangesAndComments) {
  EXPECT_EQ(*parse_rank_list("0-3,8,9, 5"), (Gpus{0, 1, 2, 3, 8, 9, 5}));
  EXPECT_EQ(*parse_rank_list("# node 0\n4-5\n0 # cool\n"), (Gpus{4, 5, 0}));
}

TEST(RankMap, WritesWhatItReads) {
  const Gpus map = {4, 5, 6, 7, 0, 1, 2, 3, 9, 8};
  EXPECT_EQ(rank_map_text(map), "4-7,0-3,9,8");
  EXPECT_EQ(*parse_rank_list(rank_map_text(map)), map);
}

TEST(RankMap, RefusesWhatIsNoList) {
  for (const char* text : {"0-x", "5-3", "-1", "0--3", "99999999", "0-1048575,0"})
    EXPECT_FALSE(parse_rank_list(text).has_value()) << text;
  EXPECT_FALSE(parse_rank_list("# nothing\n").has_value());
}

Settings mapped_settings(const char* map) {
  Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                    {"cluster", "hgx-h100"},
                                    {"gpus", "16"},
                                    {"tensor_model_parallel_size", "4"},
                                    {"pipeline_model_parallel_size", "2"},
                                    {"global_batch_size", "32"},
                                    {"rank_map", map}})
    settings.set(name, value, {"test", ""});
  return settings;
}

TEST(RankMap, IsAPermutationThatKeepsTensorGroupsTogether) {
  const auto good = resolve(mapped_settings("4-7,0-3,8-15"));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->parallelism.gpu_of(0), 4);
  for (const char* map : {"0-7", "0-7,0-7", "0-7,16-23", "0-2,8,3,9-15,4-7"})
    EXPECT_FALSE(resolve(mapped_settings(map)).has_value()) << map;
}

}  // namespace
}  // namespace ergometer::spec
