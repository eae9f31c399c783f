// OLMo, OLMo-core, MaxText and XTuner.

#include <gtest/gtest.h>

#include "intake/reader/test_reading.h"
#include "intake/research/maxtext.h"
#include "intake/research/olmo.h"
#include "intake/research/olmo_core.h"
#include "intake/research/xtuner.h"

namespace ergometer::intake {
namespace {

constexpr const char* kOlmo = R"(model:
  d_model: 4096
  n_heads: 32
  n_layers: 32
  mlp_hidden_size: 22016
  activation_type: swiglu
  rope: true
  include_bias: false
  weight_tying: false
  flash_attention: true
  attention_dropout: 0.0
  residual_dropout: 0.0
  max_sequence_length: 2048
  vocab_size: 50280
  embedding_size: 50304
optimizer: {name: adamw, learning_rate: 3.0e-4}
global_train_batch_size: 2160
device_train_microbatch_size: 2
precision: amp_bf16
fsdp: {wrapping_strategy: by_block, precision: mixed}
activation_checkpointing: one_in_four
)";

TEST(Olmo, ReadsItsYaml) {
  const auto r = parse_olmo(kOlmo, "OLMo-7B.yaml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "global_batch_size"), "2160");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "seq_length"), "2048");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "grad_reduce_in_bf16"), "false");
  EXPECT_EQ(said(*r, "attention_backend"), "fa2");
  EXPECT_EQ(said(*r, "recompute_num_layers"), "8");
  // SwiGLU's width counts the gate.
  EXPECT_NE(said(*r, "model").find("\"intermediate_size\":11008"), std::string::npos);
  EXPECT_NE(said(*r, "model").find("\"vocab_size\":50304"), std::string::npos);
}

TEST(Olmo, WordsCountOverIt) {
  const auto r = parse_olmo(kOlmo, "OLMo-7B.yaml",
                            {{"model.n_layers", {"16", -1, "a.sh:3"}},
                             {"activation_checkpointing", {"whole_layer", -1, "a.sh:4"}}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "recompute_granularity"), "full");
  EXPECT_EQ(said(*r, "recompute_num_layers"), "-");
  EXPECT_NE(said(*r, "model").find("\"num_hidden_layers\":16"), std::string::npos);
}

TEST(Olmo, EveryThirdLayerIsCountedFromTheFirst) {
  const std::pair<const char*, const char*> cases[] = {{"one_in_three", "11"},
                                                       {"two_in_three", "21"}};
  for (const auto& [word, layers] : cases) {
    const auto r =
        parse_olmo(kOlmo, "x.yaml", {{"activation_checkpointing", {word, -1, "a.sh:4"}}});
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(said(*r, "recompute_num_layers"), layers);
  }
}

TEST(Olmo, CopiesOfAHybridStrategyAreCounted) {
  const spec::FlatYaml copies = {{"fsdp.hybrid_sharding_num_model_replicas", {"4", -1, ""}}};
  spec::FlatYaml hybrid = copies;
  hybrid["fsdp.sharding_strategy"] = {"HYBRID_SHARD", -1, ""};
  const auto r = parse_olmo(kOlmo, "x.yaml", hybrid);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "fsdp_shard_size"), "1/4");
  // Of other strategies it says nothing.
  const auto whole = parse_olmo(kOlmo, "x.yaml", copies);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(said(*whole, "fsdp_shard_size"), "-");
}

TEST(Olmo, Float32IsReducedAsItIs) {
  const auto r = parse_olmo(
      kOlmo, "x.yaml", {{"precision", {"fp32", -1, ""}}, {"fsdp.precision", {"pure", -1, ""}}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "grad_reduce_in_bf16"), "false");
}

constexpr const char* kCore =
    R"(from olmo_core.train.train_module import TransformerTrainModuleConfig
SEQUENCE_LENGTH = 4096
GLOBAL_BATCH_SIZE = 1024 * SEQUENCE_LENGTH

def build_model_config(common):
    return TransformerConfig.olmo2_7B(vocab_size=common.tokenizer.padded_vocab_size())

def build_train_module_config(common):
    return TransformerTrainModuleConfig(
        rank_microbatch_size=2 * SEQUENCE_LENGTH,
        max_sequence_length=common.dataset.effective_sequence_length,
        optim=AdamWConfig(lr=3e-4, weight_decay=0.1),
        compile_model=True,
        dp_config=TransformerDataParallelConfig(
            name=DataParallelType.hsdp, param_dtype=DType.bfloat16, reduce_dtype=DType.float32,
            shard_degree=32),
        ac_config=TransformerActivationCheckpointingConfig(
            mode=TransformerActivationCheckpointingMode.selected_modules,
            modules=["blocks.*.feed_forward"]),
        max_grad_norm=1.0,
    )

if __name__ == "__main__":
    main(global_batch_size=GLOBAL_BATCH_SIZE, sequence_length=SEQUENCE_LENGTH,
         model_config_builder=build_model_config)
)";

TEST(OlmoCore, CountsTokensOfItsBatches) {
  const auto r = parse_olmo_core(kCore, "OLMo2-7B.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "olmo2-7b");
  EXPECT_EQ(said(*r, "global_batch_size"), "1024");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "seq_length"), "4096");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "fsdp_shard_size"), "32");
  EXPECT_EQ(said(*r, "recompute_modules"), "mlp");
  EXPECT_EQ(said(*r, "software"), "torchtitan");
}

TEST(OlmoCore, CountsCopiesInPlaceOfShards) {
  std::string text = kCore;
  text.replace(text.find("shard_degree=32"), 15, "num_replicas=2");
  const auto r = parse_olmo_core(text, "OLMo2-7B.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "fsdp_shard_size"), "1/2");
}

TEST(OlmoCore, WordsCountOverIt) {
  const auto r = parse_olmo_core(kCore, "OLMo2-7B.py",
                                 {{},
                                  {"train", "run01", "--train_module.rank_microbatch_size=4096",
                                   "--train_module.compile_model=false"}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "micro_batch_size"), "1");
  EXPECT_EQ(said(*r, "software"), "torchtitan-eager");
  const auto odd =
      parse_olmo_core(kCore, "OLMo2-7B.py", {{}, {"--train_module.rank_microbatch_size=5000"}});
  EXPECT_FALSE(odd);
}

constexpr const char* kNamed = R"(from olmo_core import x
dp_config = TransformerDataParallelConfig(name=DataParallelType.fsdp, param_dtype=DType.bfloat16)
tp = TransformerTensorParallelConfig(degree=4)
model_config = TransformerConfig.llama2_7B(vocab_size=32000)
dataset_config = NumpyFSLDatasetConfig(sequence_length=4096)
data_loader_config = NumpyDataLoaderConfig(global_batch_size=1024 * 4096)
train_module_config = TransformerTrainModuleConfig(
    rank_microbatch_size=2 * 4096, max_sequence_length=4096, dp_config=dp_config, tp_config=tp,
    cp_config=None)
)";

TEST(OlmoCore, FollowsPartsByTheirNames) {
  const auto r = parse_olmo_core(kNamed, "x.py", {{}, {"--launch.num-nodes=2"}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama2-7b");
  EXPECT_EQ(said(*r, "zero"), "3");
  EXPECT_EQ(said(*r, "precision"), "bf16");
  EXPECT_EQ(said(*r, "tensor_model_parallel_size"), "4");
  EXPECT_EQ(said(*r, "gpus"), "16");
  std::string text = kNamed;
  text.replace(text.find("tp_config=tp"), 12, "tp_config=part(4)");
  EXPECT_FALSE(parse_olmo_core(text, "x.py"));
  text = kNamed;
  text += "other = TransformerTrainModuleConfig(rank_microbatch_size=4096)\n";
  EXPECT_FALSE(parse_olmo_core(text, "x.py"));
}

TEST(OlmoCore, LeavesModelsOfUnknownSizesOpen) {
  for (const char* model :
       {"llama2_7B(vocab_size=100352)", "llama2_7B(vocab_size=32000, n_layers=3)",
        "olmo9_7B(vocab_size=32000)", "llama2_7B(vocab_size=words())"}) {
    std::string text = kNamed;
    text.replace(text.find("llama2_7B"), 27, model);
    const auto r = parse_olmo_core(text, "x.py");
    ASSERT_TRUE(r) << model << r.error().message;
    EXPECT_TRUE(r->open.contains("model")) << model;
    EXPECT_EQ(said(*r, "model"), "-") << model;
  }
  std::string text;
  text = kCore;
  // 8/3 x 1024 x 1.5 is 4095, of which the next multiple of 256 is 4096.
  text.replace(text.find("olmo2_7B("), 9,
               "llama_like(d_model=1024, n_layers=16, n_heads=8, hidden_size_multiplier=1.5, ");
  const auto r = parse_olmo_core(text, "x.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_NE(said(*r, "model").find("\"intermediate_size\":4096"), std::string::npos)
      << said(*r, "model");
}

TEST(MaxText, ReadsAnExampleForGpus) {
  const auto r = parse_maxtext(
      "base_config: base.yml\nhardware: gpu\nmodel_name: llama2-7b\nremat_policy: minimal_flash\n"
      "per_device_batch_size: 4\nmax_target_length: 4096\nici_fsdp_parallelism: 8\n"
      "dcn_data_parallelism: 2\nattention: cudnn_flash_te\n",
      "llama2_7b.yml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama2-7b");
  EXPECT_EQ(said(*r, "gpus"), "16");
  EXPECT_EQ(said(*r, "micro_batch_size"), "4");
  EXPECT_EQ(said(*r, "seq_length"), "4096");
  EXPECT_EQ(said(*r, "fsdp_shard_size"), "8");
  EXPECT_EQ(said(*r, "attention_backend"), "cudnn");
  EXPECT_EQ(said(*r, "software"), "maxtext");
}

TEST(MaxText, AShareOfABatchIsThatOfEveryDevice) {
  const auto r = parse_maxtext(
      "hardware: gpu\nper_device_batch_size: 0.5\n"
      "max_target_length: 1024\nici_tensor_parallelism: 4\n"
      "gradient_accumulation_steps: 2\ndcn_data_parallelism: 1\n",
      "x.yml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "tensor_model_parallel_size"), "4");
  EXPECT_EQ(said(*r, "micro_batch_size"), "2");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "2");
  EXPECT_EQ(said(*r, "gpus"), "-");
  for (const char* wrong :
       {"hardware: tpu", "per_device_batch_size: 0.3", "ici_expert_parallelism: 4",
        "ici_tensor_sequence_parallelism: 2", "ici_pipeline_parallelism: -1", "attention: cudnn",
        "remat_policy: ful", "base_config: llama2_7b.yml"})
    EXPECT_FALSE(parse_maxtext(std::string("max_target_length: 1024\n") + wrong + "\n", "x.yml"))
        << wrong;
  const auto other = parse_maxtext("model_name: llama9-1b\n", "x.yml");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->open.contains("model"));
}

TEST(MaxText, AFilesSizesGiveWayToAModelsName) {
  constexpr const char* kBoth = "model_name: llama2-7b\nbase_emb_dim: 2048\n";
  const auto r = parse_maxtext(kBoth, "base.yml");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "llama2-7b");
  EXPECT_FALSE(parse_maxtext(kBoth, "base.yml", {{"base_emb_dim", {"4096", -1, "a.sh:1"}}}));
}

constexpr const char* kXtuner = R"(from xtuner.dataset import process_hf_dataset
pretrained_model_name_or_path = 'internlm/internlm2-7b'
max_length = 2048
pack_to_max_length = True
batch_size = 1  # per_device
accumulative_counts = 16
model = dict(
    type=SupervisedFinetune,
    llm=dict(
        type=AutoModelForCausalLM.from_pretrained,
        pretrained_model_name_or_path=pretrained_model_name_or_path,
        torch_dtype=torch.float16,
        quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True,
                                 bnb_4bit_use_double_quant=True)),
    lora=dict(type=LoraConfig, r=64, lora_alpha=16, bias='none', task_type='CAUSAL_LM'))
alpaca = dict(type=process_hf_dataset, max_length=max_length, pack_to_max_length=pack_to_max_length)
train_dataloader = dict(batch_size=batch_size, num_workers=0, dataset=alpaca)
optim_wrapper = dict(
    type=AmpOptimWrapper,
    optimizer=dict(type=AdamW, lr=2e-4),
    accumulative_counts=accumulative_counts, loss_scale='dynamic', dtype='float16')
)";

TEST(Xtuner, FollowsDictionariesByTheirNames) {
  const auto r =
      parse_xtuner(kXtuner, "qlora.py", {{"deepspeed", {"deepspeed_zero2", -1, "a.sh:2"}}});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "model"), "internlm/internlm2-7b");
  EXPECT_EQ(said(*r, "micro_batch_size"), "1");
  EXPECT_EQ(said(*r, "gradient_accumulation_steps"), "16");
  EXPECT_EQ(said(*r, "seq_length"), "2048");
  EXPECT_EQ(said(*r, "lora"), "64");
  EXPECT_EQ(said(*r, "lora_targets"), "qkv,proj,fc1,fc2");
  EXPECT_EQ(said(*r, "quantize"), "nf4-dq");
  EXPECT_EQ(said(*r, "recompute_granularity"), "full");
  EXPECT_EQ(said(*r, "zero"), "2");
  EXPECT_EQ(said(*r, "software"), "deepspeed");
  EXPECT_FALSE(
      left(*r, Leftover::Kind::kNotModelled, "train_dataloader.dataset.pack_to_max_length"));
}

TEST(Xtuner, TheLastAssignmentCounts) {
  std::string text = kXtuner;
  text.insert(text.find("train_dataloader"),
              "longer = dict(max_length=4096)\nused = alpaca\nused = longer\n");
  text.replace(text.find("dataset=alpaca"), 14, "dataset=used");
  text += "train_dataloader['batch_size'] = 4\nmodel['lora'] = None\n";
  const auto r = parse_xtuner(text, "x.py");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(said(*r, "seq_length"), "4096");
  EXPECT_EQ(said(*r, "micro_batch_size"), "4");
  EXPECT_EQ(said(*r, "lora"), "-");
  for (const char* change :
       {"optim_wrapper.update(accumulative_counts=2)\n", "model['llm'].pop('torch_dtype')\n",
        "model[KEY] = 4\n", "model |= dict(a=1)\n", "del model['lora']\n"})
    EXPECT_FALSE(parse_xtuner(kXtuner + std::string(change), "x.py")) << change;
}

TEST(Xtuner, RefusesWhatAnotherFileSays) {
  EXPECT_FALSE(parse_xtuner(std::string("_base_ = './x.py'\n") + kXtuner, "x.py"));
  EXPECT_FALSE(parse_xtuner(kXtuner, "x.py", {{"deepspeed", {"zero7.json", -1, "a.sh:2"}}}));
}

}  // namespace
}  // namespace ergometer::intake
