#include "intake/config/torchtitan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "intake/reader/toml_flat.h"
#include "spec/model/model_names.h"
#include "spec/model/torchtitan_flavors.h"

namespace ergometer::intake {
namespace {

/// The six layers that torchtitan's tests train.
std::string debug_model() {
  return nlohmann::json{{"model_type", "llama"},
                        {"_name_or_path", "torchtitan-debugmodel"},
                        {"hidden_size", 256},
                        {"intermediate_size", 768},
                        {"num_hidden_layers", 6},
                        {"num_attention_heads", 16},
                        {"num_key_value_heads", 16},
                        {"vocab_size", 2048},
                        {"max_position_embeddings", 2048}}
      .dump();
}

class TitanReader {
 public:
  TitanReader(const spec::FlatYaml& values, const std::string& file)
      : values_(values), read_(values, file, "torchtitan") {}

  Result<Reading> read() {
    read_degrees();
    read_model();
    read_batches();
    read_pipeline();
    read_sharding();
    read_precision();
    read_recomputation();
    read_rest();
    return read_.finish("a torchtitan configuration");
  }

 private:
  /// Where an option stands: sections were renamed in 2025.
  std::string place(std::string_view option) const {
    for (const char* section : {"parallelism", "training", "experimental"}) {
      std::string key = fmt::format("{}.{}", section, option);
      if (values_.find(key) != values_.end()) return key;
    }
    return fmt::format("parallelism.{}", option);
  }

  void read_degrees() {
    read_.copy_count(place("tensor_parallel_degree"), "tensor_model_parallel_size");
    read_.copy_count(place("context_parallel_degree"), "context_parallel_size");
    read_.copy_count(place("pipeline_parallel_degree"), "pipeline_model_parallel_size");
    read_.copy_count(place("expert_parallel_degree"), "expert_model_parallel_size");
    read_.copy_count(place("expert_tensor_parallel_degree"), "expert_tensor_parallel_size");
    read_.copy_flag(place("enable_async_tensor_parallel"), "tp_comm_overlap");
    const std::string rotation = place("context_parallel_rotate_method");
    const std::string method = read_.text(rotation, "allgather");
    if (method != "allgather" && method != "alltoall")
      read_.refuse(rotation, "allgather, alltoall");
    const auto* cp = read_.reading().settings.find("context_parallel_size");
    if (cp != nullptr && cp->text != "1")
      read_.set("cp_comm_type", method == "allgather" ? "all_gather" : "p2p", rotation);
  }

  int64_t degree(std::string_view setting) const {
    const auto* value = settings().find(setting);
    return value == nullptr ? 1 : base::parse_integer(value->text).value_or(1);
  }
  const spec::Settings& settings() const { return read_.said(); }

  void read_model() {
    const std::string folder = base::lower(read_.text("model.name")),
                      flavor = read_.text("model.flavor");
    std::string assets;
    for (const char* key : {"model.hf_assets_path", "model.tokenizer_path", "job.description"})
      assets += read_.text(key) + ' ';
    if (folder.empty()) return;
    if (flavor == "debugmodel" && folder == "llama3")
      return read_.set("model", debug_model(), "model.flavor");
    const bool newer = assets.find("3.1") != assets.npos;
    std::string name;
    for (const spec::TorchtitanFlavor& it : spec::torchtitan_flavors())
      if (it.folder == folder && it.flavor == flavor && (name.empty() || newer)) name = it.model;
    if (name.empty())
      if (const auto* entry = spec::find_hub_model(fmt::format("{}-{}", folder, flavor)))
        name = entry->name;
    if (!name.empty()) return read_.set("model", name, "model.flavor");
    read_.note("its model {} {} is not in the catalog; --model says which one is meant", folder,
               flavor);
  }

  /// A rank's batch is one micro batch, and with stages several.
  void read_batches() {
    read_.copy_count("training.seq_len", "seq_length");
    if (settings().find("seq_length") == nullptr)
      read_.set_default("seq_length", "2048", "torchtitan's default");
    const std::string local_key = values_.find("training.batch_size") != values_.end()
                                      ? "training.batch_size"
                                      : "training.local_batch_size";
    const int64_t local = read_.integer(local_key, 1).value_or(8);
    int64_t micro = local;
    std::string micro_key = local_key;
    if (degree("pipeline_model_parallel_size") > 1) {
      micro_key = place("pipeline_parallel_microbatch_size");
      const std::string number = place("pipeline_parallel_microbatches");
      const auto pieces = read_.integer(number, 1);
      micro = read_.integer(micro_key, 1).value_or(1);
      if (pieces) {
        micro_key = number;
        micro = std::max<int64_t>(1, local / *pieces);
      }
      if (local % micro != 0)
        return read_.refuse(micro_key, "a divisor of the {} sequences of a rank", local);
    } else {
      read_.find(place("pipeline_parallel_microbatch_size"));
    }
    read_.set_count("micro_batch_size", micro, micro_key);
    // A larger batch of the step is as many passes; a pipeline runs empty between them.
    const bool whole = read_.copy_count("training.global_batch_size", "global_batch_size");
    if (!whole || degree("pipeline_model_parallel_size") > 1)
      read_.set_count("gradient_accumulation_steps", local / micro, local_key);
  }

  std::optional<int64_t> layers_of_model() const {
    const auto* named = settings().find("model");
    if (named == nullptr) return std::nullopt;
    const auto model = spec::read_model(named->text);
    return model ? std::optional(model->layer_count()) : std::nullopt;
  }

  void read_pipeline() {
    const std::string key = place("pipeline_parallel_schedule");
    const std::string word = base::lower(read_.text(key, "1f1b"));
    const std::string parts = place("module_fqns_per_model_part");
    const std::string_view schedule = word == "1f1b"                    ? "1f1b"
                                      : word == "gpipe"                 ? "gpipe"
                                      : word == "interleaved1f1b"       ? "interleaved"
                                      : word == "loopedbfs"             ? "looped-bfs"
                                      : word == "zbvzerobubble"         ? "zb-v"
                                      : word == "dualpipev"             ? "dualpipe-v"
                                      : word == "interleavedzerobubble" ? "zb-h1"
                                                                        : "";
    const std::string points = place("pipeline_parallel_split_points"),
                      per_stage = place("pipeline_parallel_layers_per_stage");
    for (const std::string& option : {parts, points, per_stage}) read_.find(option);
    const int64_t first = less_layers("first"), last = less_layers("last");
    const int64_t stages = degree("pipeline_model_parallel_size");
    if (stages == 1) return;
    if (schedule.empty())
      return read_.refuse(key,
                          "1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, "
                          "ZBVZeroBubble, DualPipeV");
    read_.set("schedule", std::string(schedule), key);
    if (!read_.text(points).empty())
      read_.not_modelled(points, "time and memory: where stages begin; predicted as even stages");
    if (schedule == "zb-h1")
      return read_.note("{} is predicted as ZB-H1 with one chunk a stage", read_.text(key));
    if (!read_.text(parts).empty()) return read_parts(parts, stages);
    read_division(per_stage, schedule == "1f1b" || schedule == "gpipe" ? 1 : 2, first, last);
  }

  /// torchtitan's generate_llm_fqn_per_model_part: the embedding weighs `first` layers and the
  /// output `last`, the first chunks have one more than the others.
  void read_division(const std::string& per_stage, int64_t usual, int64_t first, int64_t last) {
    const int64_t stages = degree("pipeline_model_parallel_size");
    const auto most = read_.integer(per_stage, 1);
    const auto layers = layers_of_model();
    const bool stated = most && *most > 0;
    if (!layers && stated) {
      read_.copy_count(per_stage, "num_layers_per_virtual_pipeline_stage");
      return;
    }
    const int64_t all = layers.value_or(0) + first + last;
    const int64_t chunks = stated ? (all + *most - 1) / *most : stages * usual;
    if (chunks % stages != 0)
      return read_.refuse(per_stage,
                          "a number that cuts {} layers, the ends counted, "
                          "into a multiple of {} chunks, not into {}",
                          all, stages, chunks);
    if (usual > 1 || stated)
      read_.set_count("virtual_pipeline_model_parallel_size", chunks / stages,
                      stated ? per_stage : place("pipeline_parallel_schedule"));
    if (!layers || chunks > *layers) return;
    std::vector<int64_t> list;
    for (int64_t i = 0; i < chunks; ++i) list.push_back(all / chunks + (i < all % chunks ? 1 : 0));
    list.front() -= first;
    list.back() -= last;
    if (std::min(list.front(), list.back()) < 0)
      return read_.refuse(place("pipeline_parallel_first_stage_less_layers"),
                          "no more layers than the first or last of {} chunks has", chunks);
    set_stage_layers(list, stated ? per_stage : place("pipeline_parallel_degree"));
  }

  void set_stage_layers(const std::vector<int64_t>& list, const std::string& key) {
    if (std::ranges::adjacent_find(list, std::not_equal_to<>()) != list.end())
      read_.set("stage_layers", fmt::format("{}", fmt::join(list, ",")), key);
  }

  /// A list of modules for every chunk, [["tok_embeddings", "layers.0"], ["layers.1", "norm"]].
  void read_parts(const std::string& key, int64_t stages) {
    std::vector<int64_t> list;
    for (const std::string& part : base::split(read_.text(key), ',')) {
      list.push_back(0);
      for (const std::string& module : base::split(part, ' '))
        if (module.starts_with("layers.")) ++list.back();
    }
    const auto chunks = static_cast<int64_t>(list.size());
    if (chunks % stages != 0) return read_.refuse(key, "lists for a multiple of {} chunks", stages);
    if (chunks > stages)
      read_.set_count("virtual_pipeline_model_parallel_size", chunks / stages, key);
    const auto layers = layers_of_model();
    const int64_t sum = std::accumulate(list.begin(), list.end(), int64_t{0});
    if (layers && sum != *layers)
      return read_.refuse(key, "the model's {} layers, not {}", *layers, sum);
    // Equal ones, too: torchtitan's own division would be another.
    read_.set("stage_layers", fmt::format("{}", fmt::join(list, ",")), key);
  }

  int64_t less_layers(std::string_view end) {
    return read_.integer(place(fmt::format("pipeline_parallel_{}_stage_less_layers", end)), 0)
        .value_or(1);
  }

  /// Nothing is known of the ranks that -1 stands for, but that they are all.
  void read_sharding() {
    const std::string replicas_key = place("data_parallel_replicate_degree"),
                      shards_key = place("data_parallel_shard_degree"),
                      old_key = place("data_parallel_degree");
    const int64_t replicas = read_.integer(replicas_key, 1).value_or(1);
    int64_t shards = read_.integer(shards_key, -1).value_or(-1);
    if (read_.has(old_key)) shards = read_.integer(old_key, -1).value_or(-1);
    const std::string old_kind = read_.text(place("data_parallel_type"), "fsdp");
    if (shards == 0) return read_.refuse(shards_key, "-1, or ranks that share the parameters");
    if (shards > 0) set_ranks(read_, "data_parallel_size", replicas, shards, shards_key);
    const std::string reshard_key = place("fsdp_reshard_after_forward");
    const std::string reshard = read_.text(reshard_key, "default");
    // Ranks that share sequences share parameters, too.
    const bool alone = shards == 1 && degree("context_parallel_size") == 1;
    if (alone || (shards == 1 && replicas > 1) || old_kind == "ddp") {
      read_.set("fsdp", "false", shards_key);
      return set_replicated(read_, shards_key);
    }
    const bool stages = degree("pipeline_model_parallel_size") > 1;
    const bool gathered = reshard == "never" || (stages && reshard != "always");
    read_sharding_strategy(read_, gathered ? "shard_grad_op" : "full_shard",
                           reshard == "default" ? shards_key : reshard_key);
    if (replicas > 1 && shards > 1 && !gathered)
      read_hybrid_shards(read_, shards, shards_key);
    else if (replicas > 1 && !gathered)
      read_.set("fsdp_shard_size", fmt::format("1/{}", replicas), replicas_key);
    else if (replicas > 1)
      read_.not_modelled(replicas_key, kPartlySharded);
  }

  void read_precision() {
    constexpr std::string_view kType = "training.mixed_precision_param";
    const std::string_view format = format_of_type(read_.text(kType, "bfloat16"));
    if (format.empty())
      read_.refuse(kType, "bfloat16, float32");
    else
      read_.set("precision", std::string(format), kType);
    const std::string reduce = read_.text("training.mixed_precision_reduce", "float32");
    read_.set_flag("grad_reduce_in_bf16", reduce != "float32", "training.mixed_precision_reduce");
    const std::string converters = read_.text("model.converters");
    const bool old = read_.flag("float8.enable_float8_linear", false);
    const bool scaled = converters.find("mx") != converters.npos;
    if (converters.find("float8") != converters.npos || old || scaled) {
      const std::string key = old ? "float8.enable_float8_linear" : "model.converters";
      read_.set("precision", "fp8", key);
      read_.set("fp8_recipe", scaled ? "mxfp8" : float8_recipe(), key);
    } else {
      for (const std::string section : {"float8.", "quantize.linear.float8."})
        for (const char* gathers :
             {"enable_fsdp_float8_all_gather", "precompute_float8_dynamic_scale_for_fsdp"})
          if (read_.has(section + gathers))
            read_.reading().leftovers.push_back({Leftover::Kind::kNoEffect, section + gathers,
                                                 read_.origin(section + gathers).text,
                                                 "without its converter"});
    }
  }

  const char* float8_recipe() {
    const std::string recipe =
        read_.text("quantize.linear.float8.recipe_name") + read_.text("float8.recipe_name");
    return recipe.find("rowwise") != recipe.npos ? "rowwise" : "tensorwise";
  }

  void read_recomputation() {
    const std::string mode = read_.text("activation_checkpoint.mode");
    const std::string option = read_.text("activation_checkpoint.selective_ac_option", "op");
    constexpr std::string_view kMode = "activation_checkpoint.mode",
                               kOption = "activation_checkpoint.selective_ac_option";
    if (mode == "none" || mode == "full") read_.set("recompute_granularity", mode, kMode);
    if (mode == "memory_budget") {
      read_.set("recompute_granularity", "none", kMode);
      read_.not_modelled(kMode,
                         "memory and time: the compiler chooses what is computed again; "
                         "predicted without");
    }
    if (mode == "selective" && option == "op") {
      read_.set("recompute_granularity", "selective", kMode);
      read_.set("recompute_modules", "op", kOption);
    } else if (mode == "selective") {
      every_other_layer(option);
    }
    if (!mode.empty() && mode != "none" && mode != "full" && mode != "selective" &&
        mode != "memory_budget")
      read_.refuse(kMode, "none, full, selective, memory_budget");
  }

  /// "2": every second layer whole.
  void every_other_layer(const std::string& option) {
    constexpr std::string_view kOption = "activation_checkpoint.selective_ac_option";
    const auto step = base::parse_integer(option);
    if (!step || *step < 1) return read_.refuse(kOption, "op, or every how many layers");
    const auto* named = settings().find("model");
    const auto model = named == nullptr ? spec::read_model("") : spec::read_model(named->text);
    if (!model) return read_.refuse(kOption, "op: the layers of this model are not known");
    // So many layers of every chunk.
    const int64_t chunks =
        degree("pipeline_model_parallel_size") * degree("virtual_pipeline_model_parallel_size");
    read_.set("recompute_granularity", "full", kOption);
    if (*step == 1) return;
    read_.set("recompute_method", "block", kOption);
    read_.set_count("recompute_num_layers",
                    std::max<int64_t>(1, model->layer_count() / chunks / *step), kOption);
  }

  void read_rest() {
    const bool before = read_.flag("training.compile", false);  // its name until 2025
    const std::string parts = read_.text("compile.components", "model");
    const bool compiles = read_.flag("compile.enable", before) && base::contains(parts, "model");
    read_.set_framework(compiles ? "torchtitan" : "torchtitan-eager");
    if (read_.text("training.dtype", "float32") != "float32")
      read_.not_modelled("training.dtype",
                         "memory: parameters and the optimizer's states are in 16 bit; predicted "
                         "with those of 32 bit");
    constexpr std::string_view kOffload = "training.enable_cpu_offload";
    if (read_.flag(kOffload, false)) {
      set_fsdp_on_host(read_, kOffload);
    }
    const std::string optimizer = base::lower(read_.text("optimizer.name", "AdamW"));
    if (optimizer != "adamw" && optimizer != "adam")
      read_.not_modelled("optimizer.name", kOtherOptimizer);
  }

  const spec::FlatYaml& values_;
  FlatReader read_;
};

}  // namespace

Result<Reading> parse_torchtitan(const std::string& text, const std::string& file,
                                 const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, flatten_toml(text, file));
  return read_torchtitan(std::move(values), file, overrides);
}

Result<Reading> read_torchtitan(spec::FlatYaml values, const std::string& file,
                                const spec::FlatYaml& overrides) {
  for (const auto& [option, value] : overrides) {
    // `--compile.enable` alone, and `--compile.no-enable`, are yes and no.
    const size_t name = option.rfind('.') + 1;
    const bool off = option.compare(name, 3, "no_") == 0;
    spec::FlatValue& said = values[off ? option.substr(0, name) + option.substr(name + 3) : option];
    said = value;
    if (value.text.empty()) said.text = off ? "false" : "true";
  }
  return TitanReader(values, file).read();
}

}  // namespace ergometer::intake
