#include "intake/config/nanotron.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/text.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

/// A size of nanotron's LlamaConfig, and what it is where the file does not say it.
struct SizeOfModel {
  const char* name;
  int64_t fallback;
};
constexpr std::array kSizes = std::to_array<SizeOfModel>({
    {"hidden_size", 4096},
    {"intermediate_size", 11008},
    {"num_hidden_layers", 32},
    {"num_attention_heads", 32},
    {"vocab_size", 32000},
    {"max_position_embeddings", 2048},
});

class NanotronReader {
 public:
  NanotronReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "nanotron") {}

  Result<Reading> read() {
    read_model();
    read_parallelism();
    read_tokens();
    read_optimizer();
    read_.set_framework("nanotron");
    return read_.finish("a nanotron configuration");
  }

 private:
  static std::string of_model(std::string_view name) {
    return fmt::format("model.model_config.{}", name);
  }

  void read_model() {
    const bool llama = read_.flag(of_model("is_llama_config"), false);
    const bool qwen = read_.flag(of_model("is_qwen2_config"), false);
    if (!llama && !qwen)
      return read_.refuse("model.model_config",
                          "sizes with is_llama_config: true or is_qwen2_config: true");
    if (read_.has_section(of_model("moe_config")))
      return read_.refuse(of_model("moe_config"), "none: nanotron's experts are not read");
    nlohmann::json model = {{"model_type", qwen ? "qwen2" : "llama"}};
    for (const SizeOfModel& size : kSizes)
      model[size.name] = read_.integer(of_model(size.name), 1).value_or(size.fallback);
    const int64_t heads = model["num_attention_heads"];
    model["num_key_value_heads"] =
        read_.integer(of_model("num_key_value_heads"), 1).value_or(heads);
    model["tie_word_embeddings"] = read_.flag(of_model("tie_word_embeddings"), false);
    model["hidden_act"] = read_.text(of_model("hidden_act"), "silu");
    // Llama's configuration has none.
    if (const std::string key = of_model("sliding_window_size"); qwen && read_.has(key)) {
      model["use_sliding_window"] = true;
      model["sliding_window"] = read_.integer(key, 1).value_or(1);
      model["max_window_layers"] = 0;
      read_.note("{} is taken to be the window of every layer", key);
    }
    read_.set("model", base::json_line(model), of_model("hidden_size"));
    read_.copy_count("model.make_vocab_size_divisible_by", "make_vocab_size_divisible_by");
    const std::string_view format = format_of_type(read_.text("model.dtype", "bfloat16"));
    if (format.empty()) return read_.refuse("model.dtype", "bfloat16, float16, float32");
    read_.set("precision", std::string(format), "model.dtype");
    if (const auto size = read_.integer("model.ddp_bucket_cap_mb", 1))
      read_.set_count("ddp_bucket_size", *size * 1024 * 1024 / 2, "model.ddp_bucket_cap_mb");
  }

  void read_parallelism() {
    const int64_t tp = read_.copy_count_or("parallelism.tp", "tensor_model_parallel_size", 1);
    const int64_t pp = read_.copy_count_or("parallelism.pp", "pipeline_model_parallel_size", 1);
    const int64_t cp =
        read_.copy_count_or("parallelism.context_parallel_size", "context_parallel_size", 1);
    const int64_t dp = read_.copy_count_or("parallelism.dp", "data_parallel_size", 1);
    if (read_.integer("parallelism.expert_parallel_size", 1).value_or(1) != 1)
      read_.refuse("parallelism.expert_parallel_size", "1: nanotron's experts are not read");
    // Each fits the most ranks alone before they are multiplied.
    double product = 1;
    for (const int64_t factor : {tp, pp, cp, dp}) product *= static_cast<double>(factor);
    if (product > static_cast<double>(spec::kMostRanks))
      return read_.refuse("parallelism.dp", "at most {} GPUs", spec::kMostRanks);
    read_.set_count("gpus", tp * pp * cp * dp, "parallelism.dp");
    const std::string mode = base::lower(read_.text("parallelism.tp_mode", "all_reduce"));
    if (mode != "all_reduce" && mode != "reduce_scatter")
      return read_.refuse("parallelism.tp_mode", "ALL_REDUCE, REDUCE_SCATTER");
    if (tp > 1)
      read_.set_flag("sequence_parallel", mode == "reduce_scatter", "parallelism.tp_mode");
    constexpr const char* kAsync = "parallelism.tp_linear_async_communication";
    if (!read_.flag(kAsync, false) && tp > 1 && mode == "reduce_scatter")
      read_.not_modelled(kAsync,
                         "time: transfers of tensor parallelism wait for nothing beside them; "
                         "predicted beside the weight gradients");
    constexpr const char* kGathered = "parallelism.tp_recompute_allgather";
    if (!read_.flag(kGathered, true) && tp > 1 && mode == "reduce_scatter")
      read_.not_modelled(kGathered,
                         "memory and time: gathered activations are kept; predicted as gathered "
                         "again");
    const std::string engine = base::lower(read_.text("parallelism.pp_engine", "afab"));
    if (engine != "afab" && engine != "1f1b")
      return read_.refuse("parallelism.pp_engine", "1f1b, afab");
    if (pp > 1) read_.set("schedule", engine == "afab" ? "gpipe" : "1f1b", "parallelism.pp_engine");
    set_recomputation(read_, read_.flag("parallelism.recompute_layer", false),
                      "parallelism.recompute_layer");
  }

  void read_tokens() {
    for (const auto& [key, setting] : {std::pair("tokens.micro_batch_size", "micro_batch_size"),
                                       std::pair("tokens.sequence_length", "seq_length")})
      if (!read_.copy_count(key, setting)) read_.refuse(key, "a whole number: it has no default");
    read_.copy_count_or("tokens.batch_accumulation_per_replica", "gradient_accumulation_steps", 1);
  }

  void read_optimizer() {
    const auto stage = read_.integer("optimizer.zero_stage", 0);
    if (stage && *stage > 1) read_.refuse("optimizer.zero_stage", "0 or 1: nanotron has no others");
    read_.set_count("zero", stage.value_or(0), "optimizer.zero_stage");
    read_.set_flag("grad_reduce_in_bf16", !read_.flag("optimizer.accumulate_grad_in_fp32", true),
                   "optimizer.accumulate_grad_in_fp32");
    constexpr const char* kName = "optimizer.optimizer_factory.name";
    if (const std::string name = base::lower(read_.text(kName, "adamw")); name != "adamw")
      read_.not_modelled(kName, kOtherOptimizer);
  }

  FlatReader read_;
};

}  // namespace

Result<Reading> parse_nanotron(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values, spec::flatten_yaml(text, file));
  return NanotronReader(values, file).read();
}

}  // namespace ergometer::intake
