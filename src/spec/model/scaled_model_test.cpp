#include "spec/model/scaled_model.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

Settings of(const char* model) {
  Settings settings;
  settings.set("model", model, {"test", ""});
  return settings;
}

TEST(ScaledModel, WidthInStepUnderTheKeysThatTheFileHas) {
  const auto text =
      scaled_model(of("gpt3-175b"), {.hidden = 6144, .ffn = 24576, .heads = 48, .kv_heads = 48});
  ASSERT_TRUE(text) << text.error().message;
  const auto model = read_model(*text);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->hidden, 6144);
  EXPECT_EQ(model->heads, 48);
  EXPECT_EQ(model->head_dim, 128);
  EXPECT_EQ(model->ffn, 24576);
  EXPECT_EQ(model->name, "gpt3-175b-scaled");
  EXPECT_EQ(model->layer_count(), 96);
}

TEST(ScaledModel, FewerExpertsAndDenseLayers) {
  const auto text = scaled_model(of("deepseek-v3"), {.experts = 64, .first_dense = 1});
  ASSERT_TRUE(text) << text.error().message;
  const auto model = read_model(*text);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->experts.count, 64);
  EXPECT_FALSE(model->layers[0].moe);
  EXPECT_TRUE(model->layers[1].moe);
  EXPECT_EQ(model->hidden, 7168);
}

TEST(ScaledModel, WhatIsNoModelIsRefused) {
  EXPECT_FALSE(scaled_model(Settings(), {.hidden = 64}));
  EXPECT_FALSE(scaled_model(of("gpt2"), {.experts = 4}));
  EXPECT_FALSE(scaled_model(of("gpt2"), {.hidden = 700}));
}

}  // namespace
}  // namespace ergometer::spec
