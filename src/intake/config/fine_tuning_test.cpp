#include "intake/config/fine_tuning.h"

#include <gtest/gtest.h>

#include "intake/read_user_file.h"
#include "intake/reader/test_reading.h"

namespace ergometer::intake {
namespace {

spec::FlatYaml words(std::initializer_list<std::pair<const char*, const char*>> list) {
  spec::FlatYaml values;
  for (const auto& [key, value] : list) values[key] = {value, -1, "run.sh:1"};
  return values;
}

TEST(FineTuning, OpenRlhfHasDefaultsOfItsOwn) {
  const auto r = read_fine_tuning("OpenRLHF", words({{"pretrain", "Qwen/Qwen2.5-7B"}}), "run.sh");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "global_batch_size"), "128");
  EXPECT_EQ(said(*r, "micro_batch_size"), "8");
  EXPECT_EQ(said(*r, "zero"), "2");
  EXPECT_EQ(said(*r, "recompute_granularity"), "none");
  EXPECT_EQ(said(*r, "lora"), "-");
  EXPECT_TRUE(left(*r, Leftover::Kind::kNotModelled, "packing_samples"));
}

TEST(FineTuning, OpenRlhfByItsWords) {
  const auto r = read_fine_tuning("OpenRLHF",
                                  words({{"zero_stage", "3"},
                                         {"adam_offload", "true"},
                                         {"gradient_checkpointing", "true"},
                                         {"packing_samples", "true"},
                                         {"attn_implementation", "flash_attention_2"},
                                         {"lora_rank", "64"},
                                         {"load_in_4bit", "true"},
                                         {"target_modules", "q_proj,v_proj,o_proj"}}),
                                  "run.sh");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "optimizer_cpu_offload"), "true");
  EXPECT_EQ(said(*r, "recompute_granularity"), "full");
  EXPECT_EQ(said(*r, "attention_backend"), "fa2");
  EXPECT_EQ(said(*r, "lora"), "64");
  EXPECT_EQ(said(*r, "lora_targets"), "q,v,proj");
  EXPECT_EQ(said(*r, "quantize"), "nf4-dq");
  EXPECT_TRUE(left(*r, Leftover::Kind::kNotModelled, "packing_samples"));
}

TEST(FineTuning, LitGptDependsOnWhatIsDone) {
  const auto scratch = read_fine_tuning(
      "LitGPT", words({{"model_name", "pythia-160m"}, {"devices", "4"}, {"num_nodes", "2"}}), "a");
  ASSERT_TRUE(scratch) << scratch.error().message;
  EXPECT_EQ(said(*scratch, "gpus"), "8");
  EXPECT_EQ(said(*scratch, "fsdp_shard_size"), "4");
  EXPECT_EQ(said(*scratch, "global_batch_size"), "512");
  EXPECT_EQ(said(*scratch, "software"), "litgpt");
  EXPECT_EQ(said(*scratch, "recompute_granularity"), "-");  // left to the recipe
  const auto tuned = read_fine_tuning(
      "LitGPT", words({{"checkpoint_dir", "checkpoints/google/gemma-2b"}}), "a", "finetune_lora");
  ASSERT_TRUE(tuned) << tuned.error().message;
  EXPECT_EQ(said(*tuned, "model"), "google/gemma-2b");
  EXPECT_EQ(said(*tuned, "gpus"), "1");
  EXPECT_EQ(said(*tuned, "lora"), "8");
  EXPECT_EQ(said(*tuned, "lora_targets"), "q,v");
  EXPECT_EQ(said(*tuned, "recompute_granularity"), "-");
  EXPECT_TRUE(tuned->open.contains("seq_length"));
  EXPECT_FALSE(read_fine_tuning("LitGPT", words({}), "a", "finetune_adapter_v2"));
  const auto none = read_fine_tuning(
      "LitGPT", words({{"lora_query", "false"}, {"lora_value", "false"}}), "a", "finetune_lora");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("lora_query"), std::string::npos) << none.error().message;
  const auto quantized = read_fine_tuning(
      "LitGPT", words({{"devices", "2"}, {"quantize", "bnb.nf4-dq"}, {"precision", "bf16-true"}}),
      "a", "finetune_lora");
  ASSERT_TRUE(quantized) << quantized.error().message;
  EXPECT_EQ(said(*quantized, "quantize"), "nf4-dq");
  EXPECT_EQ(said(*quantized, "master_weights"), "false");
  EXPECT_EQ(said(*quantized, "recompute_granularity"), "full");
  // Weights of 4 bit are not trained.
  EXPECT_FALSE(read_fine_tuning("LitGPT", words({{"quantize", "bnb.nf4"}}), "a", "finetune_full"));
}

TEST(FineTuning, AutoModelShardsInGroups) {
  const auto r = parse_user_file(
      "step_scheduler: {local_batch_size: 2, global_batch_size: 64}\n"
      "distributed:\n"
      "  _target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager\n"
      "  dp_size: 16\n"
      "  dp_replicate_size: 2\n"
      "  tp_size: 4\n"
      "packed_sequence: {packed_sequence_size: 2048}\n"
      "peft: {dim: 16, match_all_linear: True}\n",
      "a.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "data_parallel_size"), "16");
  EXPECT_EQ(said(*r, "fsdp_shard_size"), "8");
  EXPECT_EQ(said(*r, "tensor_model_parallel_size"), "4");
  EXPECT_EQ(said(*r, "seq_length"), "2048");
  EXPECT_EQ(said(*r, "lora_targets"), "qkv,proj,fc1,fc2");
  EXPECT_TRUE(left(*r, Leftover::Kind::kNotModelled, "packed_sequence.packed_sequence_size"));
  EXPECT_FALSE(
      parse_user_file("step_scheduler: {local_batch_size: 2}\n"
                      "distributed: {_target_: x.MegatronManager}\n",
                      "a.yaml"));
}

TEST(FineTuning, LlamaRecipesShardsWhereItIsTold) {
  const auto alone = read_fine_tuning("llama-recipes", words({}), "a");
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(said(*alone, "fsdp"), "-");
  EXPECT_EQ(said(*alone, "recompute_granularity"), "full");
  const auto r = read_fine_tuning("llama-recipes",
                                  words({{"enable_fsdp", "true"},
                                         {"use_peft", "true"},
                                         {"fsdp_config.fsdp_activation_checkpointing", "False"},
                                         {"use_fp16", "true"}}),
                                  "a");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "lora"), "8");
  EXPECT_EQ(said(*r, "recompute_granularity"), "none");
  EXPECT_EQ(said(*r, "precision"), "fp16");
  EXPECT_FALSE(read_fine_tuning("llama-recipes",
                                words({{"use_peft", "true"}, {"peft_method", "prefix"}}), "a"));
}

// 16 samples a data rank in micro batches of 2, twice before a step: 16 rounds.
TEST(FineTuning, ColossalAiCutsTheBatchOfAPipeline) {
  const auto r = read_fine_tuning("ColossalAI",
                                  words({{"plugin", "3d"},
                                         {"tp", "2"},
                                         {"pp", "4"},
                                         {"zero_stage", "1"},
                                         {"batch_size", "16"},
                                         {"microbatch_size", "2"},
                                         {"accumulation_steps", "2"}}),
                                  "a");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "16");
  EXPECT_EQ(said(*r, "pipeline_model_parallel_size"), "4");
  EXPECT_EQ(said(*r, "zero"), "1");
  const auto cpu =
      read_fine_tuning("ColossalAI", words({{"plugin", "zero2_cpu"}, {"batch_size", "8"}}), "a");
  ASSERT_TRUE(cpu) << cpu.error().message;
  EXPECT_EQ(said(*cpu, "micro_batch_size"), "8");
  EXPECT_EQ(said(*cpu, "zero"), "2");
  EXPECT_EQ(said(*cpu, "optimizer_cpu_offload"), "true");
  EXPECT_FALSE(read_fine_tuning("ColossalAI", words({{"plugin", "zero3"}}), "a"));
}

TEST(FineTuning, ProgramsAreToldApart) {
  EXPECT_EQ(fine_tuning_framework("OpenRLHF", "openrlhf.cli.train_sft"), "OpenRLHF");
  EXPECT_EQ(fine_tuning_framework("OpenRLHF", "openrlhf.cli.train_ppo_ray"), "");
  EXPECT_EQ(fine_tuning_framework("verl", "verl.trainer.fsdp_sft_trainer"), "verl");
  EXPECT_EQ(fine_tuning_framework("verl", "verl.trainer.main_ppo"), "");
  EXPECT_EQ(fine_tuning_framework("", "llama_cookbook.finetuning"), "llama-recipes");
  EXPECT_EQ(fine_tuning_framework("", "pretrain_gpt.py"), "");
}

}  // namespace
}  // namespace ergometer::intake
