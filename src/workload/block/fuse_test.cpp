#include "workload/block/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using namespace test;

/// What stands in a list from one word to another.
std::vector<std::string> words_between(const Workload& workload, const std::vector<Item>& items,
                                       const std::string& first, const std::string& last) {
  const std::vector<std::string> all = words(workload, items);
  const auto from = std::ranges::find(all, first);
  return {from, std::find(from, all.end(), last) + (from == all.end() ? 0 : 1)};
}

// Llama 3 70B at TP 4, 8192 tokens: the gather in front of qkv, which is 10240 / 4 wide, and the
// scatter behind proj.
TEST(Fuse, GatherAndScatterWithTheirProducts) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  const Workload apart = lower(job);
  job.training.fuse = {"ag-gemm", "gemm-rs"};
  const Workload fused = lower(job);
  const std::vector<Item>& forward = layer_block(fused, 0).forward;
  EXPECT_EQ(words_between(fused, forward, "input_norm", "tp_reduce_scatter_fused"),
            (std::vector<std::string>{"input_norm", "tp_all_gather_fused", "qkv", "rope",
                                      "core_attention", "proj", "tp_reduce_scatter_fused"}));
  // What three other members send, or get, of 2 bytes x 8192 rows x 8192 stays on the chip.
  constexpr double kKept = 2.0 * 8192 * 8192 * 3 / 4;
  for (const char* product : {"qkv", "proj"})
    EXPECT_DOUBLE_EQ(find_op(fused, forward, product).bytes,
                     find_op(apart, layer_block(apart, 0).forward, product).bytes - kKept);
  const Operator& gather = find_op(fused, forward, "tp_all_gather_fused");
  EXPECT_EQ(gather.kernels, 0);
  EXPECT_EQ(gather.fused->inside.name, "qkv");
  EXPECT_FALSE(gather.fused->comes_first);
  EXPECT_TRUE(find_op(fused, forward, "tp_reduce_scatter_fused").fused->comes_first);
  EXPECT_EQ(gather.comm_bytes,
            find_op(apart, layer_block(apart, 0).forward, "tp_all_gather").comm_bytes);
}

// Backward gathers dy in front of fc2's gradient; the scatter of the input's gradient already runs
// beside the weight's.
TEST(Fuse, OnlyWhatIsInLine) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.fuse = {"ag-gemm", "gemm-rs"};
  const Workload fused = lower(job);
  const std::vector<Item>& backward = layer_block(fused, 0).backward;
  EXPECT_EQ(words(fused, backward)[0], "tp_all_gather_fused");
  EXPECT_EQ(words(fused, backward)[1], "fc2_dgrad");
  EXPECT_TRUE(base::contains(words(fused, backward), std::string("tp_reduce_scatter@tensor")));
}

TEST(Fuse, OnlyWhatIsAskedFor) {
  spec::Job job = job_of(llama3_70b(), 8192, 4);
  job.training.fuse = {"gemm-rs"};
  const Workload fused = lower(job);
  const auto forward = words(fused, layer_block(fused, 0).forward);
  EXPECT_TRUE(base::contains(forward, std::string("tp_all_gather")));
  EXPECT_TRUE(base::contains(forward, std::string("tp_reduce_scatter_fused")));
}

// Mixtral at EP 4: two experts a rank, whose chunks a fused product needs not sorted.
TEST(Fuse, TokensOfExperts) {
  spec::Job job = job_of(mixtral_8x7b(), 4096, 1, 4);
  job.parallelism.ep = 4;
  job.parallelism.etp = 1;
  job.training.fuse = {"a2a-gemm"};
  const Workload fused = lower(job);
  EXPECT_EQ(
      words_between(fused, layer_block(fused, 0).forward, "ep_all_to_all_dispatch_fused",
                    "ep_all_to_all_combine_fused"),
      (std::vector<std::string>{"ep_all_to_all_dispatch_fused", "expert_fc1", "expert_activation",
                                "expert_fc2", "ep_all_to_all_combine_fused"}));
  EXPECT_EQ(words_between(fused, layer_block(fused, 0).backward, "ep_all_to_all_combine_fused",
                          "expert_fc2_dgrad"),
            (std::vector<std::string>{"ep_all_to_all_combine_fused", "expert_fc2_dgrad"}));
}

}  // namespace
}  // namespace ergometer::workload
