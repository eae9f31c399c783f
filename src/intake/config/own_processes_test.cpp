#include "intake/config/own_processes.h"

#include <gtest/gtest.h>

namespace ergometer::intake {
namespace {

const std::string* gpus_of(const Reading& reading) {
  const auto* value = reading.settings.find("gpus");
  return value == nullptr ? nullptr : &value->text;
}

TEST(OwnProcesses, VariablesListVisibleGpus) {
  EXPECT_FALSE(visible_gpus({}));
  EXPECT_FALSE(visible_gpus({{"CUDA_VISIBLE_DEVICES", ""}}));
  EXPECT_EQ(visible_gpus({{"CUDA_VISIBLE_DEVICES", "3"}})->count, 1);
  EXPECT_EQ(visible_gpus({{"ROCR_VISIBLE_DEVICES", "0,1,5"}})->count, 3);
  EXPECT_EQ(visible_gpus({{"CUDA_VISIBLE_DEVICES",
                           "\x01"
                           "7\x02"}})
                ->count,
            0);
}

TEST(OwnProcesses, OneProcessIsOnOneGpuUnlessTheTrainerSpreadsIt) {
  const OneProcess megatron = {{"run.sh:1", ""}, "pretrain_gpt.py", false, true};
  const OneProcess trainer = {{"run.sh:1", ""}, "train.py", true, true};
  OwnProcesses two;
  two.visible = VisibleGpus{2, "CUDA_VISIBLE_DEVICES=0,1"};
  Reading reading;
  count_own_gpus(two, megatron, reading);
  ASSERT_NE(gpus_of(reading), nullptr);
  EXPECT_EQ(*gpus_of(reading), "1");
  EXPECT_TRUE(reading.leftovers.empty());

  Reading spread;
  count_own_gpus(two, trainer, spread);
  ASSERT_NE(gpus_of(spread), nullptr);
  EXPECT_EQ(*gpus_of(spread), "2");
  ASSERT_EQ(spread.leftovers.size(), 1U);
  EXPECT_EQ(spread.leftovers.front().kind, Leftover::Kind::kNotModelled);

  Reading sharded;
  sharded.settings.set("zero", "3", {"train.py:2", "fsdp"});
  count_own_gpus(two, trainer, sharded);
  EXPECT_EQ(gpus_of(sharded), nullptr);
  EXPECT_TRUE(sharded.open.contains("gpus"));
}

TEST(OwnProcesses, WhatALauncherSaidStays) {
  Reading reading;
  reading.settings.set("gpus", "16", {"job.yaml:1", "num_processes"});
  OwnProcesses started;
  started.started = 4;
  count_own_gpus(started, {}, reading);
  EXPECT_EQ(*gpus_of(reading), "16");
}

}  // namespace
}  // namespace ergometer::intake
