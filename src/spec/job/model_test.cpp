#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

Model model_of(std::string_view json) { return base::value_of(parse_model(json, "config.json")); }

std::string model_error(std::string_view json) {
  return base::error_of(parse_model(json, "config.json"));
}

TEST(ReadModel, EveryCatalogModelReadsWithoutUnknownKeys) {
  int models = 0;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kModel) continue;
    const auto model = read_model(entry.name);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_TRUE(model->unknown_keys.empty()) << entry.name << ": " << model->unknown_keys.front();
    EXPECT_FALSE(model->source.empty()) << entry.name;
    ++models;
  }
  EXPECT_GT(models, 60);
}

TEST(ReadModel, DefaultsAreThoseOfTheConfigurationClass) {
  const Model model =
      model_of(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32})");
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.ffn, 11008);
  EXPECT_EQ(model.layer_count(), 32);
  EXPECT_EQ(model.kv_heads, 32);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_FALSE(model.tied_embeddings);
}

// Chunks of 8192 in a sequence of 16384 are two triangles: w^2 - 2 * 16384 w + 2 * 8192^2 = 0, so
// that w = 16384 - 8192 sqrt(2) = 4798.8. One token more than a chunk holds: 8193 - sqrt(8193^2 -
// 8192^2 - 1) = 8193 - 128. In a long sequence, half a chunk.
TEST(Model, AWindowMeetsAsManyKeysAsTheChunksOfASequence) {
  const Layer chunks{.chunk = 8192};
  EXPECT_EQ(Model::window(chunks, 8192, true), 0);
  EXPECT_EQ(Model::window(chunks, 8193, true), 8065);
  EXPECT_EQ(Model::window(chunks, 16384, true), 4799);
  EXPECT_EQ(Model::window(chunks, 1048576, true), 4104);
  EXPECT_EQ(Model::window(chunks, 16384, false), 8192);
  EXPECT_EQ(Model::window({.window = 512}, 16384, true), 512);
}

TEST(ReadModel, LlamaWithEverythingOptional) {
  const Model model = model_of(
      R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 2048, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 80, "attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true})");
  EXPECT_EQ(model.head_dim, 80);
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_TRUE(model.qkv_bias && model.out_bias && model.mlp_bias && model.tied_embeddings);
}

TEST(ReadModel, Gpt2SpellsItsKeysDifferently) {
  const Model model = model_of(
      R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_inner": null})");
  EXPECT_EQ(model.hidden, 1600);
  EXPECT_EQ(model.ffn, 6400);
  EXPECT_EQ(model.layer_count(), 48);
  EXPECT_EQ(model.position_rows, 1024);
  EXPECT_TRUE(model.tied_embeddings && model.qkv_bias && model.norm_bias);
  EXPECT_FALSE(model.gated);
}

TEST(ReadModel, OptCarriesItsTwoSpareRowsAndItsProjection) {
  const Model model =
      model_of(R"({"model_type": "opt", "hidden_size": 1024, "word_embed_proj_dim": 512,
    "num_attention_heads": 16, "ffn_dim": 4096, "num_hidden_layers": 24, "do_layer_norm_before": false})");
  EXPECT_EQ(model.position_rows, 2050);
  EXPECT_EQ(model.embedding_dim, 512);
  EXPECT_FALSE(model.final_norm);
  EXPECT_EQ(model.activation, Activation::kRelu);
}

TEST(ReadModel, BloomNeoxPhiAndFalconLayouts) {
  const Model bloom =
      model_of(R"({"model_type": "bloom", "hidden_size": 1024, "n_head": 16, "n_layer": 24})");
  EXPECT_TRUE(bloom.embedding_norm);
  EXPECT_EQ(bloom.positions, PositionKind::kAlibi);
  EXPECT_TRUE(
      model_of(R"({"model_type": "gpt_neox", "hidden_size": 6144, "num_hidden_layers": 44})")
          .parallel_branches);
  const Model phi =
      model_of(R"({"model_type": "phi", "hidden_size": 2048, "num_hidden_layers": 24})");
  EXPECT_EQ(phi.norms_per_layer, 1);
  EXPECT_TRUE(phi.head_bias);
  const Model falcon =
      model_of(R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32})");
  EXPECT_EQ(falcon.kv_heads, 1);
  EXPECT_EQ(falcon.norms_per_layer, 1);
  const Model falcon2 = model_of(
      R"({"model_type": "falcon", "num_hidden_layers": 32, "new_decoder_architecture": true, "hidden_size": 8192,
    "num_attention_heads": 128, "num_kv_heads": 8})");
  EXPECT_EQ(falcon2.kv_heads, 8);
  EXPECT_EQ(falcon2.norms_per_layer, 2);
}

TEST(ReadModel, WindowsAlternateInGemmaAndGptOss) {
  const Model gemma2 = model_of(
      R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 4, "sliding_window": 4096})");
  EXPECT_EQ(gemma2.layers[0].window, 4096);
  EXPECT_EQ(gemma2.layers[1].window, 0);
  EXPECT_TRUE(gemma2.capped_scores && gemma2.capped_logits);
  const Model uncapped = model_of(
      R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 4, "attn_logit_softcapping": null})");
  EXPECT_TRUE(!uncapped.capped_scores && uncapped.capped_logits);
  const Model gemma3 = model_of(
      R"({"model_type": "gemma3", "text_config": {"hidden_size": 2304, "num_hidden_layers": 12, "sliding_window": 512}})");
  EXPECT_EQ(gemma3.layer_count(), 12);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(gemma3.layers[i].window, i == 5 || i == 11 ? 0 : 512) << i;
  EXPECT_TRUE(gemma3.qk_norm);
  EXPECT_EQ(gemma3.norms_per_layer, 4);
  const Model oss =
      model_of(R"({"model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 36})");
  EXPECT_EQ(oss.layers[0].window, 128);
  EXPECT_EQ(oss.layers[1].window, 0);
  EXPECT_TRUE(oss.attention_sinks && oss.experts.expert_bias && oss.experts.router_bias &&
              oss.out_bias);
}

TEST(ReadModel, DeepSeekHasLatentAttentionAndDenseFirstLayers) {
  const Model v3 = model_of(
      R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_nextn_predict_layers": 1})");
  EXPECT_EQ(v3.attention, AttentionKind::kLatent);
  EXPECT_EQ(v3.latent.q_rank, 1536);
  EXPECT_EQ(v3.head_dim, 192);  // 128 + 64
  EXPECT_FALSE(v3.layers[2].moe);
  EXPECT_TRUE(v3.layers[3].moe);
  EXPECT_EQ(v3.experts.shared_ffn, 2048);
  EXPECT_EQ(v3.mtp_layers, 1);
  const Model lite = model_of(
      R"({"model_type": "deepseek_v2", "hidden_size": 4096, "num_hidden_layers": 32, "q_lora_rank": null, "n_shared_experts": 2,
    "moe_intermediate_size": 1408, "first_k_dense_replace": 1})");
  EXPECT_EQ(lite.latent.q_rank, 0);
  EXPECT_EQ(lite.experts.shared_ffn, 2816);
  EXPECT_FALSE(lite.experts.router_bias);
}

TEST(ReadModel, QwenMixesDenseAndExpertLayers) {
  const Model model = model_of(
      R"({"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 6, "decoder_sparse_step": 2,
    "mlp_only_layers": [3]})");
  const std::vector<bool> expected = {false, true, false, false, false, true};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(model.layers[i].moe, expected[i]) << i;
  EXPECT_TRUE(model_of(R"({"model_type": "qwen2", "hidden_size": 4096, "num_hidden_layers": 32})")
                  .qkv_bias);
  EXPECT_TRUE(
      model_of(R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24})")
          .experts.shared_gate);
}

TEST(ReadModel, OlmoeAndSeedOssAreTypesOfTheirOwn) {
  const Model olmoe =
      model_of(R"({"model_type": "olmoe", "hidden_size": 2048, "num_hidden_layers": 16,
    "intermediate_size": 1024, "norm_topk_prob": false, "clip_qkv": null})");
  EXPECT_TRUE(olmoe.qk_norm && olmoe.wide_qk_norm && olmoe.layers[0].moe && !olmoe.qkv_bias);
  EXPECT_EQ(olmoe.experts.count, 64);
  EXPECT_EQ(olmoe.experts.top_k, 8);
  EXPECT_EQ(olmoe.experts.ffn, 1024);
  EXPECT_EQ(olmoe.experts.shared_ffn, 0);
  EXPECT_TRUE(olmoe.unknown_keys.empty());
  const Model seed =
      model_of(R"({"model_type": "seed_oss", "hidden_size": 5120, "num_hidden_layers": 64,
    "attention_out_bias": false, "residual_dropout": 0.1})");
  EXPECT_TRUE(seed.qkv_bias && !seed.out_bias && !seed.mlp_bias && !seed.qk_norm);
  EXPECT_EQ(seed.head_dim, 128);
  EXPECT_DOUBLE_EQ(seed.dropout, 0.1);
  EXPECT_TRUE(seed.unknown_keys.empty());
}

TEST(ReadModel, MinimaxNormsAllHeadsAtOnce) {
  const Model model = *read_model("minimax-m2");
  EXPECT_TRUE(model.qk_norm && model.wide_qk_norm && model.experts.router_bias);
  EXPECT_TRUE(model.layers[0].moe);
  EXPECT_EQ(model.experts.ffn, 1536);
  EXPECT_TRUE(model.unknown_keys.empty());
}

TEST(ReadModel, MegatronArgumentsAsAModel) {
  const Model model = model_of(R"j({"model_type": "megatron", "num_layers": 4, "hidden_size": 1024,
    "num_attention_heads": 16, "vocab_size": 32000, "swiglu": true, "normalization": "RMSNorm",
    "add_bias_linear": false, "position_embedding_type": "rope", "group_query_attention": true, "num_query_groups": 4,
    "num_experts": 8, "moe_layer_freq": "([0]*1+[1]*3)", "moe_ffn_hidden_size": 512})j");
  EXPECT_EQ(model.ffn, 2688);  // 1024 * 8 / 3 = 2730, in whole 64s
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_FALSE(model.layers[0].moe);
  EXPECT_TRUE(model.layers[1].moe);
  EXPECT_EQ(model.experts.top_k, 2);
  EXPECT_EQ(model.experts.ffn, 512);
  EXPECT_TRUE(model.tied_embeddings);
}

TEST(ReadModel, MegatronsWindowsMaySkipLayers) {
  const auto windows = [](const std::string& skips) {
    std::vector<int64_t> all;
    for (const Layer& layer :
         model_of(R"({"model_type": "megatron", "num_layers": 4, "hidden_size": 64,
    "num_attention_heads": 2, "vocab_size": 512, "window_size": 129)" +
                  skips + "}")
             .layers)
      all.push_back(layer.window);
    return all;
  };
  using Windows = std::vector<int64_t>;
  EXPECT_EQ(windows(""), Windows({129, 129, 129, 129}));
  EXPECT_EQ(windows(R"(, "window_attn_skip_freq": 2)"), Windows({129, 0, 129, 0}));
  EXPECT_EQ(windows(R"(, "window_attn_skip_freq": "[0,1]*2")"), Windows({0, 129, 0, 129}));
  const std::string wrong = model_error(R"({"model_type": "megatron", "num_layers": 4,
    "hidden_size": 64, "num_attention_heads": 2, "vocab_size": 512, "window_size": 129,
    "window_attn_skip_freq": "[0,1]"})");
  EXPECT_NE(wrong.find("a list of 4 entries such as [1,0]*2"), std::string::npos) << wrong;
}

TEST(ReadModel, MegatronsSoftmaxMayHaveASink) {
  const auto with = [](const std::string& kind) {
    return R"({"model_type": "megatron", "num_layers": 2, "hidden_size": 64, "num_attention_heads": 2,
    "vocab_size": 512, "softmax_type": ")" +
           kind + "\"}";
  };
  EXPECT_FALSE(model_of(with("vanilla")).attention_sinks);
  const Model learnt = model_of(with("learnable")), zero = model_of(with("off-by-one"));
  EXPECT_TRUE(learnt.attention_sinks && zero.attention_sinks);
  // A weight for each of the two heads, or a zero that is none.
  EXPECT_EQ(learnt.sink_parameters(learnt.heads), 2);
  EXPECT_EQ(zero.sink_parameters(zero.heads), 0);
  EXPECT_NE(model_error(with("hard")).find("allowed: vanilla, off-by-one, learnable"),
            std::string::npos);
}

TEST(ReadModel, UnknownKeysAreListedHarmlessOnesAreNot) {
  const Model model = model_of(
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "bos_token_id": 1, "torch_dtype": "bfloat16",
    "rope_theta": 1e6, "warp_factor": 9})");
  EXPECT_EQ(model.unknown_keys, std::vector<std::string>{"warp_factor"});
}

TEST(ReadModel, MessagesNameLineKeyFoundAndAllowed) {
  EXPECT_EQ(
      model_error("{\"model_type\": \"llama\",\n\"hidden_size\": \"big\"}"),
      "config.json:2: hidden_size: found \"big\"; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(
      model_error(
          "{\"model_type\": \"llama\",\n\"hidden_size\": 4096,\n\"num_hidden_layers\": -3}"),
      "config.json:3: num_hidden_layers: found -3; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(
      model_error(R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 1e30})"),
      "config.json:1: hidden_size: found 1e+30; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(
      model_error(R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096.0})"),
      "config.json:1: hidden_size: found 4096.0; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "gpt2", "num_hidden_layers": 12, "n_embd": 99999999999999999999})"),
      "config.json:1: n_embd: found 1e+20; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "attention_bias": 1})"),
      "config.json:1: attention_bias: found 1; allowed: true or false");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 33})"),
      "config.json:1: num_attention_heads: found 33; allowed: a divisor of hidden_size = "
      "4096, unless head_dim is given");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_key_value_heads": 5})"),
      "config.json:1: num_key_value_heads: found 5; allowed: a divisor of the 32 attention heads");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_experts_per_tok": 9})"),
      "config.json:1: num_experts_per_tok: found 9; allowed: 1 to the 8 experts");
  EXPECT_EQ(
      model_error(
          R"({"model_type": "gpt2", "num_hidden_layers": 12, "n_embd": 768, "hidden_size": 1024})"),
      "config.json:1: n_embd: found 768, but hidden_size is 1024; they mean the same and "
      "must agree");
  EXPECT_EQ(model_error("{\"model_type\": \"gemma3\",\n\"text_config\": {\"hidden_size\": 2304, "
                        "\"num_hidden_layers\": 26,\n\"head_dim\": []}}"),
            "config.json:3: text_config.head_dim: found a list; allowed: a whole number from 1 to "
            "1000000000");
}

TEST(ReadModel, WidthAndDepthHaveNoDefault) {
  EXPECT_EQ(model_error(R"({"model_type": "llama", "num_hidden_layers": 32})"),
            "config.json:1: hidden_size: is missing (also known as n_embd, n_embed, d_model, "
            "emb_size, dim)");
  EXPECT_EQ(
      model_error(R"({"model_type": "llama", "hidden_size": 4096})"),
      "config.json:1: num_hidden_layers: is missing (also known as n_layer, n_layers, num_layers)");
}

TEST(ReadModel, AKeyStandsOnce) {
  EXPECT_EQ(
      model_error("{\"model_type\": \"llama\",\n\"hidden_size\": 4096,\n\"hidden_size\": 8192}"),
      "config.json:3:1: hidden_size: stands twice in one object");
  // The same key in two objects is no repetition.
  EXPECT_TRUE(parse_model(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
      "hidden_size": 2304, "num_hidden_layers": 26}})",
                          "config.json"));
}

TEST(ReadModel, BrokenJsonGetsLineAndColumn) {
  EXPECT_EQ(model_error("{\"model_type\": \"llama\",\n  \"hidden_size\": 40"),
            "config.json:2:20: not valid JSON: unexpected end of input; expected '}'");
  EXPECT_TRUE(
      model_error("").starts_with("config.json:1:1: not valid JSON: unexpected end of input"));
  EXPECT_EQ(model_error("[1]"),
            "config.json:1: found a list; expected the object of a config.json");
  EXPECT_TRUE(model_error(R"({"model_type": "llama", "hidden_size": NaN})")
                  .starts_with("config.json:1:40: not valid JSON"));
}

TEST(ReadModel, UnknownArchitectureNamesTheNearest) {
  EXPECT_NE(model_error(R"({"model_type": "llamma", "hidden_size": 1, "num_hidden_layers": 1})")
                .find("the nearest is \"llama\""),
            std::string::npos);
  EXPECT_NE(
      model_error(
          R"({"model_type": "jamba", "hidden_size": 1, "num_hidden_layers": 1, "num_experts": 16})")
          .find("the nearest is \"mixtral\""),
      std::string::npos);
  EXPECT_NE(
      model_error(R"({"hidden_size": 4})").find("model_type: is missing; allowed: baichuan, "),
      std::string::npos);
}

TEST(ReadModel, SizesThatWouldOverflowAreRefused) {
  EXPECT_NE(
      model_error(
          R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 1000000000, "num_attention_heads": 1000000000,
    "intermediate_size": 1000000000})")
          .find("these sizes make about"),
      std::string::npos);
}

TEST(ReadModel, DeepNestingIsOnlyAWrongValue) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(
      model_error("{\"model_type\": \"gpt2\", \"n_embd\": " + deep + ", \"hidden_size\": " + deep +
                  "}"),
      "config.json:1: hidden_size: found a list; allowed: a whole number from 1 to 1000000000");
}

TEST(ReadModel, NamesThatAreNothing) {
  const auto model = read_model("llama3-70bb");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message,
            "llama3-70bb: neither a model of the catalog nor a file; did you mean llama3-70b? "
            "(`ergometer catalog list` shows all)");
  EXPECT_EQ(read_model("/").error().message, "/: the folder holds no config.json");
}

TEST(Model, AnInlineOneIsCalledWhatItCallsItself) {
  const auto name = [](const std::string& said) {
    const auto model = read_model(
        R"({"model_type": "gpt2", )" + said +
        R"("n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 128, "n_positions": 32})");
    return model ? model->name : model.error().message;
  };
  EXPECT_EQ(name(R"("_name_or_path": "openai-community/gpt2-small", )"), "gpt2-small");
  EXPECT_EQ(name(R"("_name_or_path": "", )"), "model");
  EXPECT_EQ(name(R"("_name_or_path": 3, )"), "model");
  EXPECT_EQ(name(""), "model");
}

TEST(ReadModel, GptJReadsAttentionAndMlpFromOneNorm) {
  const Model model = model_of(R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28,
    "n_head": 16, "rotary_dim": 64, "vocab_size": 50400})");
  EXPECT_TRUE(model.parallel_branches && model.mlp_bias && model.head_bias);
  EXPECT_FALSE(model.qkv_bias || model.out_bias || model.gated || model.tied_embeddings);
  EXPECT_EQ(model.norms_per_layer, 1);
  EXPECT_DOUBLE_EQ(model.rotary_share, 0.25);  // 64 of 4096 / 16
}

TEST(ReadModel, BaichuanHasAlibiWhereItsFileCountsNoPositions) {
  const std::string sizes =
      R"({"model_type": "baichuan", "hidden_size": 5120, "num_hidden_layers": 40,
    "num_attention_heads": 40, "intermediate_size": 13696, "model_max_length": 4096)";
  EXPECT_EQ(model_of(sizes + "}").positions, PositionKind::kAlibi);
  EXPECT_EQ(model_of(sizes + "}").max_positions, 4096);
  EXPECT_EQ(model_of(sizes + R"(, "max_position_embeddings": 4096})").positions,
            PositionKind::kRotary);
}

TEST(ReadModel, CohereSlidesThreeLayersOfFour) {
  const Model model = model_of(R"({"model_type": "cohere2", "hidden_size": 4096,
    "num_hidden_layers": 8, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "sliding_window": 4096, "sliding_window_pattern": 4})");
  EXPECT_TRUE(model.parallel_branches && model.tied_embeddings && model.gated);
  EXPECT_EQ(model.norm, NormKind::kLayerNorm);
  EXPECT_FALSE(model.norm_bias);
  EXPECT_EQ(model.layers[2].window, 4096);
  EXPECT_EQ(model.layers[3].window, 0);
}

}  // namespace
}  // namespace ergometer::spec
