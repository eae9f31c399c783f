#include "validation/rows/run_job.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_support.h"
#include "validation/rows/job_draft.h"
#include "validation/rows/measurement.h"
#include "validation/rows/test_row.h"

namespace ergometer::validation {
namespace {

using test::row;

std::string value_of(const RunJob& run, std::string_view setting) {
  for (const Fill& fill : run.fills)
    if (fill.setting == setting) return fill.value;
  return "";
}

TEST(RunJob, NvidiaRowTakesItsRecipe) {
  const MeasuredRun run = row(
      "source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,vpp,ep,mbs,gbs,precision,"
      "tokens_per_s_per_gpu",
      "NVIDIA Megatron-Bridge performance summary,NeMo 25.11,Megatron-Bridge,pretrain,DeepSeekV3,"
      "4096,GB200,256,1,1,4,4,64,1,2048,BF16,2000");
  const auto made = make_job(run);
  ASSERT_TRUE(made) << made.error().message;
  const spec::Job& job = made->job;
  EXPECT_EQ(job.model.name, "deepseek-v3");
  EXPECT_EQ(job.cluster.name, "gb200-nvl72");
  EXPECT_EQ(job.parallelism.dp, 64);
  EXPECT_EQ(job.parallelism.etp, 1);
  // 61 layers on 16 chunks: four on every chunk, the last takes what is left.
  ASSERT_EQ(job.parallelism.stage_layers.size(), 16u);
  EXPECT_EQ(job.parallelism.stage_layers.front(), 4);
  EXPECT_EQ(job.parallelism.stage_layers.back(), 1);
  EXPECT_EQ(job.training.recompute, spec::Recompute::kSelective);
  EXPECT_EQ(job.training.recompute_modules, std::vector<std::string>{"mla_up_proj"});
  EXPECT_TRUE(job.training.overlap_p2p);
  EXPECT_FALSE(job.training.gradients_fp32);
  EXPECT_EQ(made->job.software.name, "megatron-core-25");
  // 2048 sequences of 4096 tokens at 256 x 2000 tokens a second.
  const Measurement measured = measurement(run, job);
  EXPECT_DOUBLE_EQ(*measured.step_time_s, 2048.0 * 4096 / (256 * 2000));
  EXPECT_EQ(measured.step_time_from, "tokens_per_s_per_gpu");
}

TEST(RunJob, VtrainRowOfSizes) {
  const auto made = make_job(
      row("source,framework,model,layers,hidden,heads,seq,gpu,gpus,gpus_per_node,tp,pp,dp,mbs,gbs,"
          "recompute,overlap_notes",
          "\"vTrain (MICRO24) measured ground truth, multi-node\",Megatron-DeepSpeed style (paper),"
          "GPT h6144 L40,40,6144,48,2048,A100,64,8,4,2,8,2,1024,full checkpointing on,"
          "1F1B; inter-node 800 Gb/s (validation config)"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.model.ffn, 24576);
  EXPECT_FALSE(made->job.parallelism.sequence_parallel);
  EXPECT_EQ(made->job.parallelism.zero_stage, 0);
  EXPECT_EQ(made->job.training.recompute, spec::Recompute::kFull);
  EXPECT_EQ(made->job.training.precision, spec::Precision::kFp16);
  EXPECT_EQ(value_of(*made, "cluster"), "{extends: dgx-a100, node_bandwidth: 800 Gb/s}");
  EXPECT_EQ(made->job.software.name, "megatron-lm-2021");
}

TEST(RunJob, NetworkBetweenNodesIsWhatTheRowSays) {
  const auto cluster_of = [](const std::string& gpus, const std::string& notes) {
    return node_and_network(
               row("model,gpu,gpus,gpus_per_node,notes", "GPT,A100," + gpus + ",8," + notes))
        .value_or("");
  };
  EXPECT_EQ(cluster_of("16", "packing off; 4 x 100 Gb/s RoCE per node"),
            "{extends: dgx-a100, node_bandwidth: 400 Gb/s}");
  EXPECT_EQ(cluster_of("16", "MP mode PURE; node-node interconnect 1600 Gbps RoCE"),
            "{extends: dgx-a100, node_bandwidth: 1600 Gb/s}");
  EXPECT_EQ(cluster_of("8", "4 x 100 Gb/s RoCE per node"), "dgx-a100");
  EXPECT_EQ(cluster_of("16", "network: Storage: 2x ConnectX-7 400Gb/s"), "dgx-a100");
  EXPECT_EQ(cluster_of("16", "inter-node 5 x Gb/s"), "dgx-a100");
}

TEST(RunJob, VtrainPadsOnlyASplitVocabulary) {
  const auto job_of = [](const std::string& gpus_tp_pp) {
    return make_job(
        row("source,framework,model,layers,hidden,heads,seq,gpu,mbs,gbs,recompute,gpus,tp,pp",
            "\"vTrain (MICRO24) measured ground truth, single-node\",Megatron-DeepSpeed style "
            "(paper),GPT h1024 L24,24,1024,16,1024,A100,1,8,full checkpointing on," +
                gpus_tp_pp));
  };
  const auto whole = job_of("2,1,2"), split = job_of("2,2,1");
  ASSERT_TRUE(whole && split);
  EXPECT_EQ(whole->job.software.name, "vtrain-megatron");
  EXPECT_EQ(whole->job.training.vocab_multiple, 1);
  EXPECT_EQ(split->job.training.vocab_multiple, 128);
}

/// A row of BigScience's logs on 8 x 6 x 8 GPUs.
MeasuredRun bigscience_row(const std::string& model, const std::string& billions,
                           const std::string& rate, const std::string& step_s,
                           const std::string& estimator = "") {
  return row(
      "source,framework,model,params_b,seq,gpu,gpus,tp,pp,mbs,gbs,precision,flops_kind,"
      "tflops_per_gpu,step_time_s",
      "BigScience BLOOM pre-run benchmarks,Megatron-DeepSpeed," + model + "," + billions +
          ",2048,A100-SXM4-80GB,384,8,6,1,2048,BF16,\"hardware (8x coefficient, includes "
          "recompute)" +
          estimator + "\"," + rate + "," + step_s);
}

TEST(RunJob, BigScienceRowThatNamesItsSizeAlone) {
  // 181e9 = 12 l 14336^2 + 250880 x 14336 has l = 72.0.
  const auto made = make_job(bigscience_row("GPT-181B", "181", "120", ""));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.model.hidden, 14336);
  EXPECT_EQ(made->job.model.layer_count(), 72);
  EXPECT_EQ(made->job.model.heads, 64);
  EXPECT_EQ(made->job.cluster.name, "jean-zay-a100");
}

TEST(RunJob, BigScienceRowsShapeFromTheFlopsItCounts) {
  // 384 x 1e12 FLOP/s over 8 x 2048 x 2048 tokens: a rate of 100 TFLOP/s is 1.144409 G parameters a
  // second. Since 21 February 12 l h^2 (1 + s/6h + V/16lh): 100 layers of 12288 are 181.194e9 x
  // 1.027778 + 0.75 x 250880 x 12288 = 188.540e9, in 164.749 s.
  const auto later = make_job(bigscience_row("GPT-184B", "184", "100", "164.749"));
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->job.model.hidden, 12288);
  EXPECT_EQ(later->job.model.layer_count(), 100);
  // Before, 12 l h^2: 78 layers of 14400 are 194.089e9, in 169.598 s. Their 64 heads are 225 wide.
  const auto earlier = make_job(
      bigscience_row("GPT-194B", "194", "100", "169.598", "; computed with the earlier estimator"));
  ASSERT_TRUE(earlier) << earlier.error().message;
  EXPECT_EQ(earlier->job.model.hidden, 14400);
  EXPECT_EQ(earlier->job.model.layer_count(), 78);
  EXPECT_EQ(earlier->job.model.head_dim, 225);
}

TEST(RunJob, BigScienceTimeThatContradictsItsNameSaysNothingOfTheShape) {
  // Twice the seconds at the same rate are twice the parameters: 184e9 = 12 l 14336^2 + 250880 x
  // 14336 has l = 73.1.
  const auto made = make_job(bigscience_row("GPT-184B", "184", "100", "329.498"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.model.hidden, 14336);
  EXPECT_EQ(made->job.model.layer_count(), 73);
  // 0.7 % more is 74.1 layers of the usual width, and no whole number of any other.
  const auto nearly = make_job(bigscience_row("GPT-184B", "184", "100", "165.902"));
  ASSERT_TRUE(nearly) << nearly.error().message;
  EXPECT_EQ(nearly->job.model.hidden, 14336);
  EXPECT_EQ(nearly->job.model.layer_count(), 73);
}

TEST(RunJob, RecipesThatCaptureMxfp8ExpertsOverlapTheirTransfers) {
  const auto made = make_job(
      row("source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,vpp,ep,mbs,gbs,precision",
          "NVIDIA Megatron-Bridge performance summary,NeMo 26.08,Megatron-Bridge/Megatron-Core,"
          "pretrain,Qwen3_235B_a22B,4096,GB200,256,1,1,8,3,32,1,8192,MXFP8"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->job.training.overlap_expert_parallel);
}

TEST(RunJob, NvidiaRowsKeepWeightsInFp8) {
  const auto keeps = [](const std::string& release, const std::string& precision) {
    const auto made = make_job(
        row("source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,mbs,gbs,precision",
            "NVIDIA Megatron-Bridge performance summary," + release +
                ",Megatron-Bridge/Megatron-Core,pretrain,LLAMA3_8B,8192,B200,8,1,1,1,2,128," +
                precision));
    EXPECT_TRUE(made) << made.error().message;
    return made && made->job.training.fp8_parameters;
  };
  EXPECT_TRUE(keeps("NeMo 25.11", "FP8-CS"));
  EXPECT_TRUE(keeps("NeMo 25.11", "FP8-MX"));
  EXPECT_FALSE(keeps("NeMo 25.07", "FP8-MX"));
  EXPECT_FALSE(keeps("NeMo 25.11", "BF16"));
}

TEST(RunJob, MlperfsAccumulationSaysHowManyGpusShareASequence) {
  // Two passes of eight sequences leave four replicas on eight GPUs.
  const auto made = make_job(row(
      "source,framework,task,model,seq,gpu,gpus,tp,cp,pp,gbs,grad_accum,precision",
      "MLPerf Training v5.1 results,NeMo,lora,Llama 2 70B,8192,H200-SXM-141GB,8,1,1,1,8,2,FP8"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.parallelism.cp, 2);
  EXPECT_TRUE(made->job.training.fp8_parameters);
}

TEST(RunJob, LatentAttentionOnBlackwellIsUnfusedBeforeNemo2507) {
  const auto backend = [](const std::string& release, const std::string& gpu) {
    const auto made = make_job(
        row("source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,vpp,ep,mbs,gbs,precision",
            "\"NVIDIA DGX Cloud benchmarking recipes, expected performance\"," + release +
                ",NeMo/Megatron-Core,pretrain,Deepseek V3,4096," + gpu +
                ",256,2,1,4,1,32,1,2048,BF16"));
    EXPECT_TRUE(made) << made.error().message;
    return made ? value_of(*made, "attention_backend") : "";
  };
  EXPECT_EQ(backend("dgxc 25.05", "GB200"), "unfused");
  EXPECT_EQ(backend("dgxc 25.07", "GB200"), "");
  EXPECT_EQ(backend("dgxc 25.05", "H100-SXM5-80GB"), "");
}

// 1,024 sequences of 8,192 tokens in 4.426 s on 512 GPUs of 989 TFLOP/s: 48 layers make 40.8 %, 32
// make 27.9 %.
TEST(RunJob, ARowsOwnMfuTellsTheDepthOfAnotherModel) {
  const auto layers = [](const std::string& mfu) {
    const auto made = make_job(
        row("source,release,framework,task,model,layers,seq,gpu,gpus,tp,cp,pp,vpp,ep,etp,mbs,gbs,"
            "precision,step_time_s,mfu_pct",
            "\"NVIDIA DGX Cloud benchmarking recipes, expected performance\",dgxc 25.05,"
            "NeMo/Megatron-Core,pretrain,LLAMA4 Maverick 400b,32,8192,H100,512,4,1,1,12,128,4,1,"
            "1024,BF16,4.426," +
                mfu));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->job.model.layer_count() : 0;
  };
  EXPECT_EQ(layers("40.8"), 48);
  EXPECT_EQ(layers("27.9"), 32);
  EXPECT_EQ(layers("60"), 32);  // neither
  EXPECT_EQ(layers(""), 32);
}

TEST(RunJob, TorchtitanRecomputesByOperatorAndCompilesWhereItSaysSo) {
  const std::string columns =
      "source,year,framework,task,model,gpu,gpus,cp,mbs,gbs,precision,fsdp_zero,recompute,"
      "overlap_notes,tokens_per_s_per_gpu";
  const auto compiled = make_job(
      row(columns,
          "torchtitan benchmark notes,2025,torchtitan,pretrain,Llama 3.1 8B,H200-SXM-141GB,"
          "32,4,2,16,BF16,FSDP8,selective AC,FSDP + torch.compile,5000"));
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->job.training.recompute_modules, std::vector<std::string>{"op"});
  EXPECT_EQ(compiled->job.training.seq_length, 8192);
  EXPECT_EQ(compiled->job.software.name, "torchtitan");
  EXPECT_TRUE(compiled->job.training.fused_cross_entropy);
  // 8 data-parallel ranks times 4 of context parallelism share one copy: no hybrid.
  EXPECT_EQ(compiled->job.parallelism.fsdp_shard_size, 0);
  const auto eager = make_job(row(
      columns,
      "torchtitan benchmark notes,2024,torchtitan,pretrain,Llama 3.1 8B,H200-SXM-141GB,32,1,2,64,"
      "BF16,FSDP,full AC,FSDP,5000"));
  ASSERT_TRUE(eager) << eager.error().message;
  EXPECT_EQ(eager->job.training.recompute, spec::Recompute::kFull);
  EXPECT_EQ(eager->job.software.name, "torchtitan-eager");
  EXPECT_FALSE(eager->job.training.fused_cross_entropy);
}

TEST(RunJob, DeepSpeedRowsNameLigerAndOffload) {
  const auto made = make_job(row(
      "source,year,framework,task,model,seq,gpu,gpus,mbs,precision,fsdp_zero,recompute,"
      "overlap_notes,step_time_s",
      "a benchmark,2026,DeepSpeed 0.19.2,pretrain,Llama-3.1-8B,8192,H200-SXM-141GB,8,1,BF16,ZeRO-3,"
      "full,\"FlashAttention-3, Liger kernel, CPU AdamW offload\",3"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->job.training.linear_cross_entropy);
  EXPECT_TRUE(made->job.training.optimizer_offload);
}

TEST(RunJob, ZeroInsideSomeGpusIsOverAll) {
  const auto made = make_job(row("source,framework,model,seq,gpu,gpus,mbs,gbs,precision,fsdp_zero",
                                 "a page,InternEvo,InternLM2 7B,2048,A100-SXM4-80GB,16,2,128,BF16,"
                                 "ZeRO-1 inside 8 GPUs"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.parallelism.zero_stage, 1);
  EXPECT_EQ(made->job.recipe.name, "internevo");
}

/// A head of 128,000 x 3072 in layers of 12 h + 2 s = 40,960 a token: 3.1, beside one layer 4.1,
/// where the others have at most 5, beside two 5.1. One of 32,000 is 0.8: beside four layers 4.8,
/// while beside three one of the others had 5.
TEST(RunJob, LayersAreMovedAwayFromTheHeadByFlops) {
  const std::pair<const char*, std::vector<int64_t>> kStages[] = {
      {"128000", {4, 4, 4, 4, 5, 5, 5, 1}}, {"32000", {4, 4, 4, 4, 4, 4, 4, 4}}};
  for (const auto& [vocabulary, stages] : kStages) {
    const auto made =
        make_job(row("source,framework,model,layers,hidden,ffn,heads,vocab,seq,gpu,gpus,pp,mbs,gbs,"
                     "precision,overlap_notes",
                     std::string("a page,Megatron-LM fork,GPT 4B,32,3072,12288,24,") + vocabulary +
                         ",2048,A100-SXM4-80GB,8,8,1,128,BF16,"
                         "\"1F1B, transformer layers redistributed to even out FLOPs\""));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->job.parallelism.stage_layers, stages) << vocabulary;
  }
}

// The table numbers the paper's methods: its first has two barriers, its second one.
TEST(RunJob, VocabularyIsDividedAsTheTableSays) {
  const std::pair<const char*, spec::VocabularyParallel> kNotes[] = {
      {"1F1B with output layer split over the pipeline, 1 barrier",
       spec::VocabularyParallel::kTwoBarriers},
      {"same, 2 barriers", spec::VocabularyParallel::kOneBarrier},
      {"interlaced pipeline, tensor-parallel vocabulary", spec::VocabularyParallel::kInterlaced}};
  for (const auto& [notes, vocabulary] : kNotes) {
    const auto made = make_job(row(
        "source,framework,model,layers,hidden,ffn,heads,vocab,seq,gpu,gpus,pp,mbs,gbs,"
        "precision,overlap_notes",
        std::string("a page,Megatron-LM fork,GPT 4B,32,3072,12288,24,128000,2048,A100-SXM4-80GB,"
                    "8,8,1,128,BF16,\"") +
            notes + "\""));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->job.parallelism.vocabulary, vocabulary) << notes;
  }
}

TEST(RunJob, RecipeOfOneReplicaSaysNothingOnItsReduction) {
  const auto made =
      make_job(row("source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,mbs,gbs,precision",
                   "\"NVIDIA DGX Cloud benchmarking recipes, expected performance\",dgxc 25.04,"
                   "NeMo/Megatron-Core,pretrain,Nemotron4 340b,4096,H100-SXM5-80GB,256,8,1,8,1,64,"
                   "BF16"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->job.training.overlap_grad_reduce);
}

TEST(RunJob, RateOfTheSc21PaperIncludesRecomputation) {
  const MeasuredRun run =
      row("source,framework,model,seq,gpu,gpus,tp,pp,mbs,gbs,flops_kind,tflops_per_gpu",
          "Narayanan et al. SC21,Megatron-LM,GPT-18.4B,2048,A100-SXM4-80GB,256,8,1,4,1024,"
          "hardware (includes recompute),135");
  const auto made = make_job(run);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.model.name, "megatron-18b");
  EXPECT_EQ(made->job.cluster.name, "selene");
  // 96 B s l h^2 (1 + s/6h + V/16lh), by hand: 96 x 1024 x 2048 x 40 x 6144^2 x (1 + 2048/36864 +
  // 51200/3932160) = 3.2482e17 FLOP; over 256 x 135e12 FLOP/s.
  const Measurement measured = measurement(run, made->job);
  EXPECT_EQ(measured.step_time_from, "tflops_per_gpu");
  EXPECT_NEAR(*measured.step_time_s, 9.398, 0.01);
}

TEST(RunJob, SwitchesThatTheRecipeHasAndTheLayoutHasNot) {
  const auto made = make_job(
      row("source,release,framework,task,model,seq,gpu,gpus,tp,cp,pp,mbs,gbs,precision",
          "NVIDIA NeMo performance benchmarks (24.07),24.07 final,NeMo/Megatron-Core,pretrain,"
          "GPT3-20B,2048,H100-SXM5-80GB,64,2,1,1,2,256,FP8"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->job.training.overlap_tp);
  EXPECT_EQ(made->job.training.fp8_recipe, spec::Fp8Recipe::kDelayed);
  EXPECT_EQ(made->job.software.name, "megatron-core-24");
}

// 12 layers in chunks of one on four stages are three chunks; a deterministic test that does not
// resume attends unfused; eight GPUs of GB200 are two nodes, four are one whose loader lags.
TEST(RunJob, FunctionalTestsOfMegatron) {
  const auto test = [](const std::string& name, const std::string& gpus, const std::string& gpu) {
    const auto made = make_job(
        row("source,framework,model,layers,hidden,heads,seq,gpu,gpus,gpus_per_node,tp,pp,mbs,gbs,"
            "precision,overlap_notes,mem_gb_peak,mem_kind",
            "Megatron-LM CI golden values (functional tests),Megatron-LM main,CI " + name +
                ",12,512,8,1024," + gpu + "," + gpus +
                ",4,1,4,4,32,BF16,flags: deterministic-mode layers-per-vpp-stage=1,2,"
                "\"1e9 bytes max allocated, rank logged to tensorboard\""));
    EXPECT_TRUE(made) << made.error().message;
    return *made;
  };
  const RunJob regular = test("gpt3_mcore_te_tp1_pp4_vp1", "8", "GB200");
  EXPECT_EQ(regular.job.parallelism.vpp, 3);
  EXPECT_FALSE(regular.job.training.batch_p2p_sync);
  EXPECT_EQ(regular.job.training.attention, spec::AttentionBackend::kUnfused);
  EXPECT_EQ(regular.job.software.name, "megatron-lm-ci");
  const RunJob resumed = test("gpt3_mcore_te_tp1_pp4_vp1_resume_torch_dist", "4", "GB200");
  EXPECT_NE(resumed.job.training.attention, spec::AttentionBackend::kUnfused);
  EXPECT_EQ(resumed.job.software.name, "megatron-lm-ci-slow");
  EXPECT_EQ(test("gpt3_mcore_tp1_pp4_resume", "8", "H100").job.training.attention,
            spec::AttentionBackend::kUnfused);
}

// 8 x 2048 tokens a micro batch; 32 of them on 8 GPUs are 524,288. Megatron-LM's default stays 1.
TEST(RunJob, BatchesThatNobodyTells) {
  const auto made = [](const std::string& framework) {
    return make_job(row("framework,model,seq,gpu,gpus,tokens_per_s_total",
                        framework + ",GPT3-125M,2048,A100,8,1310000"));
  };
  const auto other = made("flash-attention training scripts");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->job.training.micro_batch, 8);
  EXPECT_EQ(other->job.training.global_batch, 256);
  const auto megatron = made("Megatron-LM");
  ASSERT_TRUE(megatron) << megatron.error().message;
  EXPECT_EQ(megatron->job.training.micro_batch, 1);
}

TEST(RunJob, ReasonsOfRefusal) {
  const auto reason = [](const std::string& columns, const std::string& cells) {
    return base::error_of(make_job(row(columns, cells)));
  };
  EXPECT_EQ(reason("model,gpu,gpus", "llama3-8b,H100,\"1,024\""),
            "gpus: found \"1,024\"; allowed: a whole number from 0 to 134217728");
  EXPECT_EQ(reason("model,gpu,gpus", "llama3-8b,H100,"),
            "gpus: blank; a prediction needs the number of GPUs");
  EXPECT_EQ(reason("model,gpu,gpus,precision", "llama3-8b,H100,8,int3"),
            "precision: found \"int3\"; allowed: FP32, FP16, BF16, FP8 and its recipes, MXFP8, "
            "NVFP4");
  EXPECT_NE(reason("model,gpu,gpus", "mixtrel-8x7b,H100,8").find("is it mixtral-8x7b?"),
            std::string::npos);
  EXPECT_NE(reason("model,gpu,gpus", "llama3-8b,TPU v5p,8").find("gpu: found \"TPU v5p\""),
            std::string::npos);
}

/// A run of the Ultra-Scale benchmark: 1.34 B parameters, ZeRO-0, on `gpus`, whose notes tell the
/// bus bandwidths.
MeasuredRun nanotron_row(int64_t gpus, const std::string& bandwidths) {
  return row(
      "source,framework,model,layers,hidden,ffn,heads,kv_heads,vocab,seq,gpu,gpus,tp,pp,dp,"
      "fsdp_zero,mbs,gbs,notes",
      "Hugging Face nanotron Ultra-Scale benchmark,nanotron,Llama-style 1.34B,16,2048,8192,"
      "32,32,131072,4096,H100-SXM5-80GB," +
          std::to_string(gpus) + ",1,1," + std::to_string(gpus) +
          ",ZeRO-0,1,256,\"measured comm in same job: " + bandwidths +
          " GB/s; after_pp_fix=True\"");
}

TEST(RunJob, NanotronsNetworkIsToldByItsBandwidths) {
  // 512 MiB less a sixteenth in 503.3 MB / 150 GB/s = 3.355 ms, of which 503.3 MB / 364 GB/s =
  // 1.383 are the links': the rest over sqrt(1 further node * 15 further ranks).
  const auto degraded =
      make_job(nanotron_row(16, "AllReduce 319.0, AllGather 150.0, ReduceScatter 149.0"));
  ASSERT_TRUE(degraded) << degraded.error().message;
  EXPECT_EQ(degraded->job.software.name, "nanotron-degraded");
  EXPECT_NEAR(degraded->job.cluster.fabric.parameters.value_or("collective.node_step", -1),
              (503.316 / 150 - 503.316 / 364) * 1e-3 / std::sqrt(15.0), 1e-8);
  EXPECT_DOUBLE_EQ(degraded->job.training.bucket_elements, 25.0 * 1048576 / 2);
  // Slow by no more than its ring's steps explain. The better one counts: 6 GB/s were a
  // disturbance.
  const auto healthy =
      make_job(nanotron_row(256, "AllReduce 190.0, AllGather 6.0, ReduceScatter 77.0"));
  ASSERT_TRUE(healthy) << healthy.error().message;
  EXPECT_EQ(healthy->job.software.name, "nanotron");
  EXPECT_EQ(healthy->job.cluster.fabric.parameters.value_or("collective.node_step", -1), 0);
  // One NIC's rate on few nodes or one.
  const auto stalled =
      make_job(nanotron_row(8, "AllReduce 45.3, AllGather 41.8, ReduceScatter 42.9"));
  ASSERT_TRUE(stalled) << stalled.error().message;
  EXPECT_EQ(stalled->job.software.name, "nanotron-stalled");
}

TEST(RunJob, RowsOfUnknownSourcesTakeDefaults) {
  const auto made = make_job(row("model,gpu,gpus,tp,gbs,seq,mem_gb_peak,mem_kind,samples_per_s",
                                 "Mistral 7B,NVIDIA H100 80GB HBM3,16,2,64,4096,50,GiB,8"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->job.parallelism.dp, 8);
  EXPECT_EQ(made->job.training.micro_batch, 1);
  EXPECT_EQ(made->job.training.micro_batch, 1);
}

TEST(MeasuredRuns, FilesThatAreNone) {
  const auto missing = parse_measured_runs("model,gpu\nllama3-8b,H100\n", "t.csv");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "t.csv:1: column gpus is missing; is it gpu?");
  const auto empty = parse_measured_runs("model,gpu,gpus\n", "t.csv");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "t.csv: holds no measured run under its header");
}

}  // namespace
}  // namespace ergometer::validation
