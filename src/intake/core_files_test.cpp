// torchtitan, NeMo, Megatron-Bridge, Primus, and what a file is.
#include <gtest/gtest.h>

#include "intake/config/nemo_files.h"
#include "intake/config/torchtitan.h"
#include "intake/megatron_yaml.h"
#include "intake/read_user_file.h"
#include "intake/reader/test_reading.h"

namespace ergometer::intake {
namespace {

TEST(TorchtitanFile, ReadsDegreesOfBothReleases) {
  for (const char* section : {"parallelism", "training"}) {
    const auto r =
        parse_torchtitan(std::string("[model]\nname = \"llama3\"\nflavor = \"70B\"\n") +
                             "[training]\nbatch_size = 2\nseq_len = 4096\n" +
                             (section == std::string("training") ? "" : "[parallelism]\n") +
                             "tensor_parallel_degree = 8\n",
                         "t.toml");
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(said(*r, "model"), "llama3-70b");
    EXPECT_EQ(said(*r, "tensor_model_parallel_size"), "8");
    EXPECT_EQ(said(*r, "micro_batch_size"), "2");
    EXPECT_EQ(said(*r, "fsdp"), "true");
    EXPECT_EQ(said(*r, "software"), "torchtitan-eager");
  }
}

TEST(TorchtitanFile, ACommandLineOverrides) {
  const auto r = parse_torchtitan("[training]\nseq_len = 4096\n", "t.toml",
                                  {{"training.seq_len", {"8192", -1}},
                                   {"training.enable_cpu_offload", {"", -1}},
                                   {"parallelism.no_enable_async_tensor_parallel", {"", -1}},
                                   {"compile.enable", {"", -1}}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "seq_length"), "8192");
  EXPECT_EQ(said(*r, "software"), "torchtitan");
  EXPECT_EQ(said(*r, "optimizer_cpu_offload"), "true");
  EXPECT_EQ(said(*r, "tp_comm_overlap"), "false");
}

TEST(TorchtitanFile, StagesTakePiecesOfARanksBatch) {
  const auto r = parse_torchtitan(
      "[training]\nlocal_batch_size = 16\n[parallelism]\npipeline_parallel_degree = 4\n"
      "pipeline_parallel_microbatch_size = 2\ndata_parallel_shard_degree = 2\n",
      "t.toml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "8");
  EXPECT_EQ(said(*r, "zero"), "2");
  EXPECT_EQ(said(*r, "data_parallel_size"), "2");
}

TEST(TorchtitanFile, SaysWhereItIsWrong) {
  const auto torn = parse_torchtitan("[model]\nname = \n", "t.toml");
  ASSERT_FALSE(torn);
  EXPECT_TRUE(torn.error().message.starts_with("t.toml:2:")) << torn.error().message;
  const auto mode = parse_torchtitan("[activation_checkpoint]\nmode = \"some\"\n", "t.toml");
  ASSERT_FALSE(mode);
  EXPECT_EQ(mode.error().message,
            "t.toml:2: activation_checkpoint.mode: found \"some\"; allowed: none, full, selective, "
            "memory_budget");
}

constexpr const char* kNemo2 =
    "data: {global_batch_size: 64, micro_batch_size: 1, seq_length: 4096}\n"
    "model: {config: {_target_: nemo.Llama3Config8B}}\n"
    "trainer:\n  devices: 8\n  num_nodes: 2\n  callbacks:\n  - {tp_comm_overlap: true}\n"
    "  strategy: {tensor_model_parallel_size: 2}\n";

TEST(NemoFiles, ASecondGenerationIsNotTheFirst) {
  EXPECT_EQ(form_of(kNemo2, "n.yaml"), FileForm::kNemo2);
  const auto r = parse_nemo_2(kNemo2, "n.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama3-8b");
  EXPECT_EQ(said(*r, "gpus"), "16");
  EXPECT_EQ(said(*r, "tensor_model_parallel_size"), "2");
  EXPECT_EQ(said(*r, "tp_comm_overlap"), "true");
}

TEST(NemoFiles, ParallelismOutOfPlaceIsAnError) {
  const auto r = parse_nemo_2("trainer: {context_parallel_size: 2}\n", "n.yaml");
  ASSERT_FALSE(r);
  EXPECT_TRUE(
      r.error().message.starts_with("n.yaml:1: trainer.context_parallel_size: found \"2\""));
  EXPECT_TRUE(parse_nemo_2("trainer: {context_parallel_size: 1}\n", "n.yaml"));
}

TEST(NemoFiles, BridgeReadsItsPrecision) {
  const auto r = parse_megatron_bridge(
      "model: {_target_: a.Llama31ModelProvider405B, tensor_model_parallel_size: 8}\n"
      "train: {global_batch_size: 256, micro_batch_size: 1}\nmixed_precision: "
      "bf16_with_mxfp8_mixed\n",
      "b.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama3.1-405b");
  EXPECT_EQ(said(*r, "precision"), "fp8");
  EXPECT_EQ(said(*r, "fp8_recipe"), "mxfp8");
}

TEST(PrimusFile, KeepsItsOwnDefaults) {
  const auto r = parse_primus(
      "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n"
      "    overrides: {micro_batch_size: 2, seq_length: '${SEQ:8192}', overlap_grad_reduce: "
      "true}\n",
      "p.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama3.1-8b");
  EXPECT_EQ(said(*r, "seq_length"), "8192");
  EXPECT_EQ(said(*r, "software"), "primus");
  EXPECT_EQ(said(*r, "zero"), "-");
  EXPECT_EQ(r->settings.find("micro_batch_size")->origin.text, "p.yaml:5");
}

TEST(UserFile, IsWhatStandsInIt) {
  const auto is = [](const char* text, const char* file) { return form_of(text, file); };
  // Whatever it writes.
  EXPECT_EQ(is("#!/bin/bash -e\ncat > x <<X\nNAME:\n[model]\nX\nrun --a 1\n", "x.sbatch"),
            FileForm::kMegatronArguments);
  EXPECT_EQ(is("{\"zero_optimization\": {\"stage\": 2}}", "a"), FileForm::kDeepSpeed);
  EXPECT_EQ(is("{\"model_type\": \"llama\"}", "a"), FileForm::kModelConfig);
  EXPECT_EQ(is("{\"peft_type\": \"LORA\"}", "a"), FileForm::kPeft);
  EXPECT_EQ(is("{\"traceEvents\": []}", "a.json"), FileForm::kNone);
  EXPECT_EQ(is("model: llama3-8b\ngpus: 8\n", "a.yaml"), FileForm::kJobFile);
  EXPECT_EQ(is("model: {num_layers: 2}\nparallelism: {tp: 2}\n", "a.yaml"), FileForm::kJobFile);
  EXPECT_EQ(is("MODEL_ARGS:\n  --num-layers: 12\n", "a.yaml"), FileForm::kMegatronArguments);
  EXPECT_EQ(is("torchrun x.py --num-layers 12\n", "a.sh"), FileForm::kMegatronArguments);
  EXPECT_EQ(is("distributed_type: FSDP\n", "a.yaml"), FileForm::kAccelerate);
  EXPECT_EQ(is("base_model: a\nsequence_len: 4\n", "a.yaml"), FileForm::kAxolotl);
  EXPECT_EQ(is("stage: sft\nfinetuning_type: lora\n", "a.yaml"), FileForm::kTrainer);
  EXPECT_EQ(is("[training]\nseq_len = 4\n", "a"), FileForm::kTorchtitan);
  EXPECT_EQ(is("x = TrainingArguments(\n", "a.py"), FileForm::kTrainerPython);
  EXPECT_EQ(is("trainer: {devices: 8}\nmodel: {num_layers: 2}\n", "a.yaml"), FileForm::kNemo1);
  EXPECT_EQ(is("train: {micro_batch_size: 2}\nmodel: {num_layers: 2}\n", "a.yaml"),
            FileForm::kMegatronBridge);
  EXPECT_EQ(is("Buy milk.\n", "a.txt"), FileForm::kNone);
  const auto r = parse_user_file("Buy milk.\n", "a.txt");
  ASSERT_FALSE(r);
  EXPECT_TRUE(r.error().message.starts_with("a.txt: is none of the files that can be read: "));
}

// What NeMo, PEFT or the Trainer do by default would be another job.
TEST(UserFile, OfAnotherProgramIsRefused) {
  const auto unknown = parse_user_file(
      "trainer: {rounds: 4, loops: 10, keeps: 3}\nmodel: {backbone: x, size_of: 7, heads_of: x}\n",
      "lab.yaml");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.starts_with(
      "lab.yaml:2: model.backbone: one of 6 keys that a NeMo 1 configuration does not have, of 6 "))
      << unknown.error().message;
  // All keys of a model are one setting.
  const std::string sizes =
      "model: {num_layers: 4, hidden_size: 64, ffn_hidden_size: 256, num_attention_heads: 2, "
      "encoder_seq_length: 128, tokenizer: {vocab_size: 512}, a: 1, b: 2, c: 3, d: 4, e: 5, f: "
      "6}\n";
  const auto known = parse_user_file("trainer: {devices: 8, num_nodes: 1}\n" + sizes, "gpt.yaml");
  EXPECT_TRUE(known) << known.error().message;
  EXPECT_EQ(form_of("model: a/b\ntrain_type: lora\nper_device_train_batch_size: 1\n", "s.yaml"),
            FileForm::kForeign);
  EXPECT_EQ(form_of(R"({"model": "a/b", "train_type": "lora", "lora_alpha": 32})", "args.json"),
            FileForm::kForeign);
  EXPECT_EQ(form_of("model: {partial_pretrain: a/b}\ntrainer: {nnodes: 1}\n", "v.yaml"),
            FileForm::kVerl);
}

// A named model with fewer layers is read; another size of it is not, and said so.
TEST(PrimusFile, TellsWhatAModuleHasNoUseFor) {
  const auto r = parse_primus(
      "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
      "    modle: llama3.1_8B.yaml\n    override:\n      micro_batch_size: 4\n",
      "exp.yaml", {});
  ASSERT_TRUE(r);
  std::string unknown;
  for (const Leftover& leftover : r->leftovers)
    if (leftover.kind == Leftover::Kind::kUnknown)
      unknown += leftover.where + " " + leftover.name + "\n";
  EXPECT_EQ(unknown,
            "exp.yaml:5 modules.pre_trainer.modle\n"
            "exp.yaml:7 modules.pre_trainer.override.micro_batch_size\n");
}

TEST(PrimusFile, SizesBesideANamedModel) {
  const auto r = parse_primus(
      "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama3.1_8B.yaml\n"
      "    overrides: {num_layers: 4, moe_router_topk: 2, micro_batch_size: 2}\n",
      "p.yaml", {});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "num_layers"), "4");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_TRUE(left(*r, Leftover::Kind::kNotModelled, "moe_router_topk"));
}

// Megatron-LM's YAML says a gate by itself, or by the activation.
TEST(MegatronYaml, GatesOfActivations) {
  const auto model = [](const std::string& words) {
    const auto r = parse_megatron_yaml(
        "language_model: {num_layers: 2, hidden_size: 64, num_attention_heads: 2, " + words +
            "}\nmodel_parallel: {tensor_model_parallel_size: 1}\npadded_vocab_size: 512\n",
        "m.yaml");
    return r ? said(*r, "model") : r.error().message;
  };
  for (const char* gated : {"gated_linear_unit: true", "activation_func: swiglu",
                            "activation_func: swiglu, gated_linear_unit: true"})
    EXPECT_NE(model(gated).find("\"swiglu\":true"), std::string::npos) << model(gated);
  EXPECT_EQ(model("gated_linear_unit: false").find("swiglu"), std::string::npos);
}

TEST(NemoFiles, PackedTextsAreTold) {
  const auto first = [](const std::string& packs) {
    return parse_nemo_1(
        "trainer: {devices: 8, num_nodes: 1, precision: bf16}\n"
        "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 2, "
        "tokenizer: {vocab_size: 512}, data: {train_ds: {global_batch_size: 8, "
        "micro_batch_size: 1, max_seq_length: 2048, packed_sequence: " +
            packs + "}}}\n",
        "gpt.yaml");
  };
  constexpr const char* kSwitch = "model.data.train_ds.packed_sequence";
  const auto packed = first("True"), alone = first("False");
  ASSERT_TRUE(packed) << packed.error().message;
  EXPECT_TRUE(left(*packed, Leftover::Kind::kNotModelled, kSwitch));
  ASSERT_TRUE(alone);
  EXPECT_FALSE(left(*alone, Leftover::Kind::kNotModelled, kSwitch));
  EXPECT_TRUE(std::ranges::any_of(alone->notes, [](const std::string& note) {
    return note.starts_with("every sequence is taken to be 2048 tokens long");
  }));
  // All weights are tuned by the same set as adapters are.
  EXPECT_EQ(said(*alone, "seq_length"), "2048");
  EXPECT_EQ(said(*alone, "global_batch_size"), "8");
  const auto second = parse_nemo_2(
      "trainer: {strategy: {tensor_model_parallel_size: 2}}\n"
      "data: {seq_length: 4096, packed_sequence_specs: {packed_sequence_size: 4096}}\n",
      "r.yaml");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(left(*second, Leftover::Kind::kNotModelled,
                   "data.packed_sequence_specs.packed_sequence_size"));
}

// A token sees as many before it as the first number says, and itself.
TEST(NemoFiles, WindowsOfAttention) {
  const std::string sizes = "num_layers: 4, hidden_size: 64, num_attention_heads: 2, ";
  const auto first = parse_nemo_1(
      "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel: {" + sizes +
          "tokenizer: {vocab_size: 512}, window_size: [127, 0], window_attn_skip_freq: 2}\n",
      "gpt.yaml");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_NE(said(*first, "model").find("\"window_size\":128"), std::string::npos);
  EXPECT_NE(said(*first, "model").find("\"window_attn_skip_freq\":2"), std::string::npos);
  const auto second = [&](const std::string& words) {
    const auto r = parse_nemo_2(
        "trainer: {strategy: {tensor_model_parallel_size: 2}}\nmodel: {config: {" + words + "}}\n",
        "r.yaml");
    return r ? said(*r, "model") : r.error().message;
  };
  const std::string listed =
      second(sizes + "vocab_size: 512, window_size: [127, 0], window_attn_skip_freq: [1, 0, 1, 0]");
  EXPECT_NE(listed.find("\"window_size\":128"), listed.npos) << listed;
  EXPECT_NE(listed.find("\"window_attn_skip_freq\":\"1,0,1,0\""), listed.npos) << listed;
  // A class's own window is the catalog's; another one is another model.
  EXPECT_EQ(second("_target_: a.MistralConfig7B, window_size: [4096, 0]"), "mistral-7b");
  EXPECT_EQ(second("_target_: a.Gemma3Config27B, window_size: 1024"), "gemma3-27b");
  EXPECT_EQ(second("_target_: a.Llama3Config8B, window_size: [4095, 0]"),
            "r.yaml:2: model.config.window_size: found \"4095,0\"; allowed: that of llama3-8b, or "
            "another one beside all sizes of the model");
  EXPECT_EQ(second("_target_: a.Llama3Config8B, window_size: 4096"),
            "r.yaml:2: model.config.window_size: found \"4096\"; allowed: two whole numbers such "
            "as [128, 0]");
}

// PyTorch's FSDP, whatever it shards: what it overlaps is its own, and Transformer Engine's
// overlap is off.
TEST(Nemo1, GathersNothingAgainWhereGradientsAreSharded) {
  const std::string file =
      "trainer: {num_nodes: 1, devices: 8, precision: bf16}\n"
      "model: {micro_batch_size: 1, global_batch_size: 64, encoder_seq_length: 128, "
      "tensor_model_parallel_size: 2, sequence_parallel: true, ub_tp_comm_overlap: true, "
      "num_layers: 2, hidden_size: 64, num_attention_heads: 2, fsdp: FSDP, "
      "fsdp_sharding_strategy: grad, optim: {name: fused_adam}}\n";
  const auto read = [&](const std::string& fsdp) {
    std::string text = file;
    text.replace(text.find("FSDP"), 4, fsdp);
    return parse_nemo_1(text, "gpt.yaml");
  };
  const auto r = read("true");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "zero"), "2");
  EXPECT_EQ(said(*r, "fsdp"), "false");
  EXPECT_EQ(said(*r, "overlap_grad_reduce"), "true");
  EXPECT_EQ(said(*r, "tp_comm_overlap"), "false");
  EXPECT_EQ(said(*read("false"), "overlap_grad_reduce"), "false");
  EXPECT_EQ(said(*read("false"), "tp_comm_overlap"), "true");
}

}  // namespace
}  // namespace ergometer::intake
