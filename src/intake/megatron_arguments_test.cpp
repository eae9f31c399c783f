#include <gtest/gtest.h>
#include <unistd.h>

#include "intake/launch_script.h"
#include "spec/files/test_file.h"

namespace ergometer::intake {
namespace {

using Texts = std::vector<std::string>;
using spec::Origin;
using spec::Precision;
using spec::Recompute;
using spec::resolve;
using spec::Settings;
using spec::TestFile;

constexpr std::string_view kScript = R"(#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
DISTRIBUTED_ARGS=( --nproc_per_node $GPUS_PER_NODE --nnodes 2 )
MODEL_ARGS=(
  --num-layers 16
  --hidden-size 2048
  --num-attention-heads 16
  --tokenizer-type GPT2BPETokenizer
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py ${MODEL_ARGS[@]} \
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size=4 \
  --sequence-parallel --use-distributed-optimizer --bf16 \
  --micro-batch-size 2 --global-batch-size 64 --seq-length 1024 \
  --recompute-activations --lr 0.0001 --save /nowhere
)";

// As Megatron-Core's transformer_config.py turns it into --recompute-modules.
TEST(MegatronArguments, LayersOfExpertsAgain) {
  const auto again = [](const std::string& words) {
    const TestFile file("experts.sh",
                        "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --bf16 "
                        "--micro-batch-size 1 --moe-layer-recompute " +
                            words + "\n");
    Texts ignored;
    const auto settings = parse_megatron_arguments(file.text, file.path, ignored);
    if (!settings) return settings.error().message;
    const auto* modules = settings->find("recompute_modules");
    return settings->find("recompute_granularity")->text + " " +
           (modules == nullptr ? "-" : modules->text);
  };
  EXPECT_EQ(again(""), "selective core_attn,moe");
  EXPECT_EQ(again("--recompute-granularity selective --recompute-modules mla_up_proj"),
            "selective mla_up_proj,moe");
  EXPECT_EQ(again("--recompute-granularity selective --recompute-modules moe"), "selective moe");
  EXPECT_EQ(
      again("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"),
      "full -");
}

// The implementation is what switches graphs on; --enable-cuda-graph is its older word.
TEST(MegatronArguments, GraphsByTheirImplementation) {
  const auto graphs = [](const std::string& words) {
    const TestFile file("graphs.sh",
                        "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --bf16 "
                        "--micro-batch-size 1 " +
                            words);
    std::vector<std::string> ignored;
    const auto settings = parse_megatron_arguments(file.text, file.path, ignored);
    const auto* value = settings ? settings->find("cuda_graphs") : nullptr;
    return value == nullptr ? "-" : value->text;
  };
  EXPECT_EQ(graphs("--cuda-graph-impl local"), "true");
  EXPECT_EQ(graphs("--cuda-graph-impl none"), "false");
  EXPECT_EQ(graphs("--enable-cuda-graph"), "true");
  EXPECT_EQ(graphs(""), "-");
}

TEST(MegatronArguments, StatesOfThePrecisionAwareOptimizer) {
  const TestFile file("narrow.sh",
                      "torchrun pretrain_gpt.py --bf16 --use-distributed-optimizer "
                      "--micro-batch-size 1 --use-precision-aware-optimizer --exp-avg-dtype bf16");
  std::vector<std::string> ignored;
  const auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_NE(settings->find("use_precision_aware_optimizer"), nullptr);
  EXPECT_EQ(settings->find("use_precision_aware_optimizer")->text, "true");
  ASSERT_NE(settings->find("optimizer_moments"), nullptr);
  EXPECT_EQ(settings->find("optimizer_moments")->text, "bf16");
  EXPECT_TRUE(ignored.empty());
}

TEST(MegatronArguments, ALaunchScript) {
  const TestFile file("launch.sh", kScript);
  std::vector<std::string> ignored;
  auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(ignored, (Texts{"--lr", "--save"}));
  EXPECT_EQ(settings->find("gpus")->text, "16");
  EXPECT_EQ(settings->find("tensor_model_parallel_size")->origin.text, file.path + ":12");
  settings->set("cluster", "dgx-a100", Origin{"--cluster", ""});
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.hidden, 2048);
  EXPECT_EQ(job->model.vocab, 50257);
  EXPECT_EQ(job->parallelism.dp, 2);  // 16 / (2 x 4)
  EXPECT_EQ(job->parallelism.zero_stage, 1);
  EXPECT_EQ(job->training.recompute, Recompute::kSelective);
  EXPECT_EQ(job->training.precision, Precision::kBf16);
}

TEST(MegatronArguments, WhatIsNotGivenIsOff) {
  const TestFile file("off.sh",
                      "x --num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 "
                      "--tensor-model-parallel-size 2\n");
  std::vector<std::string> ignored;
  auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings);
  settings->set("cluster", "dgx-a100", Origin{"--cluster", ""});
  const auto job = resolve(*settings);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->parallelism.zero_stage, 0);
  EXPECT_FALSE(job->parallelism.sequence_parallel);
  EXPECT_EQ(job->training.precision, Precision::kFp32);
}

TEST(MegatronArguments, ModelArgsYaml) {
  const TestFile file(
      "test.yaml",
      "ENV_VARS:\n  A: 1\nMODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n"
      "  --num-attention-heads: 8\n  --vocab-size: 1000\n  --swiglu: true\n  --fp16: false\n"
      "  --bf16: true\n  --pipeline-model-parallel-size: 4\n");
  std::vector<std::string> ignored;
  auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->find("pipeline_model_parallel_size")->text, "4");
  EXPECT_EQ(settings->find("fp16"), nullptr);
  EXPECT_NE(settings->find("model")->text.find("\"swiglu\":true"), std::string::npos);
}

TEST(MegatronArguments, ListsAndOtherPeoplesFlags) {
  const TestFile file("lists.sh",
                      "docker run --gpus all image x --recompute-granularity selective \\\n"
                      "  --recompute-modules core_attn layernorm --cp-comm-type p2p\n");
  std::vector<std::string> ignored;
  const auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->find("recompute_modules")->text, "core_attn,layernorm");
  EXPECT_EQ(settings->find("gpus"), nullptr);
}

TEST(MegatronArguments, NothingIsRecomputedWithoutAGranularity) {
  const TestFile file("idle.sh", "x --recompute-method uniform --recompute-num-layers 1 --bf16\n");
  std::vector<std::string> ignored;
  const auto settings = parse_megatron_arguments(file.text, file.path, ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->find("recompute_method"), nullptr);
  EXPECT_EQ(settings->find("recompute_num_layers"), nullptr);
}

TEST(MegatronArguments, LayersWithoutTransformerEngineFuseNoAttention) {
  const auto backend = [](const std::string& words) -> std::string {
    Texts none;
    const auto read = parse_megatron_arguments("x --bf16 " + words, "x.sh", none);
    const auto* value = read ? read->find("attention_backend") : nullptr;
    return value == nullptr ? "-" : value->text;
  };
  EXPECT_EQ(backend(""), "-");
  EXPECT_EQ(backend("--transformer-impl transformer_engine"), "-");
  EXPECT_EQ(backend("--transformer-impl local"), "unfused");
  EXPECT_EQ(backend("--use-legacy-models"), "unfused");
  EXPECT_EQ(backend("--spec local"), "unfused");
  EXPECT_EQ(backend("--spec pkg.specs mamba_stack_spec"), "-");
  EXPECT_EQ(backend("--use-flash-attn --transformer-impl local"), "fused");
}

TEST(MegatronArguments, DeepSpeedReducesAsItsFileSays) {
  Texts ignored;
  const std::string words = "x --bf16 --accumulate-allreduce-grads-in-fp32";
  EXPECT_EQ(parse_megatron_arguments(words, "x.sh", ignored)->find("grad_reduce_in_bf16")->text,
            "false");
  EXPECT_EQ(ignored, Texts());
  EXPECT_EQ(parse_megatron_arguments(words + " --deepspeed", "x.sh", ignored)
                ->find("grad_reduce_in_bf16"),
            nullptr);
  EXPECT_EQ(ignored, Texts{"--accumulate-allreduce-grads-in-fp32"});
}

// _NullTokenizer.vocab_size is what it is told and one for the end of a document; what is padded
// already says all.
TEST(MegatronArguments, TheNullTokenizerAddsOneWord) {
  const auto model = [](const std::string& more) {
    const auto reading = parse_launch_script(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 "
        "--num-attention-heads 2 --vocab-size 512 " +
            more + "\n",
        "run.sh");
    return reading ? reading->settings.find("model")->text : reading.error().message;
  };
  EXPECT_NE(model("").find("\"vocab_size\":512"), std::string::npos);
  const std::string null = "--tokenizer-type NullTokenizer";
  EXPECT_NE(model(null).find("\"vocab_size\":513"), std::string::npos) << model(null);
  EXPECT_NE(model(null + " --padded-vocab-size 640").find("\"vocab_size\":640"), std::string::npos);
}

// A token sees as many before it as the first number says, and itself.
TEST(MegatronArguments, WindowsOfAttention) {
  const auto model = [](const std::string& window) {
    const auto reading = parse_launch_script(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 "
        "--num-attention-heads 2 --vocab-size 512 --softmax-type learnable "
        "--window-attn-skip-freq 2 --window-size " +
            window,
        "run.sh");
    return reading ? reading->settings.find("model")->text : reading.error().message;
  };
  for (const char* window : {"127,0", "'(127, 0)'"}) {
    const std::string text = model(window);
    EXPECT_NE(text.find("\"window_size\":128"), text.npos) << text;
    EXPECT_NE(text.find("\"window_attn_skip_freq\":2"), text.npos) << text;
    EXPECT_NE(text.find("\"softmax_type\":\"learnable\""), text.npos) << text;
  }
  EXPECT_NE(model("-1,-1").find("\"window_size\":0"), std::string::npos);
  EXPECT_NE(model("''").find("--window-size: found nothing"), std::string::npos);
  EXPECT_EQ(model("127"),
            "run.sh:1: --window-size: found \"127\"; allowed: two whole numbers such as 128,0");
}

TEST(MegatronArguments, WordsForEveryLayerAreOneForAll) {
  Texts ignored;
  EXPECT_EQ(parse_megatron_arguments("x --cp-comm-type a2a a2a", "x.sh", ignored)
                ->find("cp_comm_type")
                ->text,
            "a2a");
  EXPECT_EQ(parse_megatron_arguments("x --cp-comm-type p2p a2a", "x.sh", ignored).error().message,
            "x.sh:1: --cp-comm-type: found \"p2p,a2a\", another one for some layers; allowed: one "
            "for all");
}

TEST(MegatronArguments, FsdpUnderItsThreeNames) {
  std::vector<std::string> ignored;
  const TestFile full(
      "full.sh",
      "x --use-megatron-fsdp --use-distributed-optimizer --data-parallel-sharding-strategy "
      "optim_grads_params\n");
  EXPECT_EQ(parse_megatron_arguments(full.text, full.path, ignored)->find("zero")->text, "3");
  const TestFile torch("torch.sh", "x --use-torch-fsdp2 --use-distributed-optimizer\n");
  EXPECT_EQ(parse_megatron_arguments(torch.text, torch.path, ignored)->find("zero")->text, "3");
  // The order makes no difference, and without a strategy nothing is sharded.
  const auto zero = [](const std::string& words) {
    Texts none;
    const auto read = parse_megatron_arguments("x --use-megatron-fsdp " + words, "x.sh", none);
    return read ? read->find("zero")->text : read.error().message;
  };
  const std::string grads = "--data-parallel-sharding-strategy optim_grads";
  EXPECT_EQ(zero(grads + " --use-distributed-optimizer"), "2");
  EXPECT_EQ(zero("--use-distributed-optimizer " + grads), "2");
  EXPECT_EQ(zero("--use-distributed-optimizer"), "0");
  EXPECT_EQ(zero("--data-parallel-sharding-strategy all"),
            "x.sh:1: --data-parallel-sharding-strategy: found \"all\"; allowed: no_shard, optim, "
            "optim_grads, optim_grads_params");
  const TestFile less("less.sh", "x --use-megatron-fsdp --data-parallel-sharding-strategy optim\n");
  const auto settings = parse_megatron_arguments(less.text, less.path, ignored);
  EXPECT_EQ(settings->find("zero")->text, "1");
  EXPECT_EQ(settings->find("fsdp")->text, "false");
}

TEST(MegatronArguments, Messages) {
  std::vector<std::string> ignored;
  const TestFile bad("bad.sh", "x --bf16 \\\n --num-layers many --hidden-size 8\n");
  EXPECT_EQ(
      parse_megatron_arguments(bad.text, bad.path, ignored).error().message,
      bad.path + ":2: --num-layers: found \"many\"; allowed: a whole number from 0 to 1000000000");
  const TestFile partial("partial.sh", "x --num-layers 2 --hidden-size 8 --vocab-size 9\n");
  EXPECT_EQ(
      parse_megatron_arguments(partial.text, partial.path, ignored).error().message,
      partial.path + ": --num-attention-heads is missing, but other sizes of the model are given");
  const TestFile plain("plain.txt", "hello world\n");
  EXPECT_EQ(parse_megatron_arguments(plain.text, plain.path, ignored).error().message,
            plain.path + ": holds no arguments; expected a launch script or --name value pairs");
}

TEST(MegatronArguments, MegatronsSeedIsNotTheSilicons) {
  std::vector<std::string> ignored;
  const auto settings =
      parse_megatron_arguments("--seed 1234 --seq-length 4096\n", "a.sh", ignored);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->find("seed"), nullptr);
}

}  // namespace
}  // namespace ergometer::intake
