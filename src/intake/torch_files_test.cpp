// DeepSpeed, accelerate, the Trainer and PEFT.
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "intake/config/accelerate.h"
#include "intake/config/adapters.h"
#include "intake/config/axolotl.h"
#include "intake/config/deepspeed.h"
#include "intake/config/trainer_arguments.h"
#include "intake/programs/accelerate_words.h"
#include "intake/reader/test_reading.h"
#include "intake/trainer/trainer_program.h"

namespace ergometer::intake {
namespace {

using Kind = Leftover::Kind;

TEST(DeepSpeed, ReadsBatchesAndStage) {
  const auto r = parse_deepspeed(
      R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8,
          "bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8}})",
      "ds.json");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "4");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "8");
  EXPECT_EQ(said(*r, "global_batch_size"), "-");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "ddp_bucket_size"), "500000000");
  EXPECT_EQ(said(*r, "overlap_param_gather"), "true");
  EXPECT_EQ(r->settings.find("zero")->origin.text, "ds.json:2");
}

TEST(DeepSpeed, LeavesAutoOpen) {
  const auto r =
      parse_deepspeed(R"({"train_batch_size": "auto", "gradient_accumulation_steps": "auto",
      "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"},
      "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})",
                      "ds.json");
  ASSERT_TRUE(r);
  for (const char* name : {"global_batch_size", "micro_batch_size", "gradient_accumulation_steps",
                           "precision", "ddp_bucket_size"})
    EXPECT_EQ(said(*r, name), "-") << name;
}

TEST(DeepSpeed, AWholeBatchIsOnePass) {
  const auto r = parse_deepspeed(R"({"train_batch_size": 16})", "ds.json");
  ASSERT_TRUE(r);
  EXPECT_EQ(said(*r, "global_batch_size"), "16");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "1");
  EXPECT_EQ(said(*r, "precision"), "fp32");
  EXPECT_EQ(said(*r, "zero"), "0");
}

TEST(DeepSpeed, TellsWhatItDoesNotModel) {
  const auto r = parse_deepspeed(R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8,
      "zero_quantized_weights": false, "offload_param": {"device": "cpu"}}})",
                                 "ds.json");
  ASSERT_TRUE(r);
  EXPECT_TRUE(left(*r, Kind::kNotModelled, "zero_optimization.zero_hpz_partition_size"));
  EXPECT_TRUE(left(*r, Kind::kNotModelled, "zero_optimization.offload_param.device"));
  EXPECT_TRUE(left(*r, Kind::kNoEffect, "zero_optimization.zero_quantized_weights"));
}

TEST(DeepSpeed, SwitchesThatMatterWhereTheyAreUnusual) {
  const auto tells = [](const std::string& reduces, const std::string& elastic) {
    const auto r =
        parse_deepspeed(R"({"zero_optimization": {"stage": 2, "reduce_scatter": )" + reduces +
                            R"(}, "elasticity": {"enabled": )" + elastic + "}}",
                        "ds.json");
    EXPECT_TRUE(r);
    return std::pair(left(*r, Kind::kNotModelled, "zero_optimization.reduce_scatter"),
                     left(*r, Kind::kNotModelled, "elasticity.enabled"));
  };
  EXPECT_EQ(tells("true", "false"), std::pair(false, false));
  EXPECT_EQ(tells("false", "true"), std::pair(true, true));
}

TEST(DeepSpeed, GradientsMayBeSummedUpInAnotherFormat) {
  const auto told = [](const std::string& reduced, const std::string& kept) {
    const auto r = parse_deepspeed(
        R"({"train_batch_size": 16, "bf16": {"enabled": true}, "communication_data_type": ")" +
            reduced + R"(", "data_types": {"grad_accum_dtype": ")" + kept + R"("}})",
        "ds.json");
    EXPECT_TRUE(r);
    return said(*r, "grad_reduce_in_bf16") +
           (left(*r, Kind::kNotModelled, "communication_data_type") ? " told" : "");
  };
  EXPECT_EQ(told("bf16", "fp32"), "false told");
  EXPECT_EQ(told("fp32", "bf16"), "true told");
  EXPECT_EQ(told("fp32", "fp32"), "false");
}

TEST(DeepSpeed, RefusesWhatIsWrong) {
  EXPECT_EQ(base::error_of(parse_deepspeed("{\"train_batch_size\": \"many\"}", "ds.json")),
            "ds.json:1: train_batch_size: found \"many\"; allowed: a whole number of at least 1");
  EXPECT_NE(base::error_of(parse_deepspeed("{\"a\": ", "ds.json")).find("not valid JSON"),
            std::string::npos);
  EXPECT_NE(base::error_of(parse_deepspeed("{\"tp_size\": 4}", "ds.json"))
                .find("the job would be another one"),
            std::string::npos);
}

TEST(Accelerate, ReadsFsdpOfBothVersions) {
  const auto one = parse_accelerate(
      "distributed_type: FSDP\nnum_processes: 16\nnum_machines: 2\nmixed_precision: bf16\n"
      "fsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}\n",
      "a.yaml");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(said(*one, "gpus"), "16");
  EXPECT_EQ(said(*one, "fsdp"), "true");
  EXPECT_EQ(said(*one, "fsdp_shard_size"), "8");
  const auto two = parse_accelerate(
      "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: false}\n",
      "a.yaml");
  ASSERT_TRUE(two);
  EXPECT_EQ(said(*two, "zero"), "2");
  EXPECT_EQ(said(*two, "fsdp"), "false");
}

TEST(Accelerate, KnowsItsKinds) {
  const auto ddp = parse_accelerate("distributed_type: MULTI_GPU\nnum_processes: 8\n", "a.yaml");
  ASSERT_TRUE(ddp);
  EXPECT_EQ(said(*ddp, "zero"), "0");
  EXPECT_NE(base::error_of(parse_accelerate("distributed_type: TPU\n", "a.yaml")).find("MULTI_GPU"),
            std::string::npos);
}

TEST(Trainer, ReadsArgumentsOfACommand) {
  const auto r = read_trainer_arguments({{"--model_name_or_path", "Qwen/Qwen2.5-7B", 1},
                                         {"--per_device_train_batch_size", "2", 2},
                                         {"--gradient-accumulation-steps", "8", 3},
                                         {"--bf16", "True", 4},
                                         {"--gradient_checkpointing", "", 5},
                                         {"--fsdp", "full_shard auto_wrap", 6},
                                         {"--learning_rate", "2e-5", 7}},
                                        "run.sh");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "Qwen/Qwen2.5-7B");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "8");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "recompute_granularity"), "full");
  EXPECT_EQ(said(*r, "fsdp"), "true");
  EXPECT_EQ(r->settings.find("fsdp")->origin.text, "run.sh:6");
  EXPECT_TRUE(left(*r, Kind::kNoEffect, "learning_rate"));
}

/// What is told of the lengths in a file of TRL's: options that are not modelled and notes.
std::string lengths_told(const std::string& words) {
  const auto r = parse_trainer_file(
      "model_name_or_path: Qwen/Qwen3-8B\nassistant_only_loss: false\n" + words, "sft.yaml");
  if (!r) return r.error().message;
  std::string told;
  for (const Leftover& it : r->leftovers)
    if (it.kind == Kind::kNotModelled) told += it.name + ": " + it.says + "\n";
  for (const std::string& note : r->notes) told += note + "\n";
  return told;
}

// TRL's packing keeps tokens within their text unless it is "wrapped"; without padding a batch has
// as many tokens as its texts.
TEST(Trainer, TellsWhatPackingOfTrlDoes) {
  const auto begins = [](const std::string& words, const std::string& told) {
    EXPECT_TRUE(lengths_told(words).starts_with(told)) << words << lengths_told(words);
  };
  begins("packing: true\n", "packing: time: attention only within each packed document");
  begins("packing: true\npacking_strategy: bfd\n", "packing: time: attention only");
  const std::string wrapped =
      lengths_told("packing: true\npacking_strategy: wrapped\nmax_length: 2048\n");
  EXPECT_EQ(wrapped.find("attention only"), wrapped.npos) << wrapped;
  EXPECT_EQ(wrapped.find("every sequence"), wrapped.npos) << wrapped;
  begins("padding_free: true\n", "padding_free: time and memory: sequences of a batch lie behind");
  begins("max_length: 2048\n", "every sequence is taken to be 2048 tokens long");
  begins("packing: false\n", "every sequence is taken to be 1024 tokens long");
  EXPECT_TRUE(lengths_told("max_length: None\npadding_free: true\n").starts_with("padding_free:"));
}

TEST(Trainer, KernelsOfAHub) {
  const auto backend = [](const std::string& name) {
    const auto r = parse_trainer_file(
        "model_name_or_path: Qwen/Qwen3-8B\npacking: true\n"
        "attn_implementation: " +
            name + "\n",
        "sft.yaml");
    if (!r) return r.error().message;
    return said(*r, "attention_backend") +
           (left(*r, Kind::kNotModelled, "attn_implementation") ? " told" : "");
  };
  EXPECT_EQ(backend("kernels-community/flash-attn2"), "fa2");
  EXPECT_EQ(backend("kernels-community/vllm-flash-attn3"), "fa3");
  EXPECT_EQ(backend("kernels-community/flash-attn3@main:flash_attention"), "fa3");
  EXPECT_EQ(backend("kernels-community/flash-attn4"), "- told");
  EXPECT_EQ(backend("someone/attention"), "- told");
}

TEST(Trainer, TextsThatAreNotCutHaveNoLength) {
  for (const char* nothing : {"None", "null", "~", "", "null  # whole texts"}) {
    const auto r = parse_trainer_file(
        std::string("model_name_or_path: Qwen/Qwen3-8B\nassistant_only_loss: false\nmax_length: ") +
            nothing + "\n",
        "sft.yaml");
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(said(*r, "seq_length"), "-") << nothing;
    EXPECT_TRUE(r->unsaid.contains("seq_length")) << nothing;
  }
}

std::string said_or_open(const Reading& reading) {
  return reading.unsaid.contains("seq_length") ? "open" : said(reading, "seq_length");
}

TEST(Trainer, TextsThatAreNotCutInJson) {
  const auto length = [](const std::string& said) {
    const auto r = parse_trainer_file(
        R"({"model_name_or_path": "a/b", "packing": false, "bf16": true)" + said + "}", "a.json");
    if (!r) return r.error().message;
    const auto* value = r->defaults.find("seq_length");
    return value == nullptr ? said_or_open(*r) : value->text;
  };
  EXPECT_EQ(length(""), "1024");
  EXPECT_EQ(length(", \"max_length\": null"), "open");
  EXPECT_EQ(length(", \"max_length\": 512"), "512");
}

// Open-Instruct's own loop computes nothing again unless it is told to.
TEST(Trainer, OpenInstructsDefaults) {
  const auto again = [](const std::string& words) {
    const auto r = parse_trainer_file(
        "model_name_or_path: a/b\nmax_seq_length: 4096\npacking: true\nbf16: true\n" + words,
        "o.yaml");
    const auto* value = r ? r->defaults.find("recompute_granularity") : nullptr;
    return value == nullptr ? "-" : value->text;
  };
  EXPECT_EQ(again(""), "full");
  EXPECT_EQ(again("reduce_loss: sum\n"), "none");
  const auto eight =
      parse_trainer_file("model_name_or_path: a/b\nuse_8bit_optimizer: true\n", "o.yaml");
  ASSERT_TRUE(eight) << eight.error().message;
  EXPECT_EQ(said(*eight, "optimizer_moments"), "8-bit");
}

// Pretraining packs unless it is told not to.
TEST(Trainer, LlamaFactorysPretrainingPacks) {
  const auto notes = [](const std::string& words) {
    const auto r = parse_trainer_file(
        "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: full\ncutoff_len: 2048\n" + words,
        "f.yaml");
    if (!r) return r.error().message;
    std::string all;
    for (const std::string& note : r->notes) all += note + "\n";
    return all;
  };
  EXPECT_EQ(notes("stage: pt\n").find("without packing"), std::string::npos);
  EXPECT_NE(notes("stage: pt\npacking: false\n").find("without packing"), std::string::npos);
  EXPECT_NE(notes("stage: sft\n").find("without packing"), std::string::npos);
}

TEST(Trainer, MissesADeepSpeedFile) {
  const auto r = read_trainer_arguments({{"--deepspeed", "no/such.json", 3}}, "run.sh");
  EXPECT_EQ(base::error_of(r),
            "run.sh:3: names the DeepSpeed configuration \"no/such.json\", which is neither beside "
            "run.sh nor here; without it the job would be another one");
}

TEST(Trainer, ReadsCallsInPython) {
  const auto r = parse_trainer_python(
      "# TrainingArguments(per_device_train_batch_size=64)\n"
      "args = SFTConfig(\n    per_device_train_batch_size = 4,  # of a GPU\n    max_length=2_048,\n"
      "    bf16=is_bfloat16_supported(), learning_rate=lr, packing=True)\n"
      "peft = LoraConfig(r=16, target_modules=['q_proj', \"v_proj\"])\n",
      "sft.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "4");
  EXPECT_EQ(said(*r, "seq_length"), "2048");
  EXPECT_EQ(said(*r, "lora"), "16");
  EXPECT_EQ(said(*r, "lora_targets"), "q,v");
  EXPECT_EQ(r->settings.find("micro_batch_size")->origin.text, "sft.py:3");
}

TEST(Trainer, RefusesWhatIsNoLiteral) {
  EXPECT_EQ(
      base::error_of(
          parse_trainer_python("TrainingArguments(bf16=True,\n  optim=cfg.optim)", "t.py")),
      "t.py:2: optim: found cfg.optim, which is known only when the script runs; a literal can "
      "be read");
  EXPECT_NE(
      base::error_of(parse_trainer_python(
                         "TrainingArguments(bf16=True)\nTrainingArguments(bf16=False)", "t.py"))
          .find("which one is meant?"),
      std::string::npos);
  for (const char* torn :
       {"TrainingArguments(", "TrainingArguments(bf16='", "LoraConfig([[[[", "((("})
    (void)parse_trainer_python(torn, "t.py");
}

/// Whatever a name stands for is looked up in all of the text.
TEST(Trainer, ReadsNoMoreCallsThanAHandWrites) {
  std::string calls, arguments, brackets = "SFTConfig(gradient_accumulation_steps=1 + ";
  for (int i = 0; i < 1000; ++i) {
    calls += "SFTConfig(packing=True)\n";
    arguments += 'a' + std::to_string(i) + "=1,";
    brackets += "(1 + ";
  }
  for (const std::string& text :
       {calls, "SFTConfig(" + arguments + ")", "SFTConfig(fsdp_config={" + arguments + "})"})
    EXPECT_NE(base::error_of(parse_trainer_python(text, "t.py")).find("found more than 100 calls"),
              std::string::npos)
        << text.substr(0, 40);
  EXPECT_NE(base::error_of(parse_trainer_python(brackets + "1" + std::string(1001, ')'), "t.py"))
                .find("a literal can be read"),
            std::string::npos);
}

TEST(Trainer, FrozenPartsAreNotFollowed) {
  const std::string frozen =
      "for p in model.base.parameters():\n    p.requires_grad = False\n"
      "args = TrainingArguments(per_device_train_batch_size=4)\n";
  const auto full = parse_trainer_python(frozen, "a.py");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_TRUE(left(*full, Leftover::Kind::kNotModelled, "requires_grad"));
  // Adapters' scripts freeze the model by hand.
  const auto lora =
      parse_trainer_python(frozen + "peft = LoraConfig(r=8)\nuse(model, peft)\n", "a.py");
  ASSERT_TRUE(lora) << lora.error().message;
  EXPECT_FALSE(left(*lora, Leftover::Kind::kNotModelled, "requires_grad"));
}

TEST(Trainer, AxolotlNeedsAnAdapter) {
  const auto full =
      parse_axolotl("base_model: Qwen/Qwen3-8B\nlora_r: 8\nmicro_batch_size: 2\n", "a.yml");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(said(*full, "lora"), "-");
  EXPECT_EQ(said(*full, "micro_batch_size"), "2");
  const auto lora = parse_axolotl(
      "base_model: Qwen/Qwen3-8B\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n", "a.yml");
  ASSERT_TRUE(lora);
  EXPECT_EQ(said(*lora, "lora"), "8");
  EXPECT_EQ(said(*lora, "lora_targets"), "qkv,proj,fc1,fc2");
}

// It loads a model that is trained whole in BF16, and Cut Cross-Entropy fuses the loss.
TEST(Axolotl, LoadsInTheWidthItTrainsIn) {
  const std::string text =
      "base_model: Qwen/Qwen3-8B\nbf16: true\nplugins:\n"
      "  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n";
  const auto whole = parse_axolotl(text, "a.yml"),
             lora = parse_axolotl(text + "adapter: lora\nlora_r: 8\n", "a.yml");
  ASSERT_TRUE(whole && lora);
  EXPECT_NE(whole->fallbacks.find("master_weights"), nullptr);
  EXPECT_EQ(lora->fallbacks.find("master_weights"), nullptr);
  EXPECT_EQ(said(*whole, "linear_cross_entropy_fusion"), "true");
}

TEST(Peft, ReadsRankAndTargets) {
  const auto r =
      parse_peft(R"({"peft_type": "LORA", "r": 64, "target_modules": ["down_proj", "k_proj"],
      "base_model_name_or_path": "meta-llama/Llama-3.1-8B"})",
                 "adapter_config.json");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "lora"), "64");
  EXPECT_EQ(said(*r, "lora_targets"), "k,fc2");
  EXPECT_EQ(r->settings.find("model"), nullptr);
  EXPECT_EQ(said(*r, "model"), "meta-llama/Llama-3.1-8B");
  const auto head = parse_peft(R"({"r": 8, "target_modules": ["q_proj", "lm_head"]})", "a.json");
  ASSERT_FALSE(head);
  EXPECT_NE(head.error().message.find("\"lm_head\""), std::string::npos);
}

TEST(Accelerate, WordsAndVariablesAreThoseOfItsFile) {
  const auto pair = [](const char* key, const char* value) {
    return std::pair<std::string, std::string>(key, value);
  };
  EXPECT_EQ(accelerate_value("zero_stage", "3"), pair("deepspeed_config.zero_stage", "3"));
  EXPECT_EQ(accelerate_value("use_fsdp", ""), pair("distributed_type", "FSDP"));
  EXPECT_EQ(accelerate_value("fsdp_version", "2"), pair("fsdp_config.fsdp_version", "2"));
  EXPECT_EQ(accelerate_value("megatron_lm_tp_degree", "2"),
            pair("megatron_lm_config.megatron_lm_tp_degree", "2"));
  EXPECT_EQ(accelerate_value("parallelism_config_tp_size", "2"),
            pair("parallelism_config.parallelism_config_tp_size", "2"));
  EXPECT_EQ(accelerate_value("num_processes", "8"), pair("num_processes", "8"));
  const auto off = accelerate_environment({{"FSDP_VERSION", "2"}}, "run.sh:1");
  EXPECT_TRUE(off.empty());
  const auto on = accelerate_environment(
      {{"ACCELERATE_USE_FSDP", "True"}, {"FSDP_SHARDING_STRATEGY", "2"}}, "run.sh:1");
  const auto r = read_accelerate(on, "run.sh");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "zero"), "2");
  EXPECT_EQ(said(*r, "fsdp"), "false");
}

// 128 // (4 * 2) is 16 from left to right as 128 // 4 // 2.
TEST(TrainerPython, ProductsOfConstants) {
  const auto r = parse_trainer_python(
      "MBS = 4\nTrainingArguments(bf16=True, per_device_train_batch_size=MBS * 2,\n"
      "  gradient_accumulation_steps=128 // MBS // 2)",
      "t.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "8");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "16");
  for (const char* other : {"8 / 2", "8 // world", "1 // 2", "2 - 8"})
    EXPECT_FALSE(parse_trainer_python(
        std::string("TrainingArguments(gradient_accumulation_steps=") + other + ")", "t.py"))
        << other;
}

const std::string kMade = "args = TrainingArguments(bf16=True, per_device_train_batch_size=4)\n";

TEST(TrainerPython, SpreadsADictionaryThatIsWrittenOnce) {
  for (const char* common : {"dict(per_device_train_batch_size=4,\n  bf16=True)",
                             "{'per_device_train_batch_size': 4, 'bf16': True}"}) {
    const std::string text = std::string("common = ") + common + "\nTrainingArguments(**common)\n";
    const auto r = parse_trainer_python(text, "t.py");
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(said(*r, "micro_batch_size"), "4");
    EXPECT_EQ(said(*r, "precision"), "bf16");
    EXPECT_NE(base::error_of(parse_trainer_python(text + "common.pop('bf16')\n", "t.py"))
                  .find("found **common"),
              std::string::npos);
  }
  EXPECT_EQ(
      base::error_of(parse_trainer_python("TrainingArguments(bf16=True,\n  **load())", "t.py")),
      "t.py:2: found **load(), which is known only when the script runs; a dictionary of "
      "literals that is written once can be read");
}

TEST(TrainerPython, TheLastAssignmentCounts) {
  const auto r = parse_trainer_python(
      kMade + "args.per_device_train_batch_size = 1\nargs.gradient_accumulation_steps = 16\n",
      "t.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "1");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "16");
  // What stands in the next line is no condition of the call.
  EXPECT_TRUE(parse_trainer_python(kMade + "if debug:\n  pass\n", "t.py"));
  EXPECT_FALSE(parse_trainer_python(kMade + "args.bf16 = cfg.bf16\n", "t.py"));
  EXPECT_FALSE(parse_trainer_python(kMade + "args.gradient_accumulation_steps *= 2\n", "t.py"));
  EXPECT_FALSE(parse_trainer_python(kMade + "if debug:\n  args.bf16 = False\n", "t.py"));
}

TEST(TrainerPython, WhatABranchDecidesIsRefused) {
  const auto about = [](const std::string& text) {
    return base::error_of(parse_trainer_python(text, "t.py"));
  };
  const std::string inner = "  TrainingArguments(bf16=True)\n", lora = "LoraConfig(r=8)";
  EXPECT_EQ(about("if a:\n" + inner),
            "t.py:2: TrainingArguments(...) stands where line 1 decides whether it counts, which "
            "is known only when the script runs; give a copy of the script without that choice, "
            "or the arguments as YAML or JSON");
  for (const std::string& text :
       {"if a:\n  pass\nelse:\n" + inner, "def f():\n if a:\n" + inner,
        kMade + "p = " + lora + " if a else None\n", kMade + "p = None if a else " + lora,
        kMade + "p = a and " + lora, kMade + "p = " + lora + "\nTrainer(x, p if a else None)"})
    EXPECT_NE(about(text).find("decides whether it counts"), std::string::npos) << text;
  EXPECT_TRUE(parse_trainer_python("if __name__ == '__main__':\n" + inner, "t.py"));
  EXPECT_TRUE(parse_trainer_python("if a:\n  pass\ndef main():\n" + inner, "t.py"));
}

TEST(TrainerPython, ConfigurationsThatAreGivenToNothing) {
  const std::string bits = "bnb = BitsAndBytesConfig(load_in_4bit=True)\n",
                    load = "m = X.from_pretrained('gpt2'", adapts = "LoraConfig(r=8)\n";
  const auto off = parse_trainer_python(bits + load + ")\n" + adapts + kMade, "t.py");
  ASSERT_TRUE(off) << off.error().message;
  EXPECT_EQ(said(*off, "quantize"), "-");
  const auto on =
      parse_trainer_python(bits + load + ", quantization_config=bnb)\n" + adapts + kMade, "t.py");
  ASSERT_TRUE(on) << on.error().message;
  EXPECT_EQ(said(*on, "quantize"), "nf4");
}

TEST(TrainerPython, WeightsInEightBitsUnderAdapters) {
  const std::string load = "m = X.from_pretrained('gpt2', load_in_8bit=True)\n";
  const auto adapted = parse_trainer_python(load + "LoraConfig(r=8)\n" + kMade, "t.py");
  ASSERT_TRUE(adapted) << adapted.error().message;
  EXPECT_EQ(said(*adapted, "quantize"), "int8");
  EXPECT_FALSE(parse_trainer_python(load + kMade, "t.py"));
}

// Linear4bit casts what it multiplies to its own format, whatever the Trainer computes in.
TEST(TrainerPython, QuantizedProductsHaveAFormatOfTheirOwn) {
  const std::string program =
      "model = AutoModelForCausalLM.from_pretrained('m', quantization_config=BitsAndBytesConfig("
      "load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16))\n"
      "peft = LoraConfig(r=8)\n";
  const auto r = parse_trainer_python(program + "a = TrainingArguments(bf16=False)\n", "t.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_TRUE(left(*r, Kind::kNotModelled, "bnb_4bit_compute_dtype"));
  const auto mixed = parse_trainer_python(program + "a = TrainingArguments(fp16=True)\n", "t.py");
  ASSERT_TRUE(mixed) << mixed.error().message;
  EXPECT_EQ(said(*mixed, "precision"), "fp16");
}

// Without the Trainer's arguments its defaults do not hold.
TEST(TrainerPython, ALoopOfItsOwn) {
  const std::string model = "m = AutoModelForCausalLM.from_pretrained('gpt2')\n",
                    adapters = "p = LoraConfig(r=8, target_modules=['c_attn'])\n";
  const auto own = parse_trainer_python(
      model + adapters +
          "a = Accelerator(gradient_accumulation_steps=8, mixed_precision='bf16')\n"
          "train = DataLoader(d, batch_size=4)\neval = DataLoader(d, batch_size=16)\n",
      "t.py");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(said(*own, "micro_batch_size"), "4");
  EXPECT_EQ(said(*own, "gradient_accumulation_steps"), "8");
  EXPECT_EQ(said(*own, "precision"), "bf16");
  const auto bare = parse_trainer_python(model + adapters, "t.py");
  ASSERT_TRUE(bare) << bare.error().message;
  EXPECT_EQ(said(*bare, "micro_batch_size"), "-");
  EXPECT_TRUE(bare->open.contains("micro_batch_size"));
  const auto casts = parse_trainer_python(
      model + adapters + "with torch.autocast('cuda', dtype=torch.bfloat16):\n  step()\n", "t.py");
  ASSERT_TRUE(casts) << casts.error().message;
  EXPECT_EQ(said(*casts, "precision"), "bf16");
  const auto unknown = parse_trainer_python(
      model + adapters + "with torch.autocast('cuda', dtype=choose()):\n  step()\n", "t.py");
  ASSERT_TRUE(unknown) << unknown.error().message;
  EXPECT_EQ(said(*unknown, "precision"), "-");
  EXPECT_TRUE(unknown->open.contains("precision"));
}

TEST(TrainerPython, ProductsInTf32) {
  const auto tf32 = [](const std::string& line) {
    const auto r = parse_trainer_python(line + "\na = TrainingArguments(output_dir='o')\n", "t.py");
    return r ? said(*r, "tf32") : r.error().message;
  };
  EXPECT_EQ(tf32("torch.backends.cuda.matmul.allow_tf32 = True"), "true");
  EXPECT_EQ(tf32("torch.set_float32_matmul_precision('high')"), "true");
  EXPECT_EQ(tf32("torch.set_float32_matmul_precision(\"highest\")"), "false");
  EXPECT_EQ(tf32("torch.backends.cudnn.allow_tf32 = True"), "-");
}

TEST(TrainerPython, CheckpointsWhatTheModelIsTold) {
  const auto on = parse_trainer_python("model.gradient_checkpointing_enable()\n" + kMade, "t.py");
  ASSERT_TRUE(on);
  EXPECT_EQ(said(*on, "recompute_granularity"), "full");
  const auto off = parse_trainer_python("model.gradient_checkpointing_disable()\n" + kMade, "t.py");
  ASSERT_TRUE(off);
  EXPECT_EQ(said(*off, "recompute_granularity"), "none");
}

TEST(TrainerPython, ANameMayBeAnArgumentOfItself) {
  const auto r = parse_trainer_python(
      "max_seq_length = 2048\nload_in_4bit = True\n"
      "X.from_pretrained('gpt2', max_seq_length = max_seq_length, load_in_4bit = load_in_4bit)\n"
      "X.get_peft_model(m, r = 16)\nSFTConfig(bf16 = True)\n",
      "t.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "seq_length"), "2048");
  EXPECT_EQ(said(*r, "quantize"), "nf4");
}

// Autocast over a model in 16 bit keeps no copy in FP32; adapters are in FP32 themselves.
TEST(TrainerPython, AModelLoadedIn16BitIsTrainedSo) {
  const auto weights = [](const std::string& text) {
    const auto r = parse_trainer_python(text, "t.py");
    const auto* found = r ? r->fallbacks.find("master_weights") : nullptr;
    return found == nullptr ? "-" : found->text;
  };
  const std::string load = "X.from_pretrained('gpt2', torch_dtype=";
  EXPECT_EQ(weights(load + "torch.bfloat16)\n" + kMade), "false");
  EXPECT_EQ(weights(load + "torch.float32)\n" + kMade), "-");
  EXPECT_EQ(weights(load + "torch.bfloat16)\nLoraConfig(r=8)\n" + kMade), "-");
  EXPECT_EQ(weights(load + "torch.bfloat16)\n" + kMade + "args.fsdp = 'full_shard'\n"), "-");
}

const std::string kOwnLoop = "accelerator = Accelerator(mixed_precision='bf16')\n";

TEST(TrainerPython, AutocastOfAnOwnLoop) {
  const auto read = [](const std::string& arguments) {
    const auto r = parse_trainer_python(
        "a = Accelerator()\nON = False\nwith torch.autocast(" + arguments + "):\n  pass\n", "t.py");
    EXPECT_TRUE(r) << r.error().message;
    return r && r->open.contains("precision") ? "open" : r ? said(*r, "precision") : "";
  };
  EXPECT_EQ(read("'cuda'"), "fp16");
  EXPECT_EQ(read("'cuda', torch.bfloat16"), "bf16");
  EXPECT_EQ(read("'cuda', dtype=torch.bfloat16, enabled=True"), "bf16");
  EXPECT_EQ(read("'cuda', dtype=torch.float32"), "fp32");
  EXPECT_EQ(read("'cuda', enabled=ON"), "fp32");
  EXPECT_EQ(read("'cuda', enabled=asked()"), "open");
  const auto branch = parse_trainer_python(
      "a = Accelerator()\nif asked():\n  with torch.autocast('cuda'):\n    pass\n", "t.py");
  ASSERT_TRUE(branch) << branch.error().message;
  EXPECT_TRUE(branch->open.contains("precision"));
  EXPECT_EQ(read("'cuda', dtype=asked()"), "open");
}

TEST(TrainerPython, AcceleratorOfAnOwnLoop) {
  const auto read = [](const std::string& arguments) {
    return *parse_trainer_python("a = Accelerator(" + arguments + ")\nDataLoader(d, 4)\n", "t.py");
  };
  const Reading known = read("mixed_precision='fp8', gradient_accumulation_steps=2");
  EXPECT_EQ(said(known, "precision"), "fp8");
  EXPECT_EQ(said(known, "gradient_accumulation_steps"), "2");
  EXPECT_EQ(said(known, "micro_batch_size"), "4");
  const Reading unknown = read("mixed_precision=p(), gradient_accumulation_steps=n()");
  EXPECT_TRUE(unknown.open.contains("precision"));
  EXPECT_EQ(said(unknown, "precision"), "-");
  EXPECT_TRUE(unknown.open.contains("gradient_accumulation_steps"));
  EXPECT_EQ(said(unknown, "gradient_accumulation_steps"), "-");
  EXPECT_TRUE(read("split_batches=True").open.contains("micro_batch_size"));
  EXPECT_EQ(said(read("split_batches=False"), "micro_batch_size"), "4");
}

TEST(TrainerPython, ReadsPluginsOfAnAccelerator) {
  const auto read = [](const std::string& before, const std::string& plugin) {
    const auto r = parse_trainer_python(
        before + "a = Accelerator(mixed_precision='bf16', " + plugin + ")\nDataLoader(d, 4)\n",
        "t.py");
    EXPECT_TRUE(r) << r.error().message;
    return r ? *r : Reading();
  };
  const Reading whole =
      read("p = FullyShardedDataParallelPlugin(activation_checkpointing=True)\n", "fsdp_plugin=p");
  EXPECT_EQ(said(whole, "zero"), "3");
  EXPECT_EQ(said(whole, "recompute_granularity"), "full");
  EXPECT_EQ(said(whole, "precision"), "bf16");
  const Reading kept =
      read("", "fsdp_plugin=FullyShardedDataParallelPlugin(sharding_strategy=S.SHARD_GRAD_OP)");
  EXPECT_EQ(said(kept, "zero"), "2");
  const Reading two =
      read("", "deepspeed_plugin=DeepSpeedPlugin(zero_stage=1, gradient_accumulation_steps=8)");
  EXPECT_EQ(said(two, "zero"), "1");
  EXPECT_EQ(said(two, "gradient_accumulation_steps"), "8");
  EXPECT_EQ(said(two, "precision"), "bf16");
  EXPECT_EQ(said(two, "software"), "deepspeed");
  EXPECT_TRUE(left(read("", "fsdp_plugin=make()"), Leftover::Kind::kNotModelled, "fsdp_plugin"));
}

TEST(TrainerPython, TakesTheFirstLoadersBatch) {
  const auto r = parse_trainer_python(
      kOwnLoop + "DataLoader(t, batch_size=size())\nDataLoader(v, batch_size=64)\n", "t.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "-");
  EXPECT_TRUE(r->open.contains("micro_batch_size"));
}

}  // namespace
}  // namespace ergometer::intake
