#include "intake/research/internevo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_objects.h"

namespace ergometer::intake {
namespace {

/// What train.py takes of a configuration's names; others are the file's own.
constexpr std::array kInternEvoTakes = std::to_array<std::string_view>(
    {"data", "model", "model_type", "parallel", "hybrid_zero_optimizer", "grad_scaler"});

class InternEvoReader {
 public:
  InternEvoReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "internevo") {}

  Result<Reading> read() {
    read_model();
    read_batch();
    read_parallelism();
    read_number_format();
    read_recomputation();
    read_.set_framework("internevo");
    return read_.finish("a configuration of InternEvo");
  }

 private:
  int64_t size_or(const char* key, int64_t fallback) {
    return read_.has(key) ? read_.size(key) : fallback;
  }

  /// Those of InternLM have biases in attention, later ones and LLaMA's none.
  void read_model() {
    constexpr std::array kDense = std::to_array<std::string_view>(
        {"INTERNLM", "INTERNLM2_PUBLIC", "INTERNLM2", "LLAMA2", "BAICHUAN2"});
    const std::string type = read_.text("model_type", "INTERNLM");
    if (!base::contains(kDense, type))
      return read_.refuse("model_type", "{}: give --model for others",
                          "INTERNLM, INTERNLM2_PUBLIC, LLAMA2");
    if (read_.has("model.num_experts") && read_.size("model.num_experts") > 1)
      return read_.refuse("model.num_experts", "none: experts are not read; give --model");
    const int64_t hidden = read_.size("model.hidden_size"),
                  heads = read_.size("model.num_attention_heads");
    layers_ = read_.size("model.num_layers");
    nlohmann::json model = {{"model_type", "llama"},
                            {"hidden_size", hidden},
                            {"num_attention_heads", heads},
                            {"num_key_value_heads", size_or("model.num_kv_attention_heads", heads)},
                            {"num_hidden_layers", layers_},
                            {"vocab_size", read_.size("model.vocab_size")},
                            {"intermediate_size", feed_forward(hidden)},
                            {"max_position_embeddings", read_.size("data.seq_len")}};
    if (type == "INTERNLM" && read_.flag("model.no_bias", false) == false)
      model["attention_bias"] = true;
    read_.set("model", model.dump(), "model.hidden_size");
    if (read_.said_flag("model.use_flash_attn") == false)
      read_.set("attention_backend", "unfused", "model.use_flash_attn");
  }
  /// Rounded up to whole multiples, as its MLP does.
  int64_t feed_forward(int64_t hidden) {
    constexpr const char* kRatio = "model.mlp_ratio";
    const auto ratio = base::parse_number(read_.text(kRatio, "2.6666666666666665"));
    if (!ratio || *ratio <= 0 || *ratio > 1000) {
      read_.refuse(kRatio, "a number");
      return 1;
    }
    const int64_t multiple = size_or("model.multiple_of", 256);
    const auto whole = static_cast<int64_t>(static_cast<double>(hidden) * *ratio);
    return (whole + multiple - 1) / multiple * multiple;
  }

  /// `micro_num` passes of `micro_bsz` sequences, or packed rows of as many tokens.
  void read_batch() {
    read_.set_count("seq_length", read_.size("data.seq_len"), "data.seq_len");
    read_.set_count("micro_batch_size", size_or("data.micro_bsz", 1), "data.micro_bsz");
    const char* passes =
        read_.has("data.gradient_accumulation") ? "data.gradient_accumulation" : "data.micro_num";
    read_.set_count("gradient_accumulation_steps", size_or(passes, 1), passes);
  }

  /// `tensor=2`, `tensor=dict(size=2, mode="mtp")`
  int64_t degree(std::string_view axis, int64_t fallback = 1) {
    const std::string key = key_of(axis);
    const auto number = read_.integer(key, -1);
    if (!number) return fallback;
    return *number;
  }
  std::string key_of(std::string_view axis) {
    const std::string section = fmt::format("parallel.{}", axis);
    return read_.has_section(section) ? section + ".size" : section;
  }

  void read_parallelism() {
    const std::string tensor = key_of("tensor");
    const std::string mode = read_.text("parallel.tensor.mode", "mtp");
    const int64_t tp = degree("tensor"), weight = degree("weight");
    if (tp < 1) read_.refuse(tensor, "a number of GPUs");
    if (mode == "isp" && (tp > 1 || weight > 1))
      return read_.refuse(
          "parallel.tensor.mode",
          "mtp, msp, fsp: sequences and weights that are shared out apart from each "
          "other are not modelled");
    read_.set_count("tensor_model_parallel_size", tp, tensor);
    const bool sequences = tp > 1 && (mode == "msp" || mode == "fsp" ||
                                      read_.flag("parallel.sequence_parallel", false));
    read_.set_flag("sequence_parallel", sequences,
                   mode == "mtp" ? "parallel.sequence_parallel" : "parallel.tensor.mode");
    if (mode == "fsp")
      read_.not_modelled("parallel.tensor.mode", "time: sequences are gathered once more");
    const int64_t pp = degree("pipeline");
    if (pp < 1) read_.refuse(key_of("pipeline"), "a number of stages");
    stages_ = std::max<int64_t>(pp, 1);

    read_.set_count("pipeline_model_parallel_size", pp, key_of("pipeline"));
    const int64_t chunks = size_or("model.num_chunks", 1);
    if (chunks == 1 || pp == 1) read_.find("parallel.pipeline.interleaved_overlap");
    if (chunks > 1 && pp > 1)
      read_.set_count("virtual_pipeline_model_parallel_size", chunks, "model.num_chunks");
    read_sharding();
  }

  /// How many ranks share states: all of data parallelism where it is less than one.
  void read_sharding() {
    const std::string key = key_of("zero1");
    const int64_t ranks = degree("zero1", -1);
    if (read_.flag("parallel.zero1.fsdp", false)) {
      read_.set("zero", "3", "parallel.zero1.fsdp");
      read_.set("fsdp", "true", "parallel.zero1.fsdp");
    } else {
      read_.set("zero", ranks == 1 ? "0" : "1", key);
    }
    if (ranks > 1)
      read_.note(
          "{}: states are shared by {} ranks, which is predicted as by all of data parallelism",
          read_.origin(key).text, ranks);
    read_.copy_flag("hybrid_zero_optimizer.overlap_sync_grad", "overlap_grad_reduce");
    read_.copy_flag("hybrid_zero_optimizer.overlap_sync_param", "overlap_param_gather");
  }

  void read_number_format() {
    constexpr const char* kType = "model.dtype";
    std::string type = read_.text(kType, "torch.bfloat16");
    if (type.starts_with("torch.")) type.erase(0, 6);
    if (type != "bfloat16" && type != "float16" && type != "half" && type != "tf32" &&
        type != "float32")
      return read_.refuse(kType, "torch.bfloat16, torch.float16, torch.tf32, torch.float32");
    const bool wide = type == "tf32" || type == "float32";
    read_.set("precision", wide ? "fp32" : type == "bfloat16" ? "bf16" : "fp16", kType);
    if (type == "tf32") read_.set("tf32", "true", kType);
  }

  /// True, False, or the share of a stage's layers.
  void read_recomputation() {
    constexpr const char* kKey = "model.checkpoint";
    const std::string said = base::lower(read_.text(kKey, "false"));
    const auto share = base::parse_number(said == "true" ? "1" : said == "false" ? "0" : said);
    if (!share || *share < 0 || *share > 1)
      return read_.refuse(kKey, "True, False, or a share from 0 to 1");
    const auto layers = static_cast<int64_t>(static_cast<double>(layers_ / stages_) * *share);
    read_.set("recompute_granularity", layers == 0 ? "none" : "full", kKey);
    if (layers == 0 || *share >= 1) return;
    read_.set("recompute_method", "block", kKey);
    read_.set_count("recompute_num_layers", layers, kKey);
  }

  FlatReader read_;
  int64_t layers_ = 1, stages_ = 1;
};

}  // namespace

bool is_internevo_config(const std::string& text) {
  return base::contains(text, "hybrid_zero_optimizer = dict(") &&
         base::contains(text, "parallel = dict(") && base::contains(text, "micro_num");
}

Result<Reading> parse_internevo(const std::string& text, const std::string& file) {
  spec::FlatYaml values;
  ERGOMETER_TRY(add_python_globals(text, file, {}, values));
  std::erase_if(values, [](const auto& item) {
    const std::string& key = item.first;
    return !base::contains(kInternEvoTakes, std::string_view(key).substr(0, key.find('.')));
  });
  return InternEvoReader(values, file).read();
}

}  // namespace ergometer::intake
