#include "intake/run_files.h"

#include <gtest/gtest.h>

#include "intake/read_user_file.h"

namespace ergometer::intake {
namespace {

constexpr const char* kTrain =
    "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 8 "
    "--vocab-size 100 --tokenizer-type NullTokenizer\n";

/// A setting of a task of SkyPilot with these lines in front, or why it is refused.
std::string of_sky(const std::string& head, const char* setting, const std::string& words = "") {
  const std::string text = head + "run: |\n  torchrun " + words + " " + kTrain;
  EXPECT_EQ(form_of(text, "a.yaml"), FileForm::kRunFile);
  const auto reading = parse_run_file(text, "a.yaml");
  if (!reading) return reading.error().message;
  const auto* value = reading->settings.find(setting);
  return value == nullptr ? "" : value->text;
}

TEST(RunFiles, GpusThatSkyPilotAsksFor) {
  const std::string all =
      "--nnodes $SKYPILOT_NUM_NODES --nproc-per-node $SKYPILOT_NUM_GPUS_PER_NODE";
  EXPECT_EQ(of_sky("num_nodes: 4\nresources: {accelerators: \"H100:8\"}\n", "gpus", all), "32");
  EXPECT_EQ(of_sky("num_nodes: 2\nresources: {accelerators: \"H100:8\"}\n", "gpus",
                   "--nnodes $(echo \"$SKYPILOT_NODE_IPS\" | wc -l) --nproc-per-node 8"),
            "16");
  EXPECT_EQ(of_sky("resources: {accelerators: {H100: 8}}\n", "gpus", all), "8");
  EXPECT_EQ(of_sky("resources: {accelerators: [H100:4, A100:4]}\n", "gpus", all), "4");
  EXPECT_EQ(of_sky("num_nodes: 2\nresources: {accelerators: H100}\n", "gpus", all), "2");
  // A choice of other numbers: the command alone says how many.
  EXPECT_EQ(of_sky("resources: {accelerators: [H100:4, L4:8]}\n", "gpus", "--nproc-per-node 8"),
            "8");
  EXPECT_EQ(
      of_sky("num_nodes: 2\nresources: {accelerators: \"H100:8\"}\n", "gpus", "--nproc-per-node 8"),
      "a.yaml:2: 16 GPUs are asked for, and the command starts 8; make both the same");
}

TEST(RunFiles, VariablesOfATask) {
  const std::string head = "resources: {accelerators: \"H100:8\"}\nenvs: {LAYERS: 4}\n";
  const auto reading =
      parse_run_file(head + "run: torchrun --nproc-per-node 8 " + kTrain, "a.yaml");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->form, "a task of SkyPilot");
  EXPECT_EQ(of_sky(head, "tensor_model_parallel_size",
                   "--nproc-per-node 8 x.py --tensor-model-parallel-size $LAYERS --save"),
            "4");
}

TEST(RunFiles, ChoicesOfGpusThatASetHas) {
  const auto gpus = [](const std::string& set) {
    return of_sky("resources: {accelerators: " + set + "}\nnum_nodes: 2\n", "gpus",
                  "--nnodes 2 --nproc-per-node $SKYPILOT_NUM_GPUS_PER_NODE x.py");
  };
  EXPECT_EQ(gpus("{H100:8}"), "16");
  EXPECT_EQ(gpus("{H100:8, A100-80GB:8}"), "16");
  EXPECT_EQ(gpus("{H100: 4}"), "8");
}

TEST(RunFiles, TasksOfDstack) {
  const auto gpus = [](const std::string& resources) {
    const std::string text =
        "type: task\nnodes: 2\nenv: [A, TP=2]\ncommands:\n- echo a, b\n"
        "- torchrun --nnodes $DSTACK_NODES_NUM --nproc-per-node "
        "$DSTACK_GPUS_PER_NODE " +
        std::string(kTrain) + "    --tensor-model-parallel-size $TP\nresources: " + resources +
        "\n";
    EXPECT_EQ(form_of(text, "a.yaml"), FileForm::kRunFile);
    const auto reading = parse_run_file(text, "a.yaml");
    if (!reading) return reading.error().message;
    EXPECT_EQ(reading->settings.find("tensor_model_parallel_size")->text, "2");
    return reading->settings.find("gpus")->text;
  };
  EXPECT_EQ(gpus("{gpu: \"H100:8\"}"), "16");
  EXPECT_EQ(gpus("{gpu: \"80GB:4\"}"), "8");
  EXPECT_EQ(gpus("{gpu: {name: A100, count: 8}}"), "16");
  EXPECT_EQ(gpus("{gpu: \"A100:40GB..80GB:4\"}"), "8");
  EXPECT_EQ(gpus("{gpu: \"A100:4..8\"}"),
            "a.yaml:8: resources.gpu: found \"A100:4..8\", a range; allowed: how many GPUs a node "
            "has");
  EXPECT_NE(gpus("{gpu: {name: A100, count: 2..4}}").find("resources.gpu.count: found \"2..4\""),
            std::string::npos);
}

TEST(RunFiles, VariablesOfDstackWithCommas) {
  const auto reading = parse_run_file(
      "type: task\nenv:\n- SIZES=a,TP=4,2\n- TP=2\ncommands:\n- torchrun --nproc-per-node 2 " +
          std::string(kTrain) + "    --tensor-model-parallel-size ${SIZES##*,}\n",
      "a.yaml");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->settings.find("tensor_model_parallel_size")->text, "2");
}

TEST(RunFiles, RunsOfMcli) {
  const std::string text = std::string("gpu_num: 16\ncommand: composer train.py ") +
                           "/mnt/config/parameters.yaml\nparameters:\n"
                           "  model: {name: mpt_causal_lm, d_model: 64, n_heads: 2, n_layers: 2, "
                           "expansion_ratio: 4, max_seq_len: 8, vocab_size: 100}\n"
                           "  max_seq_len: 8\n  global_train_batch_size: 32\n"
                           "  device_train_microbatch_size: 2\n  precision: amp_bf16\n";
  EXPECT_EQ(form_of(text, "a.yaml"), FileForm::kRunFile);
  const auto reading = parse_run_file(text, "a.yaml");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->settings.find("gpus")->text, "16");
  EXPECT_EQ(reading->settings.find("micro_batch_size")->text, "2");
  EXPECT_EQ(reading->form, "a run of mcli");
  const auto idle = parse_run_file("gpu_num: 8\ncommand: sleep 100\n", "a.yaml");
  ASSERT_FALSE(idle);
  EXPECT_EQ(idle.error().message, "a.yaml: none of the programs that it starts trains a model");
}

}  // namespace
}  // namespace ergometer::intake
