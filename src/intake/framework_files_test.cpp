// torchtune, torchtitan, nanotron, Axolotl, LLM Foundry, GPT-NeoX and Kubernetes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/test_support.h"
#include "intake/config/axolotl.h"
#include "intake/config/foundry.h"
#include "intake/config/nanotron.h"
#include "intake/config/neox.h"
#include "intake/config/torchtitan.h"
#include "intake/config/torchtune.h"
#include "intake/config/trainer_arguments.h"
#include "intake/kubernetes.h"
#include "intake/read_user_file.h"
#include "intake/reader/test_reading.h"
#include "intake/trainer/trainer_program.h"

namespace ergometer::intake {
namespace {

using Said = std::map<std::string, std::string>;

/// What a file says of the settings that are expected of it, or why it is refused.
Said read_of(const Result<Reading>& reading, const Said& expected) {
  if (!reading) return {{"error", reading.error().message}};
  Said found;
  for (const auto& [name, value] : expected) found[name] = said(*reading, name);
  return found;
}

constexpr const char* kTune =
    "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n"
    "  lora_attn_modules: ['q_proj', 'v_proj']\n  lora_rank: 8\n"
    "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 4096}\n"
    "dataset: {_component_: torchtune.datasets.alpaca_dataset, packed: true}\n"
    "optimizer: {_component_: torch.optim.AdamW, fused: true}\n"
    "batch_size: 2\ngradient_accumulation_steps: 4\ndtype: bf16\n"
    "enable_activation_checkpointing: true\ntensor_parallel_dim: 2\n";

TEST(Torchtune, ReadsAnAdapter) {
  const Said expected = {{"model", "llama3.1-8b"},
                         {"mode", "lora"},
                         {"lora", "8"},
                         {"lora_targets", "q,v"},
                         {"micro_batch_size", "2"},
                         {"gradient_accumulation_steps", "4"},
                         {"seq_length", "4096"},
                         {"tensor_model_parallel_size", "2"},
                         {"recompute_granularity", "full"},
                         {"precision", "bf16"},
                         {"fsdp", "true"}};
  EXPECT_EQ(form_of(kTune, "a.yaml"), FileForm::kTorchtune);
  const auto reading = parse_torchtune(kTune, "a.yaml");
  ASSERT_EQ(read_of(reading, expected), expected);
  EXPECT_TRUE(reading->notes.empty());
}

TEST(Torchtune, WordsOfTheCommandLine) {
  const spec::FlatYaml words = {{"model", {"torchtune.models.qwen2_5.qwen2_5_7b", 0}},
                                {"optimizer", {"torch.optim.SGD", 0}},
                                {"~optimizer.fused", {"", 0}},
                                {"~tensor_parallel_dim", {"", 0}},
                                {"batch_size", {"16", 0}}};
  const Said expected = {{"model", "qwen2.5-7b"},
                         {"mode", "-"},
                         {"micro_batch_size", "16"},
                         {"tensor_model_parallel_size", "-"}};
  const auto reading = parse_torchtune(kTune, "a.yaml", words);
  ASSERT_EQ(read_of(reading, expected), expected);
  EXPECT_TRUE(left(*reading, Leftover::Kind::kNotModelled, "optimizer._component_"));
  EXPECT_FALSE(left(*reading, Leftover::Kind::kNoEffect, "optimizer.fused"));
  EXPECT_FALSE(left(*reading, Leftover::Kind::kUnknown, "optimizer"));
}

TEST(Torchtitan, CopiesOfWhicheverRanksAreLeft) {
  const auto shards = [](const std::string& more) {
    const auto r =
        parse_torchtitan("[parallelism]\ndata_parallel_replicate_degree = 2\n" + more, "t.toml");
    return r ? said(*r, "fsdp_shard_size") : r.error().message;
  };
  EXPECT_EQ(shards("data_parallel_shard_degree = -1\n"), "1/2");
  EXPECT_EQ(shards("data_parallel_shard_degree = 8\n"), "8");
  EXPECT_EQ(shards("data_parallel_shard_degree = -1\nfsdp_reshard_after_forward = \"never\"\n"),
            "-");
}

TEST(Torchtitan, EverySecondLayerOfEveryChunk) {
  const auto layers = [](const std::string& schedule) {
    const auto reading = parse_torchtitan(
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\n"
        "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"" +
            schedule +
            "\"\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n",
        "a.toml");
    return reading ? said(*reading, "recompute_num_layers") : reading.error().message;
  };
  EXPECT_EQ(layers("1F1B"), "8");             // half of 32 layers / 2 stages
  EXPECT_EQ(layers("Interleaved1F1B"), "4");  // of two chunks each
}

/// The model of a Python file with these lines in front, "-" for none.
std::string model_of_python(const std::string& lines) {
  const auto reading = parse_trainer_python(
      lines + "model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16)\n" +
          "args = TrainingArguments(per_device_train_batch_size=2, bf16=True)\n",
      "a.py");
  return reading ? said(*reading, "model") : reading.error().message;
}

TEST(TrainerPython, ConstantsAreGivenOnce) {
  const std::string once = "NAME = \"google/gemma-2-9b\"  # ours\n";
  EXPECT_EQ(model_of_python(once), "google/gemma-2-9b");
  EXPECT_EQ(model_of_python(once + "if NAME == 1: pass\n"), "google/gemma-2-9b");
  EXPECT_EQ(model_of_python(once + "NAME = \"x\"\n"), "x");
  EXPECT_EQ(model_of_python(once + "NAME += \"x\"\n"), "google/gemma-2-9bx");
  for (const char* other :
       {"  NAME = \"x\"\n", "if b: NAME += \"x\"\n", "for NAME in names:\n", "NAME, b = c\n"})
    EXPECT_EQ(model_of_python(once + other), "-") << other;
  EXPECT_EQ(model_of_python("NAME = sys.argv[1]\n"), "-");
}

constexpr const char* kNanotron =
    "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 2048, intermediate_size: 8192, "
    "num_attention_heads: 32, num_hidden_layers: 24, num_key_value_heads: 8, vocab_size: 49152, "
    "max_position_embeddings: 2048, hidden_act: silu, tie_word_embeddings: true, is_llama_config: "
    "true}\n"
    "optimizer: {accumulate_grad_in_fp32: true, zero_stage: 1}\n"
    "parallelism: {dp: 4, pp: 2, tp: 2, pp_engine: 1f1b, tp_mode: REDUCE_SCATTER, "
    "recompute_layer: true}\n"
    "tokens: {batch_accumulation_per_replica: 8, micro_batch_size: 2, sequence_length: 2048}\n";

TEST(Nanotron, ReadsItsFile) {
  const Said expected = {{"gpus", "16"},
                         {"data_parallel_size", "4"},
                         {"tensor_model_parallel_size", "2"},
                         {"pipeline_model_parallel_size", "2"},
                         {"sequence_parallel", "true"},
                         {"micro_batch_size", "2"},
                         {"gradient_accumulation_steps", "8"},
                         {"seq_length", "2048"},
                         {"recompute_granularity", "full"},
                         {"zero", "1"},
                         {"precision", "bf16"},
                         {"schedule", "1f1b"}};
  EXPECT_EQ(form_of(kNanotron, "a.yaml"), FileForm::kNanotron);
  const auto reading = parse_nanotron(kNanotron, "a.yaml");
  ASSERT_EQ(read_of(reading, expected), expected);
  EXPECT_NE(said(*reading, "model").find("\"num_key_value_heads\":8"), std::string::npos);
}

/// A file of another character set, as an editor of Latin-1 leaves it.
TEST(Nanotron, ReadsWordsThatAreNotUtf8) {
  std::string text = kNanotron;
  text.replace(text.find("silu"), 4, "s\xeflu");
  const auto reading = parse_nanotron(text, "a.yaml");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_NE(said(*reading, "model").find("\"hidden_act\":\"s\uFFFDlu\""), std::string::npos);
}

constexpr const char* kAxolotl =
    "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 8192\nsample_packing: true\n"
    "micro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\n"
    "gradient_checkpointing: true\nadapter: lora\nlora_r: 16\nlora_target_modules: [q_proj, "
    "k_proj, v_proj, o_proj]\n";

TEST(Axolotl, ReadsItsFile) {
  const Said expected = {{"model", "meta-llama/Llama-3.1-8B"}, {"micro_batch_size", "2"},
                         {"gradient_accumulation_steps", "4"}, {"seq_length", "8192"},
                         {"recompute_granularity", "full"},    {"lora", "16"},
                         {"lora_targets", "qkv,proj"},         {"precision", "bf16"}};
  EXPECT_EQ(form_of(kAxolotl, "a.yaml"), FileForm::kAxolotl);
  EXPECT_EQ(read_of(parse_axolotl(kAxolotl, "a.yaml"), expected), expected);
}

// YAML's words for true and false, as Axolotl's reader takes them.
TEST(Axolotl, WarnsOfPackedSamples) {
  const auto warns = [](const std::string& word) {
    const auto reading = parse_axolotl(
        "base_model: meta-llama/Llama-3.1-8B\nsample_packing: " + word + "\n", "a.yaml");
    EXPECT_TRUE(reading) << word;
    return reading && std::ranges::any_of(reading->leftovers, [](const Leftover& it) {
             return it.kind == Leftover::Kind::kNotModelled && it.name == "sample_packing";
           });
  };
  for (const char* word : {"true", "True", "yes", "on"}) EXPECT_TRUE(warns(word)) << word;
  for (const char* word : {"false", "False", "no", "off"}) EXPECT_FALSE(warns(word)) << word;
}

TEST(Axolotl, LearnsFromAnswersToo) {
  const std::string base = "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\nrl: ";
  for (const char* way : {"dpo", "ipo", "kto", "orpo", "simpo"}) {
    const auto reading = parse_axolotl(base + way + "\n", "a.yaml");
    ASSERT_TRUE(reading) << way << reading.error().message;
    EXPECT_TRUE(std::ranges::any_of(reading->leftovers, [&](const Leftover& it) {
      return it.kind == Leftover::Kind::kNotModelled && it.name == std::string("rl ") + way;
    })) << way;
  }
  const auto loop = parse_axolotl(base + "grpo\n", "a.yaml");
  ASSERT_FALSE(loop);
  EXPECT_TRUE(loop.error().message.starts_with("a.yaml:3: rl: grpo is a loop of generation"))
      << loop.error().message;
}

constexpr const char* kFoundry =
    "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, expansion_ratio: 4, "
    "max_seq_len: 2048, vocab_size: 50368}\nmax_seq_len: 2048\nglobal_train_batch_size: 512\n"
    "device_train_microbatch_size: 8\nprecision: amp_bf16\n"
    "fsdp_config: {sharding_strategy: FULL_SHARD, activation_checkpointing: true}\n";

TEST(Foundry, ReadsItsFile) {
  const Said expected = {{"micro_batch_size", "8"}, {"global_batch_size", "512"},
                         {"seq_length", "2048"},    {"recompute_granularity", "full"},
                         {"precision", "bf16"},     {"fsdp", "true"}};
  EXPECT_EQ(form_of(kFoundry, "a.yaml"), FileForm::kFoundry);
  const auto reading = parse_foundry(kFoundry, "a.yaml");
  ASSERT_EQ(read_of(reading, expected), expected);
  EXPECT_NE(said(*reading, "model").find("\"n_layers\":32"), std::string::npos);
}

constexpr const char* kNeox =
    "{\"pipe-parallel-size\": 4, \"model-parallel-size\": 2, \"num-layers\": 44, "
    "\"hidden-size\": 6144, \"num-attention-heads\": 64, \"seq-length\": 2048, "
    "\"max-position-embeddings\": 2048, \"pos-emb\": \"rotary\", \"no-weight-tying\": true, "
    "\"zero_optimization\": {\"stage\": 1}, \"train_micro_batch_size_per_gpu\": 4, "
    "\"gradient_accumulation_steps\": 32, \"checkpoint-activations\": true, "
    "\"fp16\": {\"enabled\": true}, \"tokenizer_type\": \"HFTokenizer\", "
    "\"vocab-file\": \"20B_tokenizer.json\"}";

TEST(Neox, ReadsItsFile) {
  const Said expected = {{"tensor_model_parallel_size", "2"},
                         {"pipeline_model_parallel_size", "4"},
                         {"micro_batch_size", "4"},
                         {"gradient_accumulation_steps", "32"},
                         {"seq_length", "2048"},
                         {"zero", "1"},
                         {"recompute_granularity", "full"},
                         {"precision", "fp16"}};
  EXPECT_EQ(form_of(kNeox, "20B.yml"), FileForm::kNeox);
  const auto reading = parse_neox({{kNeox, "20B.yml"}});
  ASSERT_EQ(read_of(reading, expected), expected);
  EXPECT_NE(said(*reading, "model").find("\"num_hidden_layers\":44"), std::string::npos);
}

/// A job of Kubeflow's trainer with this line among its trainer's and these words for torchrun.
std::string train_job(const std::string& line, const std::string& words = "") {
  return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec:\n  trainer:\n"
         "    numNodes: 4\n    " +
         line + "\n    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n    command: [torchrun" +
         words +
         ", pretrain_gpt.py, --num-layers=2, --hidden-size=64, --num-attention-heads=2, "
         "--seq-length=8, --vocab-size=100, --micro-batch-size=2]\n";
}

TEST(Kubernetes, TorchrunIsToldOfNodesAndProcesses) {
  const Said all = {{"gpus", "32"}, {"micro_batch_size", "2"}, {"seq_length", "8"}};
  for (const std::string& text :
       {train_job("numProcPerNode: 8"), train_job("numProcPerNode: auto"), train_job("env: []"),
        train_job("env: []", ", --nproc_per_node=8"),
        train_job("numProcPerNode: 8", ", --nnodes=4, --nproc_per_node=8")}) {
    EXPECT_EQ(form_of(text, "a.yaml"), FileForm::kKubernetes);
    EXPECT_EQ(read_of(parse_kubernetes(text, "a.yaml", {}), all), all);
  }
  EXPECT_EQ(base::error_of(parse_kubernetes(train_job("numProcPerNode: 4"), "a.yaml", {})),
            "a.yaml:7: the manifest has 32 GPUs, and its command starts 16; make both the same");
}

// Kubernetes' own words that are nearly those which count, where they belong.
TEST(Kubernetes, KeysThatReadAlikeAreNoMistakes) {
  const Said all = {{"gpus", "32"}};
  for (const char* line :
       {"env: [{valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]",
        "elasticPolicy: {nProcPerNode: 8, minReplicas: 1, maxReplicas: 4}",
        "volumes: [{csi: {driver: d, volumeAttributes: {resource: a, limit: 2}}}]",
        "managedFields: [{fieldsV1: {f:replicas: {}, f:resources: {}}}]"})
    EXPECT_EQ(read_of(parse_kubernetes(train_job(line), "a.yaml", {}), all), all) << line;
  for (const auto& [line, found, meant] : {std::tuple{"replica: 2", "replica", "replicas"},
                                           {"resource: {limits: {}}", "resource", "resources"},
                                           {"nProcPerNode: 8", "nProcPerNode", "numProcPerNode"}})
    EXPECT_EQ(base::error_of(parse_kubernetes(train_job(line), "a.yaml", {})),
              fmt::format("a.yaml:6: {} is not known here; did you mean {}?", found, meant));
}

TEST(Kubernetes, PodsAreCounted) {
  const auto job = [](int workers) {
    const std::string pod =
        ", template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}, command: "
        "[torchrun, pretrain_gpt.py, --num-layers=2, --hidden-size=64, --num-attention-heads=2, "
        "--seq-length=8, --vocab-size=100]}]}}}";
    return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n"
           "    Master: {replicas: 1" +
           pod + "\n    Worker: {replicas: " + std::to_string(workers) + pod + "\n";
  };
  const Said two = {{"gpus", "16"}}, eight = {{"gpus", "64"}};
  EXPECT_EQ(read_of(parse_kubernetes(job(1), "a.yaml", {}), two), two);
  EXPECT_EQ(read_of(parse_kubernetes(job(7), "a.yaml", {}), eight), eight);
}

}  // namespace
}  // namespace ergometer::intake
