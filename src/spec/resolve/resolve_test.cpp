#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "spec/job/adjustments.h"
#include "spec/resolve/test_jobs.h"
#include "spec/settings/assumed_software.h"
#include "spec/settings/setting_reader.h"

namespace ergometer::spec {
namespace {

using test::job_of;
using Flags = test::Values;

Settings flags(const Flags& values) { return test::settings_of(values); }
Settings over(const Flags& base, const Flags& values) { return test::settings_of(base, values); }
Settings over(Settings settings, const Flags& values) {
  settings.merge(flags(values));
  return settings;
}

const Flags kDense = {{"model", "llama3-70b"},
                      {"cluster", "charllm-h200"},
                      {"tp", "4"},
                      {"pp", "4"},
                      {"mbs", "1"},
                      {"gbs", "128"},
                      {"seq", "8192"}};

std::string error_of(const Settings& settings) { return base::error_of(resolve(settings)); }

/// The message for the study's dense job with some flags changed.
std::string dense(const Flags& values) {
  return error_of(over({{"model", "llama3-70b"},
                        {"cluster", "charllm-h200"},
                        {"tp", "4"},
                        {"pp", "4"},
                        {"mbs", "1"},
                        {"gbs", "128"},
                        {"seq", "8192"}},
                       values));
}

std::string mixture(const Flags& values) {
  return error_of(over({{"model", "mixtral-8x7b"},
                        {"cluster", "hgx-h100"},
                        {"gpus", "32"},
                        {"mbs", "1"},
                        {"gbs", "128"},
                        {"seq", "4096"}},
                       values));
}

TEST(Resolve, FillsWhatIsLeft) {
  const Job job = job_of(flags(kDense));
  EXPECT_EQ(job.gpus, 32);
  EXPECT_EQ(job.parallelism.dp, 2);  // 32 / (4 x 4)
  EXPECT_EQ(job.micro_batches(), 64);
  EXPECT_TRUE(job.parallelism.sequence_parallel);
  EXPECT_EQ(job.parallelism.zero_stage, 1);
  EXPECT_EQ(job.parallelism.etp, 4);
  EXPECT_EQ(job.origins.at("tensor_model_parallel_size").text, "--tp");
  EXPECT_EQ(job.origins.at("data_parallel_size").text, "default: gpus / (tp x cp x pp)");
  EXPECT_EQ(job.origins.at("sequence_parallel").text,
            "default: sequence parallelism goes with tensor parallelism");
  for (const SettingInfo& info : setting_table()) {
    const bool conditional = info.name == "num_layers_per_virtual_pipeline_stage" ||
                             info.name == "allow_tp_across_nodes" || info.group == "vision";
    EXPECT_TRUE(conditional || job.origins.count(std::string(info.name)) == 1) << info.name;
  }
}

TEST(Resolve, Defaults) {
  const Job job = job_of(flags({{"model", "gpt2"}, {"cluster", "dgx1-v100"}}));
  EXPECT_EQ(job.gpus, 8);  // one node
  EXPECT_EQ(job.parallelism.dp, 8);
  EXPECT_EQ(job.training.precision, Precision::kFp16);  // no bf16 on V100
  EXPECT_FALSE(job.training.gradients_fp32);
  EXPECT_EQ(job.training.seq_length, 1024);
  EXPECT_EQ(job.training.global_batch, 8);
  EXPECT_FALSE(job.parallelism.sequence_parallel);
}

TEST(Resolve, ANodeKindGrowsWithTheLayout) {
  const Job job = job_of(flags(
      {{"model", "gpt3-175b"}, {"cluster", "hgx-h100"}, {"tp", "8"}, {"pp", "8"}, {"dp", "2"}}));
  EXPECT_EQ(job.gpus, 128);
  EXPECT_EQ(job.nodes(), 16);
}

TEST(Resolve, InterleavingAndItsChunks) {
  Job job = job_of(over(kDense, {{"vpp", "5"}}));
  EXPECT_EQ(job.parallelism.schedule, Schedule::kInterleaved);
  EXPECT_TRUE(job.training.overlap_p2p);
  job = job_of(over(kDense, {{"num-layers-per-virtual-pipeline-stage", "10"}}));
  EXPECT_EQ(job.parallelism.vpp, 2);  // 80 / (4 x 10)
}

TEST(Resolve, UnevenStages) {
  Job job = job_of(over(kDense, {{"stage_layers", "21,19,21,19"}}));
  EXPECT_EQ(job.parallelism.stage_layers, (std::vector<int64_t>{21, 19, 21, 19}));
  job = job_of(over(kDense, {{"pipeline-model-parallel-layout", "Et*18|(t*20|)*2t*22L"}}));
  EXPECT_EQ(job.parallelism.stage_layers, (std::vector<int64_t>{18, 20, 20, 22}));
  // 126 layers, embedding and loss: 128 on 16 stages.
  job = job_of(flags({{"model", "llama3.1-405b"},
                      {"cluster", "hgx-h100"},
                      {"gpus", "128"},
                      {"tp", "8"},
                      {"pp", "16"},
                      {"account_for_embedding_in_pipeline_split", "true"},
                      {"account_for_loss_in_pipeline_split", "true"}}));
  EXPECT_TRUE(job.parallelism.embedding_counts_as_layer);
}

TEST(Resolve, ADepthOfOnesOwn) {
  const Job job = job_of(over(kDense, {{"num_layers", "8"}}));
  EXPECT_EQ(job.model.layer_count(), 8);
  EXPECT_EQ(job_of(over(kDense, {{"num_layers", "6"}, {"pp", "2"}})).model.layer_count(), 6);
}

TEST(Resolve, FsdpLoraAndInference) {
  Job job = job_of(over(kDense, {{"pp", "1"}, {"fsdp", "true"}}));
  EXPECT_EQ(job.parallelism.zero_stage, 3);
  EXPECT_TRUE(job.training.overlap_param_gather);
  EXPECT_EQ(job.training.framework, Framework::kTorchFsdp);
  job = job_of(over(kDense, {{"lora", "16"}}));
  EXPECT_EQ(job.training.mode, Mode::kLora);
  job = job_of(over(kDense, {{"generate_tokens", "32"}}));
  EXPECT_EQ(job.training.mode, Mode::kDecode);
  EXPECT_EQ(job.parallelism.zero_stage, 0);
  EXPECT_FALSE(job.parallelism.sequence_parallel);
}

TEST(ResolveMessages, TensorParallelism) {
  EXPECT_EQ(dense({{"tp", "3"}}),
            "--tp 3 does not divide 64 attention heads; try 1, 2, 4, 8, 16, 32 or 64");
  EXPECT_EQ(dense({{"tp", "16"}, {"pp", "1"}, {"allow-tp-across-nodes", "true"}}), "");
  EXPECT_EQ(dense({{"tp", "0"}}), "--tp: found \"0\"; allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(dense({{"tp", "-4"}}), "--tp: found \"-4\"; allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(dense({{"tp", "nan"}}),
            "--tp: found \"nan\"; allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(dense({{"tp", "99999999999999999999"}}),
            "--tp: found \"99999999999999999999\"; allowed: a whole number from 1 to 1048576");
}

TEST(ResolveMessages, Gpus) {
  EXPECT_EQ(dense({{"gpus", "64"}}),
            "--gpus 64 is more than the 32 GPUs of charllm-h200 (4 nodes of 8)");
  EXPECT_EQ(dense({{"gpus", "24"}}),
            "--gpus 24 is not a multiple of tp x cp x pp = 4 x 1 x 4 = 16; try 16 or 32");
  EXPECT_EQ(dense({{"dp", "4"}, {"gpus", "32"}}),
            "--dp 4 contradicts gpus / (tp x cp x pp) = 32 / (4 x 1 x 4) = 2; leave one out");
  EXPECT_EQ(dense({{"dp", "1048576"}}),
            "tp x cp x pp x dp = 4 x 1 x 4 x 1048576 makes more than 1048576 GPUs");
  EXPECT_EQ(dense({{"cp", "1048576"}}),
            "tp x cp x pp = 4 x 1048576 x 4 makes more than 1048576 GPUs");
}

TEST(ResolveMessages, Batches) {
  EXPECT_EQ(
      dense({{"mbs", "3"}}),
      "--gbs 128 is not divisible by micro batch x data parallel = 3 x 2 = 6; try 126 or 132");
  EXPECT_EQ(dense({{"gbs", "1"}}),
            "--gbs 1 is not divisible by micro batch x data parallel = 1 x 2 = 2; try 2");
}

TEST(ResolveMessages, Pipelines) {
  EXPECT_EQ(dense({{"pp", "1"}, {"vpp", "2"}}), "--vpp 2 needs --pp above 1");
  EXPECT_EQ(dense({{"vpp", "2"}, {"gbs", "12"}}),
            "--gbs 12 makes 6 micro batches, not a multiple of 4 pipeline stages as interleaving "
            "needs; try 16");
  EXPECT_EQ(dense({{"vpp", "2"}, {"schedule", "gpipe"}}),
            "--schedule gpipe runs one chunk a stage; --vpp 2 needs --schedule interleaved");
  EXPECT_EQ(dense({{"schedule", "interleaved"}, {"vpp", "1"}}),
            "--schedule interleaved needs --vpp above 1");
  EXPECT_EQ(dense({{"schedule", "zbh1"}}),
            "--schedule: found \"zbh1\"; allowed: 1f1b, interleaved, gpipe, zb-h1, zb-h2, "
            "looped-bfs, zb-v, v-half, v-min, dualpipe-v, file; did you mean zb-h1?");
  EXPECT_EQ(dense({{"stage_layers", "20,20,20,21"}}),
            "--stage_layers 20,20,20,21 adds up to 81 layers; llama3-70b has 80");
  EXPECT_EQ(dense({{"stage_layers", "40,40"}}),
            "--stage_layers 40,40 has 2 chunks; pp x vpp = 4 x 1 = 4 are needed");
  EXPECT_EQ(dense({{"decoder_first_pipeline_num_layers", "19"}}),
            "--decoder_first_pipeline_num_layers 19: 61 of 80 layers are left, which do not divide "
            "over the 3 other stages");
}

TEST(ResolveMessages, Experts) {
  EXPECT_EQ(mixture({{"ep", "16"}}), "--ep 16 is more than the 8 experts; try 1, 2, 4 or 8");
  EXPECT_EQ(mixture({{"ep", "3"}}), "--ep 3 does not divide 8 experts; try 1, 2, 4 or 8");
  EXPECT_EQ(dense({{"ep", "2"}}), "--ep 2 needs a mixture of experts; llama3-70b is dense");
  EXPECT_EQ(mixture({{"ep", "8"}, {"tp", "8"}, {"etp", "8"}}),
            "--ep 8: ep x etp = 8 x 8 = 64 does not divide the 32 ranks of a stage (tp x cp x dp = "
            "8 x 1 x 4); try --ep 1, 2 or 4");
  EXPECT_EQ(mixture({{"etp", "3"}}).find("--etp 3 does not divide an expert's width 14336; try "),
            0u);
}

TEST(ResolveMessages, Sequences) {
  EXPECT_EQ(dense({{"cp", "2"}, {"seq", "8190"}}),
            "--seq 8190 does not divide into 2 x cp = 4 pieces, two for each rank; try 8192");
  EXPECT_EQ(
      dense({{"seq", "8190"}, {"sequence-parallel", "true"}}),
      "--seq 8190 does not divide by tp x cp = 4 x 1, as sequence parallelism needs; try 8192");
  EXPECT_EQ(mixture({{"cp", "32"}, {"cp_comm_type", "a2a"}, {"tp", "1"}, {"gbs", "128"}}), "");
  EXPECT_EQ(mixture({{"cp", "8"}, {"tp", "4"}, {"cp_comm_type", "a2a"}}), "");
}

TEST(ResolveMessages, Recomputation) {
  EXPECT_EQ(dense({{"recompute-num-layers", "2"}, {"recompute", "selective"}}),
            "--recompute-num-layers 2 needs --recompute full");
  EXPECT_EQ(dense({{"recompute", "full"}, {"recompute_num_layers", "81"}}),
            "--recompute_num_layers 81 is more than the model's 80 layers");
  EXPECT_EQ(dense({{"recompute", "selective"}, {"recompute_modules", "mla_up_proj"}}),
            "--recompute_modules mla_up_proj: mla_up_proj needs latent attention, which llama3-70b "
            "has not");
  EXPECT_EQ(dense({{"recompute", "ful"}}),
            "--recompute: found \"ful\"; allowed: none, selective, full; did you mean full?");
}

TEST(ResolveMessages, PrecisionNeedsTheUnits) {
  EXPECT_EQ(error_of(flags({{"model", "gpt2"}, {"cluster", "dgx-a100"}, {"fp8", "true"}})),
            "A100-SXM4-80GB has no fp8 matrix units, or none whose rate (peak_fp8) is known; try "
            "bf16 or fp16");
  EXPECT_EQ(
      error_of(flags({{"model", "gpt2"}, {"cluster", "dgx1-v100"}, {"bf16", "true"}}))
          .find("has no bf16 matrix units, or none whose rate (peak_bf16) is known; try fp16"),
      std::string("V100-SXM2-16GB ").size());
  EXPECT_NE(
      error_of(flags({{"model", "gpt2"}, {"cluster", "hgx-b200"}, {"attention_backend", "fa3"}}))
          .find("--attention_backend fa3: FlashAttention 3 has no kernels for B200"),
      std::string::npos);
  EXPECT_NE(error_of(flags({{"model", "gpt2"},
                            {"cluster", "dgx1-v100"},
                            {"fp16", "true"},
                            {"attention_backend", "fa1"}}))
                .find("FlashAttention 1 has no kernels for V100-SXM2-16GB; try fused"),
            std::string::npos);
  for (const char* cluster : {"hgx-h100", "dgx-a100"})
    EXPECT_EQ(
        error_of(flags({{"model", "gpt2"}, {"cluster", cluster}, {"attention_backend", "fa3"}})),
        "");
  EXPECT_EQ(dense({{"fp16", "true"}, {"bf16", "true"}}),
            "--fp16 contradicts --bf16; leave one out");
  EXPECT_EQ(dense({{"precision", "fp32"}, {"bf16", "true"}}),
            "--precision fp32 contradicts --bf16; leave one out");
  // A switch that is off is an answer, too.
  const auto off = [](Settings settings, const char* name) {
    settings.set(name, "false", {std::string("--no-") + name, ""});
    return error_of(settings);
  };
  EXPECT_EQ(off(over(kDense, {{"precision", "fp8"}}), "fp8"),
            "--no-fp8 contradicts --precision fp8; leave one out");
  EXPECT_EQ(off(flags(kDense), "bf16"),
            "--no-bf16 leaves open in what to compute instead; say it with --precision");
  EXPECT_EQ(off(over(kDense, {{"precision", "fp8"}}), "bf16"), "");
  EXPECT_EQ(off(flags(kDense), "fp8"), "");
}

TEST(ResolveGivesWay, SettingsWithoutAnEffectAreSaid) {
  const auto notes = [](const Flags& values) {
    return adjustments(job_of(over({{"model", "llama3-8b"}, {"gpus", "8"}}, values)));
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"fp8_recipe", "tensorwise"}}),
            (Notes{"--fp8_recipe tensorwise has no effect: nothing is in FP8 or FP4"}));
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"fp8_recipe", "tensorwise"}, {"fp8", "true"}}),
            Notes());
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"cp_comm_type", "a2a"}}),
            (Notes{"--cp_comm_type a2a has no effect: no sequence is shared (--cp 1)"}));
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"cp_comm_type", "p2p"}}), Notes()) << "the default";
  EXPECT_EQ(
      notes({{"cluster", "hgx-h100"},
             {"gpus", "16"},
             {"tp", "8"},
             {"cp", "2"},
             {"cp_comm_type", "a2a"}}),
      (Notes{"Transformer Engine's all-to-all needs cp 2 to divide the 1 key/value heads of a "
             "rank, and Megatron-LM stops: p2p and all_gather do not"}));
  // Of 4 key/value heads over 8 ranks each holds one.
  EXPECT_EQ(
      notes({{"cluster", "hgx-h100"},
             {"model", "qwen3-30b-a3b"},
             {"gpus", "16"},
             {"tp", "8"},
             {"cp", "2"},
             {"cp_comm_type", "a2a"}}),
      (Notes{"Transformer Engine's all-to-all needs cp 2 to divide the 1 key/value heads of a "
             "rank, and Megatron-LM stops: p2p and all_gather do not"}));
  EXPECT_EQ(
      notes(
          {{"cluster", "hgx-h100"}, {"model", "mistral-7b"}, {"cp", "2"}, {"seq_length", "8192"}}),
      (Notes{"Transformer Engine's ring (--cp-comm-type p2p) takes no sliding windows, and "
             "Megatron-LM stops: all_gather and a2a do"}));
  EXPECT_EQ(notes({{"cluster", "hgx-h100"},
                   {"model", "mistral-7b"},
                   {"cp", "2"},
                   {"cp_comm_type", "all_gather"},
                   {"seq_length", "8192"}}),
            Notes());
  EXPECT_EQ(notes({{"model", "mixtral-8x7b"},
                   {"cluster", "hgx-h100"},
                   {"tensor_model_parallel_size", "4"},
                   {"sequence_parallel", "true"},
                   {"moe_token_dispatcher_type", "allgather"}}),
            Notes())
      << "tokens are put in order on a rank alone, too";
  EXPECT_EQ(notes({{"cluster", "dgx1-v100"}, {"tf32", "true"}, {"precision", "fp32"}}),
            (Notes{"--tf32 has no effect: V100-SXM2-16GB has no TF32"}));
  EXPECT_EQ(notes({{"cluster", "dgx-a100"}, {"tf32", "true"}, {"precision", "fp32"}}), Notes());
  EXPECT_EQ(notes({{"cluster", "mi300x"}, {"tf32", "true"}, {"precision", "fp32"}}), Notes());
  EXPECT_EQ(
      notes({{"cluster", "hgx-h100"}, {"mode", "decode"}, {"optimizer_cpu_offload", "true"}}),
      (Notes{"--optimizer_cpu_offload has no effect: inference has no backward and no optimizer"}));
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"moe_grouped_gemm", "true"}}),
            (Notes{"--moe_grouped_gemm has no effect: llama3-8b has no experts"}));
  // What is off asks for nothing.
  EXPECT_EQ(notes({{"cluster", "hgx-h100"}, {"overlap_p2p", "false"}}), Notes());
}

TEST(Resolve, WhoeverSpeaksLastChoosesThePrecision) {
  // A file's precision gives way to an option's switch, and the reverse.
  const auto precision = [](const Flags& file, const Flags& options) {
    Settings settings = flags(kDense);
    settings.merge(flags(file));
    settings.merge(flags(options));
    return resolve(settings)->training.precision;
  };
  EXPECT_EQ(precision({{"precision", "bf16"}}, {{"fp8", "true"}}), Precision::kFp8);
  EXPECT_EQ(precision({{"fp8", "true"}}, {{"precision", "bf16"}}), Precision::kBf16);
  EXPECT_EQ(precision({{"bf16", "true"}}, {}), Precision::kBf16);
  EXPECT_TRUE(resolve(over(kDense, {{"precision", "fp32"}, {"grad_reduce_in_bf16", "true"}}))
                  ->training.gradients_fp32);
}

TEST(Resolve, RanksThatHoldACopyByNodeAndByNumberOfCopies) {
  // 32 GPUs in nodes of 8, tensors split over 2: 16 data-parallel ranks, 4 a node.
  const auto shards = [](const char* said) {
    const auto job = resolve(
        over(kDense, {{"pp", "1"}, {"tp", "2"}, {"fsdp", "true"}, {"fsdp_shard_size", said}}));
    return job ? job->parallelism.fsdp_shard_size : -1;
  };
  EXPECT_EQ(shards("node"), 4);
  EXPECT_EQ(shards("1/8"), 2);
  EXPECT_EQ(shards("8"), 8);
  EXPECT_EQ(shards("1/1"), 16);
}

TEST(ResolveMessages, ShardingAndOverlap) {
  EXPECT_EQ(dense({{"zero", "3"}}).find("--zero 3 cannot be combined with --pp 4"), 0u);
  EXPECT_EQ(dense({{"fsdp", "true"}, {"software", "megatron-core-25"}})
                .find("--fsdp cannot be combined with --pp 4"),
            0u);
  EXPECT_EQ(dense({{"pp", "1"}, {"fsdp", "true"}, {"zero", "1"}}),
            "--zero 1 contradicts --fsdp: FSDP shards everything, as --zero 3");
  EXPECT_EQ(dense({{"pp", "1"}, {"fsdp", "true"}, {"fsdp_shard_size", "3"}}),
            "--fsdp_shard_size 3 does not divide 8 data-parallel ranks; try 1, 2, 4 or 8");
  EXPECT_EQ(dense({{"pp", "1"}, {"fsdp", "true"}, {"fsdp_shard_size", "1/3"}}),
            "--fsdp_shard_size 1/3: 8 ranks do not make 3 equal copies; try 1 over 1, 2, 4 or 8");
  EXPECT_EQ(
      dense({{"pp", "1"}, {"fsdp", "true"}, {"fsdp_shard_size", "host"}}),
      "--fsdp_shard_size: found \"host\"; allowed: a whole number from 1 to 1048576, node, or "
      "1/COPIES");
  EXPECT_EQ(dense({{"overlap-param-gather", "true"}, {"overlap_grad_reduce", "false"}}),
            "--overlap-param-gather needs --overlap-grad-reduce");
  EXPECT_EQ(
      dense({{"overlap-param-gather", "true"}, {"overlap_grad_reduce", "true"}, {"zero", "0"}}),
      "--overlap-param-gather needs sharded optimizer states; try --zero 1");
  EXPECT_EQ(dense({{"tp", "1"}, {"tp-comm-overlap", "true"}}),
            "--tp-comm-overlap needs --tp above 1 and --sequence-parallel");
  EXPECT_EQ(dense({{"zero", "4"}}), "--zero: found \"4\"; allowed: a whole number from 0 to 3");
}

/// Why the one setting that gave way did, and what it then is.
std::string given_way(const Job& job) {
  const std::vector<std::string> all = adjustments(job);
  return all.size() == 1 ? all.front() : fmt::format("{} adjustments", all.size());
}

TEST(ResolveGivesWay, TensorParallelismBeyondANode) {
  const Job job = job_of(over(kDense, {{"tp", "16"}, {"pp", "1"}}));
  EXPECT_EQ(given_way(job), "tensor-parallel groups reach beyond the 8 GPUs that share fast links");
  EXPECT_EQ(job.origins.at("tensor_model_parallel_size").text, "--tp, adjusted: " + given_way(job));
  EXPECT_TRUE(adjustments(job_of(flags(kDense))).empty());
}

TEST(ResolveGivesWay, GpusThatNobodyCounted) {
  // 32 GPUs are no multiple of 12, 8 none of 3.
  EXPECT_EQ(job_of(over(kDense, {{"pp", "3"}})).gpus, 24);
  const Flags node = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}};
  EXPECT_EQ(job_of(over(node, {{"pp", "3"}})).gpus, 6);
  EXPECT_EQ(job_of(over(node, {{"tp", "4"}, {"pp", "3"}})).gpus, 12);
  EXPECT_EQ(job_of(flags({{"model", "mixtral-8x7b"},
                          {"cluster", "hgx-h100"},
                          {"tp", "8"},
                          {"pp", "2"},
                          {"ep", "8"}}))
                .gpus,
            16);
}

TEST(ResolveGivesWay, ANodeMayBeUsedInPart) {
  const Job job = job_of(over(kDense, {{"gpus", "12"}, {"tp", "1"}, {"pp", "1"}, {"gbs", "24"}}));
  EXPECT_EQ(job.parallelism.dp, 12);
  EXPECT_EQ(job.nodes(), 2);
}

TEST(ResolveGivesWay, LearnedPositions) {
  const Job job =
      job_of(flags({{"model", "gpt2"}, {"cluster", "hgx-h100"}, {"seq-length", "2048"}}));
  EXPECT_EQ(job.model.position_rows, 2048);
  EXPECT_EQ(given_way(job), "the 1024 positions that gpt2 learns become 2048");
  // Rotary positions and ALiBi have no table, whatever their config.json says.
  for (const char* model : {"llama3-8b", "bloom-176b"})
    EXPECT_TRUE(
        adjustments(
            job_of(flags({{"model", model}, {"cluster", "hgx-h100"}, {"seq-length", "262144"}})))
            .empty());
}

TEST(ResolveGivesWay, SequenceParallelism) {
  Job job = job_of(over(kDense, {{"seq", "8190"}}));
  EXPECT_FALSE(job.parallelism.sequence_parallel);
  EXPECT_EQ(given_way(job),
            "no sequence parallelism, for 8190 tokens do not divide by tp x cp = 4 x 1");
  job = job_of(over(kDense, {{"tp", "1"}, {"sequence-parallel", "true"}}));
  EXPECT_FALSE(job.parallelism.sequence_parallel);
  // vtrain-megatron trains without it, unless asked for what needs it.
  job = job_of(over(kDense, {{"software", "vtrain-megatron"}, {"tp-comm-overlap", "true"}}));
  EXPECT_TRUE(job.parallelism.sequence_parallel);
}

TEST(ResolveGivesWay, ExpertsThatNobodySplit) {
  const Flags mixtral = {{"model", "mixtral-8x7b"},
                         {"cluster", "hgx-h100"},
                         {"gpus", "32"},
                         {"mbs", "1"},
                         {"gbs", "128"},
                         {"tp", "8"}};
  const Job job = job_of(over(mixtral, {{"ep", "8"}}));
  EXPECT_EQ(job.parallelism.etp, 1);
  EXPECT_EQ(given_way(job),
            "experts are not split, for ep x tp = 8 x 8 does not divide the 32 ranks of a stage");
  EXPECT_EQ(job_of(over(mixtral, {{"ep", "4"}})).parallelism.etp, 8);
}

TEST(ResolveGivesWay, FsdpWithStages) {
  const Flags torch = {
      {"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"pp", "2"}, {"software", "torchtitan"}};
  for (const Flags& asked : {Flags{{"fsdp", "true"}}, Flags{{"zero", "3"}}}) {
    const Job job = job_of(over(torch, asked));
    EXPECT_EQ(job.parallelism.zero_stage, 2);
    EXPECT_FALSE(job.parallelism.fsdp);
    EXPECT_EQ(given_way(job),
              "FSDP with pipeline stages keeps the parameters gathered over a step: ZeRO 2");
  }
  EXPECT_EQ(error_of(over(torch, {{"zero", "3"}, {"software", "deepspeed"}}))
                .find("--zero 3 cannot be combined with --pp 2"),
            0u);
  // What a software shards by itself is no contradiction of FSDP.
  EXPECT_EQ(dense({{"pp", "1"}, {"fsdp", "true"}, {"software", "vtrain-megatron"}}), "");
  // SHARD_GRAD_OP.
  EXPECT_FALSE(
      job_of(over(kDense, {{"pp", "1"}, {"fsdp", "true"}, {"zero", "2"}})).parallelism.fsdp);
}

TEST(ResolveGivesWay, OverlapThatASoftwareHasNot) {
  const auto with = [](const Flags& values) {
    return job_of(over({{"model", "llama3-70b"},
                        {"cluster", "charllm-h200"},
                        {"tp", "4"},
                        {"pp", "4"},
                        {"gbs", "128"},
                        {"software", "vtrain-megatron"}},
                       values));
  };
  EXPECT_FALSE(with({{"overlap_p2p", "true"}}).training.batch_p2p_sync);
  EXPECT_TRUE(with({{"vpp", "2"}}).training.batch_p2p_sync);
  const Job job = with({{"overlap_param_gather", "true"}});
  EXPECT_TRUE(job.training.overlap_grad_reduce);
  EXPECT_EQ(job.parallelism.zero_stage, 1);
  EXPECT_FALSE(
      job_of(over(kDense, {{"pp", "1"}, {"fsdp", "true"}, {"overlap_grad_reduce", "false"}}))
          .training.overlap_param_gather);
}

TEST(ResolveGivesWay, WhatIsSaidAboutRecomputation) {
  EXPECT_EQ(job_of(over(kDense, {{"recompute-num-layers", "2"}})).training.recompute,
            Recompute::kFull);
  EXPECT_EQ(job_of(over(kDense, {{"recompute_modules", "mlp"}})).training.recompute,
            Recompute::kSelective);
}

TEST(ResolveGivesWay, InterleavingTakesTwoChunksAndGroupsThatFit) {
  EXPECT_EQ(job_of(over(kDense, {{"schedule", "interleaved"}})).parallelism.vpp, 2);
  // Seven micro batches in groups of seven, or torchtitan's one round; Megatron-LM's four leave
  // three over, fewer than stages.
  const Flags seven = {{"vpp", "2"}, {"gbs", "14"}};
  constexpr const char* kGroup = "microbatch-group-size-per-virtual-pipeline-stage";
  EXPECT_NE(error_of(over(kDense, seven)), "");
  EXPECT_EQ(error_of(over(over(kDense, seven), {{kGroup, "7"}})), "");
  EXPECT_EQ(
      job_of(over(over(kDense, seven), {{"software", "torchtitan"}})).parallelism.microbatch_group,
      7);
  // Three micro batches on four stages are torchtitan's one round; Megatron-LM has no such.
  const Flags three = {{"vpp", "2"}, {"gbs", "6"}};
  EXPECT_NE(error_of(over(kDense, three)), "");
  EXPECT_EQ(
      job_of(over(over(kDense, three), {{"software", "torchtitan"}})).parallelism.microbatch_group,
      3);
  // Eleven are one group of six and one of five.
  EXPECT_EQ(dense({{"vpp", "2"}, {"gbs", "22"}, {kGroup, "6"}}), "");
  EXPECT_EQ(job_of(flags({{"model", "llama3-8b"},
                          {"cluster", "hgx-h100"},
                          {"pp", "2"},
                          {"vpp", "2"},
                          {kGroup, "3"}}))
                .micro_batches(),
            3);
}

TEST(ResolveGivesWay, TheUsualSequenceComesInPieces) {
  EXPECT_EQ(job_of(flags({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"cp", "3"}}))
                .training.seq_length,
            4092);
  EXPECT_EQ(
      job_of(
          flags({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"packed-mean-length", "8000"}}))
          .training.seq_length,
      8000);
}

TEST(ResolveMessages, DocumentsLengthenNoSequenceBeyondTheModel) {
  const Flags documents = {
      {"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"packed-mean-length", "100000"}};
  EXPECT_EQ(error_of(flags(documents)),
            "--packed-mean-length 100000 is more than llama3-8b's 8192 positions; --seq-length "
            "says how long sequences are");
  const Job job = job_of(over(documents, {{"packed-mean-length", "8000"}}));
  EXPECT_EQ(job.origins.at("seq_length").text,
            "default: as long as --packed-mean-length says that documents are");
}

TEST(ResolveMessages, Tasks) {
  EXPECT_EQ(dense({{"mode", "lora"}}), "--mode lora needs --lora RANK");
  EXPECT_EQ(dense({{"mode", "pretrain"}, {"lora", "8"}}), "--lora 8 contradicts --mode pretrain");
  EXPECT_EQ(dense({{"mode", "prefill"}, {"generate_tokens", "8"}}),
            "--generate_tokens 8 needs --mode decode");
  EXPECT_EQ(dense({{"mode", "decode"}, {"recompute", "full"}}),
            "--recompute full: inference has no backward");
  EXPECT_EQ(dense({{"lora", "9000"}}),
            "--lora 9000 is more than the narrowest matrix is wide (8192)");
  EXPECT_EQ(dense({{"lora-layers", "0,1"}}), "--lora-layers 0,1 needs --lora RANK");
  EXPECT_EQ(dense({{"quantize", "nf4"}}), "--quantize nf4 needs --lora RANK");
  EXPECT_EQ(dense({{"quantize", "nf4"}, {"lora", "8"}, {"fp8", "true"}}),
            "--quantize nf4 contradicts FP8 and FP4: packed weights are unpacked to 16 bit and "
            "multiply so; try --precision bf16");
  EXPECT_EQ(dense({{"optimizer_moments", "bf16"}, {"zero", "0"}}),
            "--optimizer_moments bf16 needs --zero 1: what keeps less than FP32 is Megatron-Core's "
            "distributed optimizer");
  EXPECT_EQ(dense({{"attention_backend", "unfused"}, {"cp", "2"}}),
            "--attention_backend unfused cannot be combined with --cp 2: only fused kernels attend "
            "over parts of a sequence; try fused, or --cp-comm-type a2a");
  EXPECT_EQ(dense({{"attention_backend", "unfused"}, {"cp", "2"}, {"cp_comm_type", "a2a"}}), "");
  EXPECT_EQ(dense({{"software", "nanotron"}, {"fsdp", "true"}, {"pp", "1"}}),
            "--fsdp: nanotron shards optimizer states alone; try --zero 1");
  EXPECT_EQ(
      dense({{"software", "deepspeed"}, {"zero", "2"}}),
      "--zero 2 cannot be combined with --pp 4: DeepSpeed's pipeline engine refuses ZeRO 2 and "
      "3; try --zero 1");
  EXPECT_EQ(dense({{"master_weights", "false"}, {"precision", "fp32"}}),
            "--master_weights false: parameters in FP32 have no other copy");
  EXPECT_EQ(dense({{"optimizer_moments", "bf16"}, {"software", "nanotron"}}),
            "--optimizer_moments bf16: nanotron keeps both in FP32");
}

TEST(ResolveMessages, WhatIsMissingOrUnknown) {
  EXPECT_EQ(error_of(Settings()).find("no model is given"), 0u);
  EXPECT_EQ(error_of(flags({{"model", "gpt2"}})).find("no cluster is given"), 0u);
  EXPECT_EQ(error_of(flags({{"model", "gpt2"}, {"cluster", "charllm-h20"}}))
                .find("charllm-h20: neither a cluster or node of "
                      "the catalog nor a file; did you mean charllm-h200?"),
            0u);
  Settings odd = flags(kDense);
  odd.set("tensor_paralel", "2", Origin{"job.yaml:3", ""});
  EXPECT_EQ(error_of(odd).find("job.yaml:3: tensor_paralel is not a setting"), 0u);
}

TEST(ResolveMessages, AClusterWithoutANetworkStaysOnOneNode) {
  const std::string node =
      R"({"node": {"gpu": "h100-sxm5-80gb", "gpus": 2, "collectives": "hopper-nvlink",
    "intra": {"kind": "nvlink-switch", "bandwidth": "450 GB/s"}}})";
  EXPECT_EQ(error_of(flags({{"model", "gpt2"}, {"cluster", node.c_str()}})), "");
  EXPECT_EQ(error_of(flags({{"model", "gpt2"}, {"cluster", node.c_str()}, {"gpus", "4"}})),
            "--gpus 4 spans several nodes, but node has no NICs");
}

TEST(Settings, FoundByEverySpelling) {
  for (const char* word :
       {"tp", "--tp", "tensor_model_parallel_size", "--tensor-model-parallel-size", "TP"})
    EXPECT_EQ(find_setting(word)->name, "tensor_model_parallel_size") << word;
  EXPECT_EQ(find_setting("--recompute")->name, "recompute_granularity");
  EXPECT_EQ(find_setting("nothing"), nullptr);
  for (const SettingInfo& info : setting_table()) EXPECT_EQ(find_setting(info.name), &info);
}

TEST(Settings, DivisorsAroundTheOneAskedFor) {
  EXPECT_EQ(divisors_text(12, 5), "1, 2, 3, 4, 6 or 12");
  EXPECT_EQ(divisors_text(1, 5), "1");
  // 5040 has 60 divisors; ten around 100 are shown.
  EXPECT_EQ(divisors_text(5040, 100), "70, 72, 80, 84, 90, 105, 112, 120, 126 or 140");
}

TEST(Resolve, ABatchByMicroBatchesOfAReplica) {
  const Flags base = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "16"}, {"tp", "2"}};
  const auto job = resolve(over(base, {{"mbs", "4"}, {"gradient_accumulation_steps", "8"}}));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->training.global_batch, 4 * 8 * 8);
  EXPECT_EQ(job->micro_batches(), 8);
  // The micro batch follows from the other two.
  const auto whole = resolve(over(base, {{"gbs", "64"}, {"gradient_accumulation_steps", "4"}}));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->training.micro_batch, 2);
  EXPECT_FALSE(whole->training.assumed_micro_batch);
  // Accumulation alone leaves it open, be it of one.
  for (const char* steps : {"1", "4"}) {
    const auto alone = resolve(over(base, {{"gradient_accumulation_steps", steps}}));
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_TRUE(alone->training.assumed_micro_batch) << steps;
  }
}

// Adapters in layers 2 and 30 of 32: gradients end at layer 2, with recomputation or stages
// nowhere.
TEST(Resolve, GradientsEndAtTheLowestAdapter) {
  const Flags base = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "8"},
                      {"gbs", "8"},           {"lora", "16"},          {"lora_layers", "2,30"}};
  const auto layers = [&](const Flags& more, bool Layer::* is) {
    const auto job = resolve(over(base, more));
    EXPECT_TRUE(job) << job.error().message;
    return job ? std::ranges::count(job->model.layers, true, is) : -1;
  };
  EXPECT_EQ(layers({}, &Layer::adapters), 2);
  EXPECT_EQ(layers({}, &Layer::backward), 30);
  EXPECT_EQ(layers({{"recompute", "full"}}, &Layer::backward), 32);
  EXPECT_EQ(layers({{"pp", "2"}}, &Layer::backward), 32);
  EXPECT_NE(error_of(over(base, {{"lora_layers", "32"}})).find("has layers 0 to 31"),
            std::string::npos);
}

// A replica decodes its 48 / 2 = 24 sequences together; of 4 stages each 24 / 4 = 6 at a time;
// four parts do not divide 18, nor do five, six do.
TEST(Resolve, DecodesTheWholeBatchOfAReplica) {
  const Flags base = {{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"mode", "decode"}};
  const auto micro_batch = [&](Flags more) {
    return job_of(over(base, more)).training.micro_batch;
  };
  EXPECT_EQ(micro_batch({{"gpus", "2"}, {"gbs", "48"}}), 24);
  EXPECT_EQ(micro_batch({{"gpus", "8"}, {"pp", "4"}, {"gbs", "48"}}), 6);
  EXPECT_EQ(micro_batch({{"gpus", "4"}, {"pp", "4"}, {"gbs", "18"}}), 3);
  EXPECT_EQ(micro_batch({{"gpus", "4"}, {"pp", "4"}, {"gbs", "2"}}), 1);
  EXPECT_EQ(micro_batch({{"gpus", "2"}, {"gbs", "48"}, {"mbs", "3"}}), 3);
  EXPECT_EQ(micro_batch({{"gpus", "2"}}), 1);
  EXPECT_EQ(micro_batch({{"gpus", "2"}, {"gbs", "48"}, {"mode", "prefill"}}), 1);
}

// AMD's GPUs and FSDP suggest other software, which Megatron-LM does without; weights in 4 bits do
// not run under it.
TEST(Resolve, AChangedJobKeepsTheSoftwareThatItWasAssumedToRun) {
  const Settings base = flags({{"model", "gpt2"}, {"cluster", "hgx-h100"}, {"gpus", "4"}});
  const auto kept = [](const Settings& of, Flags change) {
    Settings changed = over(of, change);
    EXPECT_TRUE(keep_assumed_software(of, changed));
    return job_of(changed).recipe;
  };
  EXPECT_EQ(job_of(over(base, {{"cluster", "mi300x"}})).recipe.name, "primus");
  EXPECT_EQ(kept(base, {{"cluster", "mi300x"}}).name, "megatron-lm");
  EXPECT_EQ(kept(base, {{"cluster", "mi300x"}}).source, "inferred");
  EXPECT_EQ(kept(base, {{"fsdp", "true"}}).name, "megatron-lm");
  EXPECT_EQ(kept(base, {{"cluster", "mi300x"}, {"software", "primus"}}).source, "given");
  const Settings adapters = over(base, {{"lora", "16"}});
  EXPECT_EQ(kept(adapters, {{"quantize", "nf4"}}).name, "transformers 2026");
  EXPECT_EQ(kept(adapters, {{"quantize", "16-bit"}}).name, "megatron-lm");
  EXPECT_EQ(kept(over(adapters, {{"quantize", "nf4"}}), {{"quantize", "16-bit"}}).name,
            "transformers 2026");
}

TEST(Resolve, BatchesThatDoNotAgree) {
  const Settings settings = flags({{"model", "llama3-8b"},
                                   {"cluster", "hgx-h100"},
                                   {"gpus", "16"},
                                   {"mbs", "4"},
                                   {"gbs", "256"},
                                   {"gradient_accumulation_steps", "8"}});
  EXPECT_EQ(error_of(settings),
            "--gbs 256 contradicts micro batch x accumulation x data parallel = 4 x 8 x 16 = 512; "
            "leave one out");
  // Of two sources the later one's way of saying a batch holds.
  const auto later = resolve(over(settings, {{"gbs", "128"}}));
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->training.global_batch, 128);
  EXPECT_EQ(later->micro_batches(), 2);
}

}  // namespace
}  // namespace ergometer::spec
