#include "intake/config/neox.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/model/tokenizers.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

class NeoxReader {
 public:
  NeoxReader(const spec::FlatYaml& values, const std::string& file, bool flash)
      : read_(values, file, "gpt-neox"), flash_(flash) {}

  Result<Reading> read() {
    read_model();
    read_layout();
    read_batch();
    read_precision();
    read_.set_framework("megatron-deepspeed");
    return read_.finish("a GPT-NeoX configuration");
  }

 private:
  int64_t needed(const char* key) {
    const auto number = read_.integer(key, 1);
    if (!number) read_.refuse(key, "a whole number: it has no default");
    return number.value_or(1);
  }

  /// What the file's tokenizer makes; one that only says where it lies is asked for.
  int64_t vocabulary() {
    if (const auto said = read_.integer("padded_vocab_size", 1)) return *said;
    if (const auto said = read_.integer("vocab_size", 1)) return *said;
    const std::string type = read_.text("tokenizer_type", "GPT2BPETokenizer");
    const std::string file = read_.text("vocab_file"), path = base::lower(file);
    if (type == "GPT2BPETokenizer") return 50257;
    if (type == "CharLevelTokenizer") return 512;
    if (base::contains(path, "20b_tokenizer") || base::contains(path, "neox")) return 50277;
    if (const int64_t named = spec::tokenizer_vocabulary(file); named > 0) return named;
    for (const auto& [word, words] : {std::pair("llama3", 128256), std::pair("llama-3", 128256),
                                      std::pair("llama2", 32000), std::pair("llama-2", 32000)})
      if (base::contains(path, word)) {
        read_.note("the vocabulary of {} is taken to be that of {}: {}", file, word, words);
        return words;
      }
    read_.refuse("tokenizer_type",
                 "GPT2BPETokenizer, or a vocab_file that names a tokenizer known here; of others "
                 "write padded_vocab_size");
    return 1;
  }

  /// By default four times the hidden width; of a gated layer two thirds of that, rounded up to a
  /// multiple of 256.
  int64_t inner_width(int64_t hidden, bool gated, const std::string& mlp) {
    int64_t inner = 4 * hidden;
    if (gated) inner = (inner * 2 / 3 + 255) / 256 * 256;
    if (const auto said = read_.integer("intermediate_size", 1)) {
      // It counts both parts of a gated layer and two thirds of it are taken, but of mlp_type
      // llama.
      const bool thirds = gated && mlp != "llama";
      inner = thirds ? std::max<int64_t>(1, *said / 3) : *said;
      if (thirds)
        read_.note("of intermediate_size {} GPT-NeoX makes gated layers {} wide", *said, inner);
    } else if (gated)
      read_.not_modelled("hidden_size",
                         fmt::format("time: the inner width of a gated layer, which the file does "
                                     "not say, is taken as {} (intermediate_size says it)",
                                     inner));
    return inner;
  }

  void read_model() {
    const int64_t layers = needed("num_layers"), hidden = needed("hidden_size"),
                  heads = needed("num_attention_heads");
    const int64_t positions = read_.integer("max_position_embeddings", 1)
                                  .value_or(read_.integer("seq_length", 1).value_or(2048));
    const double rotary = base::parse_number(read_.text("rotary_pct", "1.0")).value_or(1.0);
    const bool parallel = read_.flag("gpt_j_residual", false);
    const std::string mlp = read_.text("mlp_type", "regular");
    const std::string norm = base::lower(read_.text("norm", "layernorm"));
    const std::string position = base::lower(read_.text("pos_emb", "learned"));
    const std::string activation = base::lower(read_.text("activation", "gelu"));
    const bool gated = activation == "swiglu" || activation == "geglu" || mlp == "llama";
    const bool untied = read_.flag("no_weight_tying", false);
    const int64_t groups = read_.integer("num_kv_heads", 1).value_or(heads);
    for (const char* experts : {"moe_num_experts", "num_experts"})
      if (read_.integer(experts, 1).value_or(1) > 1)
        return read_.refuse(experts, "1: GPT-NeoX's experts are not read");
    const int64_t inner = inner_width(hidden, gated, mlp);
    nlohmann::json model = {{"hidden_size", hidden},         {"num_hidden_layers", layers},
                            {"num_attention_heads", heads},  {"intermediate_size", inner},
                            {"vocab_size", vocabulary()},    {"max_position_embeddings", positions},
                            {"tie_word_embeddings", !untied}};
    if (gated || groups != heads || norm == "rmsnorm") {
      if (!gated || position != "rotary")
        return read_.refuse("norm", "layernorm, unless positions are rotary and the MLP is gated");
      model["model_type"] = "llama";
      model["num_key_value_heads"] = groups;
      // So many tokens before each besides itself, in the layers of FlashAttention.
      constexpr const char* kWindow = "sliding_window_width";
      if (const auto before = read_.integer(kWindow, 1); before && flash_) {
        model["model_type"] = "mistral";
        model["sliding_window"] = *before + 1;
      }
    } else if (position == "rotary") {
      model["model_type"] = "gpt_neox";
      model["rotary_pct"] = rotary;
      model["use_parallel_residual"] = parallel;
      model["hidden_act"] = "gelu";
    } else if (position == "learned") {
      model = {{"model_type", "gpt2"},     {"n_embd", hidden},
               {"n_layer", layers},        {"n_head", heads},
               {"n_inner", inner},         {"vocab_size", model["vocab_size"]},
               {"n_positions", positions}, {"tie_word_embeddings", !untied}};
    } else {
      return read_.refuse("pos_emb", "rotary, learned");
    }
    read_.set("model", model.dump(), "num_layers");
    const int64_t multiple = read_.integer("make_vocab_size_divisible_by", 1).value_or(128);
    read_.set_count("make_vocab_size_divisible_by", read_.has("padded_vocab_size") ? 1 : multiple,
                    "make_vocab_size_divisible_by");
    for (const char* key : {"hidden_dropout", "attention_dropout", "attention_config"})
      read_.find(key);
    read_.set("dropout", read_.text("hidden_dropout", "0"), "hidden_dropout");
    read_.set("attention_backend", flash_ ? "fa2" : "unfused", "attention_config");
  }

  void read_layout() {
    const int64_t tp = std::max<int64_t>(1, read_.integer("model_parallel_size", 0).value_or(1));
    const int64_t pp = std::max<int64_t>(1, read_.integer("pipe_parallel_size", 0).value_or(1));
    read_.set_count("tensor_model_parallel_size", tp, "model_parallel_size");
    read_.set_count("pipeline_model_parallel_size", pp, "pipe_parallel_size");
    if (read_.integer("context_parallel_size", 1).value_or(1) > 1)
      read_.copy_count("context_parallel_size", "context_parallel_size");
    if (tp > 1)
      read_.set_flag("sequence_parallel", read_.flag("sequence_parallel", false),
                     "sequence_parallel");
    const auto stage = read_.integer("zero_optimization.stage", 0);
    if (stage && *stage > 3) read_.refuse("zero_optimization.stage", "0 to 3");
    read_.set_count("zero", stage.value_or(0), "zero_optimization.stage");
    if (stage.value_or(0) > 0) note_whole_gradients(read_);
    for (const char* key :
         {"zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload"})
      if (const std::string word = read_.text(key); !is_off(word))
        read_.set("optimizer_cpu_offload", "true", key);
    constexpr const char* kParameters = "zero_optimization.offload_param.device";
    if (!is_off(read_.text(kParameters))) read_.not_modelled(kParameters, kParametersOnHost);
    const bool again = read_.flag("checkpoint_activations", false);
    set_recomputation(read_, again, "checkpoint_activations");
    const int64_t each = read_.integer("checkpoint_num_layers", 1).value_or(1);
    if (again) {
      read_.set("recompute_method", "uniform", "checkpoint_num_layers");
      read_.set_count("recompute_num_layers", each, "checkpoint_num_layers");
    }
    constexpr const char* kParts = "partition_activations";
    if (read_.flag(kParts, false) && again)
      read_.not_modelled(kParts, "memory: checkpoints are divided over tensor parallelism");
  }

  void read_batch() {
    read_.copy_count("seq_length", "seq_length");
    const bool micro = read_.copy_count("train_micro_batch_size_per_gpu", "micro_batch_size");
    const bool whole = read_.copy_count("train_batch_size", "global_batch_size");
    const bool rounds =
        read_.copy_count("gradient_accumulation_steps", "gradient_accumulation_steps");
    if (!micro && !whole)
      read_.refuse("train_micro_batch_size_per_gpu", "a whole number, or train_batch_size");
    // Alone, the batch is one micro batch of every rank.
    if (!rounds && whole != micro)
      read_.set("gradient_accumulation_steps", "1", "gradient_accumulation_steps");
    const auto nodes = read_.count_for("gpus", "num_nodes", -1),
               each = read_.count_for("gpus", "num_gpus", 1);
    if (!each || read_.is_open("gpus")) return;
    // On all hosts of a hostfile, which is not read, or on this one.
    const bool says = nodes && *nodes > 0;
    read_.set_count("gpus", *each * (says ? std::min(*nodes, spec::kMostRanks) : 1), "num_gpus");
    read_.set_node_gpus(*each, says ? *nodes : 1, "num_gpus");
    if (!says)
      read_.note("num_gpus without num_nodes is taken to be of one node; --gpus says more");
  }

  void read_precision() {
    const std::string word = base::lower(read_.text("precision"));
    const bool bf16 = read_.flag("bf16.enabled", false) || word == "bfloat16" || word == "bf16";
    const bool fp16 = read_.flag("fp16.enabled", false) || word == "fp16";
    const std::string type = base::lower(read_.text("fp16.type"));
    if (read_.flag("fp32_allreduce", false))
      read_.set("grad_reduce_in_bf16", "false", "fp32_allreduce");
    read_.set("precision",
              bf16 || type == "bfloat16" ? "bf16"
              : fp16                     ? "fp16"
                                         : "fp32",
              bf16 ? "bf16.enabled" : "fp16.enabled");
    if (const std::string name = base::lower(read_.text("optimizer.type", "Adam"));
        name != "adam" && name != "adamw" && name != "onebitadam")
      read_.not_modelled("optimizer.type", kOtherOptimizer);
  }

  FlatReader read_;
  const bool flash_;
};

/// What stands at attention_config, on a file's line and up to the next key, without comments: the
/// kinds of layers are lists within lists, [[["flash"], 44]], of which no value is made.
std::string kinds_of_layers(const std::string& text, int first_line) {
  const std::vector<std::string> lines = base::split(text, '\n');
  std::string list;
  for (auto line = static_cast<size_t>(first_line - 1); line < lines.size(); ++line) {
    std::string code = lines[line].substr(0, lines[line].find('#'));
    if (list.empty()) {
      const size_t key = std::min(code.find("attention-config"), code.find("attention_config"));
      code.erase(0, std::min(code.find(':', std::min(key, code.size())), code.size()));
      code = "," + code.substr(std::min<size_t>(1, code.size()));
    }
    const size_t next = code.find(':'), comma = code.rfind(',', next);
    list += next == code.npos ? code : code.substr(0, comma == code.npos ? 0 : comma);
    if (next != code.npos) break;
  }
  return list;
}

}  // namespace

Result<Reading> parse_neox(const std::vector<NeoxFile>& files) {
  spec::FlatYaml values;
  std::string list;
  for (const NeoxFile& it : files) {
    ERGOMETER_ASSIGN(const spec::FlatYaml written, spec::flatten_yaml(it.text, it.file));
    for (const auto& [key, value] : written) {
      std::string name = base::underscored(key);
      if (name == "gas") name = "gradient_accumulation_steps";  // its other spelling
      if (name == "attention_config") list = kinds_of_layers(it.text, value.line);
      values[name] = {value.text, value.line, fmt::format("{}:{}", it.file, value.line)};
    }
  }
  const std::string& file = files.front().file;
  for (const char* other : {"mamba", "rwkv", "sparse", "gmlp", "local"})
    if (base::contains(list, other))
      return input_error(
          "{}: attention_config: layers of kind {} are not read; allowed: global, flash", file,
          other);
  return NeoxReader(values, file, base::contains(list, "flash")).read();
}

}  // namespace ergometer::intake
