#include "intake/research/olmo.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"

namespace ergometer::intake {
namespace {

constexpr int64_t kLargestSize = 100'000'000;

/// allenai/OLMo: olmo/config.py has the defaults.
class OlmoReader {
 public:
  OlmoReader(const spec::FlatYaml& values, const std::string& file) : read_(values, file, "olmo") {}

  Result<Reading> read() {
    read_model();
    read_sharding();
    read_batch();
    read_number_format();
    read_recomputation();
    read_.set_framework("pytorch-fsdp");
    return read_.finish("a configuration of OLMo");
  }

 private:
  int64_t size(const char* key, int64_t fallback) {
    const int64_t number = read_.integer(key, 1).value_or(fallback);
    if (number > kLargestSize) read_.refuse(key, "a whole number");
    return std::min(number, kLargestSize);
  }

  void read_model() {
    const int64_t hidden = size("model.d_model", 768), heads = size("model.n_heads", 12);
    layers_ = size("model.n_layers", 12);
    int64_t groups = size("model.n_kv_heads", heads);
    if (read_.flag("model.multi_query_attention", false)) groups = 1;
    const std::string activation = base::lower(read_.text("model.activation_type", "swiglu"));
    if (activation != "swiglu") return read_.refuse("model.activation_type", "swiglu");
    if (!read_.flag("model.rope", false)) return read_.refuse("model.rope", "true");
    if (read_.flag("model.alibi", false)) return read_.refuse("model.alibi", "false");
    const std::string block = read_.text("model.block_type", "sequential");
    if (block == "moe") return read_.refuse("model.block_type", "sequential, llama");
    // Half of it is the gate.
    const int64_t wide = size("model.mlp_hidden_size", size("model.mlp_ratio", 4) * hidden);
    const int64_t words = size("model.vocab_size", 50257);
    const bool bias = read_.flag("model.include_bias", true);
    const bool normed = read_.flag("model.attention_layer_norm", false);
    for (const char* idle : {"model.layer_norm_type", "model.norm_after", "model.rope_theta",
                             "model.bias_for_layer_norm", "model.layer_norm_with_affine"})
      read_.find(idle);
    read_.set("model",
              nlohmann::json{{"model_type", normed ? "qwen3" : "llama"},
                             {"hidden_size", hidden},
                             {"num_hidden_layers", layers_},
                             {"num_attention_heads", heads},
                             {"num_key_value_heads", groups},
                             {"head_dim", std::max<int64_t>(1, hidden / heads)},
                             {"intermediate_size", wide / 2},
                             {"vocab_size", size("model.embedding_size", words)},
                             {"max_position_embeddings", size("model.max_sequence_length", 1024)},
                             {"attention_bias", bias},
                             {"mlp_bias", bias && !normed},
                             {"tie_word_embeddings", read_.flag("model.weight_tying", true)}}
                  .dump(),
              "model.d_model");
    read_.set("dropout", read_.text("model.residual_dropout", "0.1"), "model.residual_dropout");
    const bool flash = read_.flag("model.flash_attention", false);
    read_.set("attention_backend", flash ? "fa2" : "fused", "model.flash_attention");
  }

  void read_sharding() {
    constexpr const char *kWay = "distributed_strategy", *kShards = "fsdp.sharding_strategy";
    const std::string way = base::lower(read_.text(kWay, "fsdp"));
    if (way == "ddp" || way == "single") {
      set_replicated(read_, kWay);
      return;
    }
    if (way != "fsdp") return read_.refuse(kWay, "fsdp, ddp");
    if (!read_sharding_strategy(read_, read_.text(kShards, "FULL_SHARD"), kShards))
      return read_.refuse(kShards, kShardingStrategies);
    // Of a hybrid strategy alone, in place of a copy a node.
    constexpr const char* kCopies = "fsdp.hybrid_sharding_num_model_replicas";
    const auto copies = read_.integer(kCopies, 1);
    if (copies && read_.said().find("fsdp_shard_size") != nullptr)
      read_.set("fsdp_shard_size", fmt::format("1/{}", *copies), kCopies);
    const std::string precision = base::lower(read_.text("fsdp.precision", "pure"));
    // "pure" reduces in the format of its products.
    const bool narrow =
        precision == "pure" && base::lower(read_.text("precision", "fp32")) != "fp32";
    read_.set_flag("grad_reduce_in_bf16", narrow, "fsdp.precision");
    read_.find("fsdp.wrapping_strategy");
  }

  void read_batch() {
    read_.set_count("global_batch_size", size("global_train_batch_size", 512),
                    "global_train_batch_size");
    read_.set_count("micro_batch_size", size("device_train_microbatch_size", 16),
                    "device_train_microbatch_size");
    read_.set_count("seq_length", size("model.max_sequence_length", 1024),
                    "model.max_sequence_length");
  }

  void read_number_format() {
    const std::string word = base::lower(read_.text("precision", "fp32"));
    const std::string_view format = word == "amp_bf16"   ? "bf16"
                                    : word == "amp_fp16" ? "fp16"
                                    : word == "fp32"     ? "fp32"
                                                         : "";
    if (format.empty()) return read_.refuse("precision", "amp_bf16, amp_fp16, fp32");
    read_.set("precision", std::string(format), "precision");
    const std::string optimizer = base::lower(read_.text("optimizer.name", "lionw"));
    if (optimizer != "adamw") read_.not_modelled("optimizer.name", kOtherOptimizer);
  }

  void read_recomputation() {
    constexpr const char* kWord = "activation_checkpointing";
    struct Share {
      std::string_view word;
      int64_t layers, of;
    };
    constexpr std::array kShares = std::to_array<Share>({{"whole_layer", 1, 1},
                                                         {"one_in_two", 1, 2},
                                                         {"one_in_three", 1, 3},
                                                         {"one_in_four", 1, 4},
                                                         {"one_in_eight", 1, 8},
                                                         {"two_in_three", 2, 3},
                                                         {"three_in_four", 3, 4}});
    const std::string word = base::lower(read_.text(kWord));
    if (word.empty() || word == "null" || word == "none" || word == "fine_grained")
      read_.set("recompute_granularity", "none", kWord);
    if (word == "fine_grained")
      read_.not_modelled(kWord,
                         "memory and time: norms and activation functions are computed again; "
                         "predicted as kept");
    if (word.empty() || word == "null" || word == "none" || word == "fine_grained") return;
    const auto share = std::ranges::find(kShares, word, &Share::word);
    if (share == kShares.end())
      return read_.refuse(kWord,
                          "whole_layer, one_in_two, one_in_three, one_in_four, one_in_eight, "
                          "two_in_three, three_in_four, fine_grained, null");
    // Every N-th layer from the first on, or all others.
    const int64_t each = (layers_ + share->of - 1) / share->of,
                  again = share->layers == 1 ? each : layers_ - each;
    set_recomputation(read_, again > 0, kWord);
    if (share->of == 1 || again == 0) return;
    read_.set("recompute_method", "block", kWord);
    read_.set_count("recompute_num_layers", again, kWord);
  }

  FlatReader read_;
  int64_t layers_ = 1;
};

}  // namespace

Result<Reading> parse_olmo(const std::string& text, const std::string& file,
                           const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  return OlmoReader(values, file).read();
}

}  // namespace ergometer::intake
