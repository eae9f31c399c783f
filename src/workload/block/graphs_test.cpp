#include "workload/block/graphs.h"

#include <gtest/gtest.h>

namespace ergometer::workload {
namespace {

Operator named(Module module, const char* name) {
  Operator op;
  op.module = module;
  op.name = name;
  return op;
}

TEST(Graphs, WithoutAScopeTheyHoldEverything) {
  spec::Training training;
  EXPECT_FALSE(captures_everything(training));
  training.cuda_graphs = true;
  EXPECT_TRUE(captures_everything(training));
  training.cuda_graph_scope = {"attn"};
  EXPECT_FALSE(captures_everything(training));
  training.cuda_graph_scope = {"full_iteration"};
  EXPECT_TRUE(captures_everything(training));
}

TEST(Graphs, HoldTheirScopesOnly) {
  spec::Training training;
  training.cuda_graphs = true;
  training.cuda_graph_scope = {"attn", "moe_router", "moe_preprocess"};
  EXPECT_TRUE(captured(training, named(Module::kAttention, "qkv")));
  EXPECT_TRUE(captured(training, named(Module::kNorm, "input_norm")));
  EXPECT_TRUE(captured(training, named(Module::kNorm, "mlp_norm")));
  EXPECT_TRUE(captured(training, named(Module::kMoe, "router_topk")));
  EXPECT_TRUE(captured(training, named(Module::kMoe, "ep_all_gather_counts")));
  EXPECT_FALSE(captured(training, named(Module::kMoe, "expert_fc1")));
  EXPECT_FALSE(captured(training, named(Module::kMlp, "fc1")));
  EXPECT_FALSE(captured(training, named(Module::kOptimizer, "adam")));
}

}  // namespace
}  // namespace ergometer::workload
