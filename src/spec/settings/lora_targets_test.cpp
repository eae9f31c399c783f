#include "spec/settings/lora_targets.h"

#include <gtest/gtest.h>

namespace ergometer::spec {
namespace {

std::string targets(std::string_view words) {
  std::string unknown;
  return lora_targets(words, unknown).value_or("unknown: " + unknown);
}

TEST(LoraTargets, AreReadInAnyFrameworksWords) {
  EXPECT_EQ(targets("q_proj, v_proj"), "q,v");
  EXPECT_EQ(targets("q_proj,k_proj,v_proj,o_proj"), "qkv,proj");
  EXPECT_EQ(targets("wq,wv,qkv"), "qkv");
  EXPECT_EQ(targets("model.layers.0.self_attn.query_key_value,dense"), "qkv,proj");
  EXPECT_EQ(targets("c_attn,c_proj"), "qkv,proj,fc2");
  EXPECT_EQ(targets("gate_up_proj,down_proj"), "fc1,fc2");
  EXPECT_EQ(targets("all-linear"), "");
  EXPECT_EQ(targets("q_proj,lm_head"), "unknown: lm_head");
}

}  // namespace
}  // namespace ergometer::spec
