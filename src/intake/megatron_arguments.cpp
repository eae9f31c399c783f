#include "intake/megatron_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "intake/config/core_model.h"
#include "intake/megatron_names.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "spec/catalog/read.h"
#include "spec/model/layer_pattern.h"
#include "spec/model/tokenizers.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {
namespace {

using spec::Origin;
using spec::SettingInfo;
using spec::SettingKind;
using spec::Settings;

/// Megatron's own test files: MODEL_ARGS: {--num-layers: 12, --swiglu: true}.
Result<std::optional<std::vector<Argument>>> arguments_of_yaml(const std::string& text,
                                                               const std::string& file) {
  const size_t at = text.find("MODEL_ARGS:");
  if (at == text.npos || (at > 0 && text[at - 1] != '\n'))
    return std::optional<std::vector<Argument>>();
  ERGOMETER_ASSIGN(const spec::FlatYaml values, spec::flatten_yaml(text, file));
  constexpr std::string_view kPrefix = "MODEL_ARGS.";
  std::vector<Argument> arguments;
  for (const auto& [path, value] : values) {
    if (!path.starts_with(kPrefix) || value.text == "false" || value.text == "False") continue;
    const bool on = value.text == "true" || value.text == "True";
    arguments.push_back({option_name(std::string_view(path).substr(kPrefix.size())),
                         on ? "" : value.text, on ? "" : value.text,
                         fmt::format("{}:{}", file, value.line), ""});
  }
  return std::optional(std::move(arguments));
}

/// A size of parallelism under a name that Megatron-LM does not have.
bool divides(std::string_view name) {
  return divides_job(name) || name.ends_with("parallel_size") || name.ends_with("parallel_degree");
}

/// Paths are read only for the names in them.
bool counts(std::string_view name) {
  return name != "deepspeed_config" && name != "tokenizer_model" && name != "vocab_file" &&
         name != "merge_file" && name != "spec" && name != "optimizer";
}

class ArgumentReader {
 public:
  explicit ArgumentReader(const std::string& file) : file_(file) {}

  Result<void> read(const Argument& argument) {
    const bool matters =
        (megatron_reads(argument.name) && counts(argument.name)) || divides(argument.name);
    if (!argument.unknown.empty() && matters)
      return input_error("{}: --{} depends on {}", argument.where, base::dashed(argument.name),
                         argument.unknown);
    if (mixes_layers(argument) && mixture_.empty())
      mixture_ = fmt::format("{}: --{}", argument.where, base::dashed(argument.name));
    ERGOMETER_ASSIGN(const bool known, read_known(argument));
    if (known) return {};
    if (divides(argument.name) && !is_off(argument.value) && argument.value != "1")
      return wrong(argument,
                   "nothing or 1: this size of parallelism is not read, and without it the job "
                   "would be another one");
    leftovers_.push_back(classify("megatron-lm", fmt::format("--{}", base::dashed(argument.name)),
                                  argument.where, megatron_names()));
    return {};
  }

  /// DeepSpeed is switched on: Megatron-LM itself has no such word.
  bool deepspeed() const { return deepspeed_; }
  /// Why the model is not known although its sizes are given; empty otherwise.
  std::string model_open() const {
    return mixture_.empty() || !has_model_
               ? ""
               : fmt::format(
                     "{} mixes Mamba with attention, and a model of such "
                     "layers is not read from arguments; give --model (a name "
                     "or a config.json, as of Nemotron-H)",
                     mixture_);
  }

  /// What became no setting, and what the user should know; once `finish` is through.
  std::vector<Leftover>& leftovers() { return leftovers_; }
  std::vector<std::string>& notes() { return notes_; }

  Result<Settings> finish() {
    finish_deepspeed();
    spread_experts();
    if (!model_.empty() || !tokenizer_.empty()) ERGOMETER_TRY(finish_model());
    ERGOMETER_TRY(finish_sharding());
    ERGOMETER_TRY(finish_recomputation());
    note_stops();
    // Attention of Megatron-LM's own layers is fused by --use-flash-attn alone.
    if (own_kernels_ && settings_.find("attention_backend") == nullptr)
      settings_.set("attention_backend", "unfused", origin(*own_kernels_));
    set_if_new("sequence_parallel", "false", "without --sequence-parallel");
    set_if_new("cross_entropy_loss_fusion", "false", "without --cross-entropy-loss-fusion");
    if (model_.contains("num_experts"))
      set_if_new("moe_grouped_gemm", "false", "without --moe-grouped-gemm");
    bool has_precision = false;
    for (const char* name : {"bf16", "fp16", "fp8"})
      has_precision = has_precision || settings_.find(name) != nullptr;
    if (!has_precision) set_if_new("precision", "fp32", "without --bf16 or --fp16");
    return std::move(settings_);
  }

 private:
  /// Without a granularity Megatron-LM computes nothing again, whatever else its arguments say.
  /// Releases before there was one said "full" by a method, and before that by a switch, whose
  /// number of layers is how far apart checkpoints are.
  Result<void> finish_recomputation() {
    // validate_args() of its arguments.py: over --recompute-granularity.
    if (selective_) settings_.set("recompute_granularity", "selective", Origin(*selective_));
    compute_experts_again();
    const Settings::Value* granularity = settings_.find("recompute_granularity");
    const Settings::Value* method = settings_.find("recompute_method");
    if (granularity == nullptr && method != nullptr &&
        method->origin.key == "--activations-checkpoint-method") {
      settings_.set("recompute_granularity", "full", Origin(method->origin));
    } else if (granularity == nullptr) {
      for (const char* name : {"recompute_method", "recompute_num_layers", "recompute_modules"})
        settings_.erase(name);
    } else if (granularity->text == "full" && method == nullptr) {
      const Settings::Value* layers = settings_.find("recompute_num_layers");
      if (granularity->origin.key != "--checkpoint-activations") {
        const Settings::Value& said = layers == nullptr ? *granularity : *layers;
        return input_error(
            "{}: {} {} without --recompute-method, which Megatron-LM asks for: block computes "
            "--recompute-num-layers of a stage again, uniform all, with a checkpoint every so many",
            said.origin.text, said.origin.key, said.text);
      }
      if (layers == nullptr) return {};
      settings_.set("recompute_method", "uniform", Origin(granularity->origin));
    }
    return {};
  }

  /// --moe-layer-recompute, as Megatron-Core's transformer_config.py turns it into the later words:
  /// beside the modules that are said, or the attention that is computed again where none are.
  void compute_experts_again() {
    const Settings::Value* granularity = settings_.find("recompute_granularity");
    if (!experts_again_ || (granularity != nullptr && granularity->text == "full")) return;
    const Settings::Value* modules = settings_.find("recompute_modules");
    const std::string said = modules == nullptr ? "core_attn" : modules->text;
    if (!base::contains(base::split(said, ','), std::string("moe")))
      settings_.set("recompute_modules", said + ",moe", Origin(*experts_again_));
    settings_.set("recompute_granularity", "selective", Origin(*experts_again_));
  }

  /// What Megatron-LM refuses to start, and older releases and forks do not.
  void note_stops() {
    if (!model_.contains("num_experts") || of_deepspeed_ || deepspeed_) return;
    const auto says = [&](std::string_view name) {
      const Settings::Value* value = settings_.find(name);
      return value != nullptr && value->text != "1" && value->text != "false";
    };
    const auto note = [&](std::string_view name, std::string_view why) {
      const Origin& said = settings_.find(name)->origin;
      notes_.push_back(fmt::format("{}: Megatron-LM stops at {}: {}", said.text, said.key, why));
    };
    if (says("tensor_model_parallel_size") && !says("sequence_parallel"))
      note("tensor_model_parallel_size",
           "experts beside tensor parallelism ask for --sequence-parallel");
    if (says("expert_model_parallel_size") && says("fp16"))
      note("fp16", "expert parallelism does not train in FP16");
  }

  /// DeepSpeed's engine keeps and reduces gradients as its own file says, whatever Megatron-LM's
  /// argument wants.
  void finish_deepspeed() {
    const Settings::Value* said = settings_.find("grad_reduce_in_bf16");
    if (!deepspeed_ || said == nullptr) return;
    leftovers_.push_back({Leftover::Kind::kNoEffect, said->origin.key, said->origin.text,
                          "DeepSpeed's file says how gradients are reduced"});
    settings_.erase("grad_reduce_in_bf16");
  }

  /// PyTorch's FSDP shards everything, Megatron's what its strategy says and nothing without one;
  /// the distributed optimizer beside either changes nothing. Less than everything is the
  /// distributed optimizer under another name.
  Result<void> finish_sharding() {
    set_if_new("zero", "0", "without --use-distributed-optimizer");
    const Settings::Value* fsdp = settings_.find("fsdp");
    if (fsdp == nullptr) {
      if (strategy_) leave(*strategy_, Leftover::Kind::kNoEffect, "without --use-megatron-fsdp");
      return {};
    }
    const Origin switched = fsdp->origin;
    if (switched.key == "--use-torch-fsdp2") {
      settings_.set("zero", "3", switched);
      return {};
    }
    constexpr std::array<std::string_view, 4> kStrategies = {"no_shard", "optim", "optim_grads",
                                                             "optim_grads_params"};
    const auto stage = std::ranges::find(kStrategies, strategy_ ? strategy_->value : "no_shard");
    if (stage == kStrategies.end())
      return wrong(*strategy_, "no_shard, optim, optim_grads, optim_grads_params");
    const Origin because =
        strategy_ ? origin(*strategy_)
                  : Origin{fmt::format("{}, without --data-parallel-sharding-strategy", file_), ""};
    settings_.set("zero", std::to_string(stage - kStrategies.begin()), because);
    if (stage + 1 != kStrategies.end()) settings_.set("fsdp", "false", because);
    return {};
  }
  void leave(const Argument& argument, Leftover::Kind kind, std::string says) {
    leftovers_.push_back(
        {kind, fmt::format("--{}", base::dashed(argument.name)), argument.where, std::move(says)});
  }
  Origin origin(const Argument& argument) const {
    return {argument.where, fmt::format("--{}", base::dashed(argument.name))};
  }
  void set_if_new(std::string_view name, std::string text, std::string_view reason) {
    if (settings_.find(name) == nullptr)
      settings_.set(name, std::move(text), Origin{fmt::format("{}, {}", file_, reason), ""});
  }
  tl::unexpected<base::Error> wrong(const Argument& argument, std::string_view allowed) const {
    const std::string found = argument.value.empty()
                                  ? "found nothing"
                                  : fmt::format("found \"{}\"", argument.value.substr(0, 60));
    return input_error("{}: --{}: {}; allowed: {}", argument.where, base::dashed(argument.name),
                       found, allowed);
  }

  /// Of DeepSpeed's fork, whose mixtures differ in what is not said.
  static bool is_of_deepspeed(std::string_view name) {
    return name == "deepspeed" || name == "create_moe_param_group" ||
           name == "moe_expert_parallel_size" || name == "moe_train_capacity_factor";
  }

  /// A pattern or shares say which layer is of which kind.
  static bool mixes_layers(const Argument& argument) {
    return argument.name.starts_with("hybrid_") || argument.name == "is_hybrid_model";
  }

  Result<bool> read_known(const Argument& argument) {
    deepspeed_ = deepspeed_ || argument.name == "deepspeed";
    of_deepspeed_ = of_deepspeed_ || is_of_deepspeed(argument.name);
    if (argument.name == "recompute_activations") selective_ = origin(argument);
    if (const MegatronMeaning* meaning = find_megatron_meaning(argument.name)) {
      settings_.set(meaning->setting, meaning->value, origin(argument));
      return true;
    }
    if (argument.name == "cp_comm_type") ERGOMETER_TRY(check_same(argument));
    if (argument.name == "batch_size" || argument.name == "micro_batch_size")
      ERGOMETER_TRY(check_one_batch(argument));
    ERGOMETER_TRY(check_modelled(argument));
    if (argument.name == "context_parallel_algo") return read_context_algorithm(argument);
    if (argument.name == "window_size") return read_window(argument);
    if (read_special(argument)) return true;
    if (const MegatronDimension* dimension = find_megatron_dimension(argument.name))
      return read_dimension(*dimension, argument);
    return read_setting(argument);
  }

  /// Two names of a replica's sequences: the earlier release's one is never the step's batch.
  Result<void> check_one_batch(const Argument& argument) {
    if (!batch_name_.empty() && batch_name_ != argument.name)
      return input_error(
          "{}: --{}: found {} beside --{}, which says the same; allowed: --micro-batch-size alone "
          "(--global-batch-size is that of a step)",
          argument.where, base::dashed(argument.name), argument.value, base::dashed(batch_name_));
    batch_name_ = argument.name;
    return {};
  }

  /// MindSpeed's ways to lay a job out that make another one of it.
  Result<void> check_modelled(const Argument& argument) const {
    struct Other {
      std::string_view name, says;
    };
    constexpr std::array kOthers = std::to_array<Other>(
        {{"noop_layers", "layers that do nothing"}, {"tp_2d", "tensors split in two directions"}});
    for (const Other& it : kOthers)
      if (it.name == argument.name)
        return input_error("{}: --{}: {} are not modelled", argument.where,
                           base::dashed(argument.name), it.says);
    return {};
  }

  /// MindSpeed's word for how ranks of a sequence meet.
  Result<bool> read_context_algorithm(const Argument& argument) {
    const bool ring = argument.value == "megatron_cp_algo";
    if (!ring && argument.value != "ulysses_cp_algo")
      return wrong(argument, "megatron_cp_algo, ulysses_cp_algo");
    settings_.set("cp_comm_type", ring ? "p2p" : "a2a", origin(argument));
    return true;
  }

  Result<bool> read_window(const Argument& argument) {
    const auto window = spec::parse_attention_window(argument.value);
    if (!window) return wrong(argument, "two whole numbers such as 128,0");
    model_["window_size"] = *window;
    return true;
  }

  /// MindSpeed's experts lie whole on the ranks that tensors are split over elsewhere.
  void spread_experts() {
    if (!spreads_experts_ || !model_.contains("num_experts")) return;
    const auto size = [&](std::string_view name) {
      const Settings::Value* value = settings_.find(name);
      return value == nullptr ? 1 : base::parse_integer(value->text).value_or(1);
    };
    const int64_t tp = std::clamp<int64_t>(size("tensor_model_parallel_size"), 1, spec::kMostRanks);
    const int64_t ep = std::clamp<int64_t>(size("expert_model_parallel_size"), 1, spec::kMostRanks);
    settings_.set("expert_model_parallel_size", std::to_string(tp * ep), origin(*spreads_experts_));
    settings_.set("expert_tensor_parallel_size", "1", origin(*spreads_experts_));
  }

  /// Arguments whose value needs translation.
  bool read_special(const Argument& argument) {
    const std::string& value = argument.value;
    if (argument.name == "disable_bias_linear")
      model_["add_bias_linear"] = false;
    else if (argument.name == "no_position_embedding")
      no_positions_ = true;
    else if (argument.name == "use_rotary_position_embeddings" ||
             (argument.name == "position_embedding_type" && value == "rotary"))
      model_["position_embedding_type"] = "rope";
    else if (argument.name == "normalization" || argument.name == "position_embedding_type")
      return read_word(argument);
    else if (argument.name == "num_key_value_heads" && base::parse_integer(value)) {
      model_["group_query_attention"] = true;
      model_["num_query_groups"] = *base::parse_integer(value);
    } else if (argument.name == "ds_sequence_parallel_size") {
      settings_.set("context_parallel_size", value, origin(argument));
      settings_.set("cp_comm_type", "a2a", origin(argument));  // Ulysses
    } else if (argument.name == "pad_vocab_size_to" || argument.name == "padded_vocab_size")
      padded_vocabulary_ = value;
    else if (argument.name == "patch_tokenizer_type")
      patched_words_ = spec::patch_tokenizer_words(value);
    else if (argument.name == "extra_vocab_size")
      extra_words_ = base::parse_integer(value).value_or(-1);
    else if (argument.name == "fp8_format")
      settings_.set("fp8", "true", origin(argument));
    else if (argument.name == "fp4_format")
      settings_.set("fp4", "true", origin(argument));
    else if (argument.name == "first_k_dense_replace")
      first_dense_ = base::parse_integer(value).value_or(0);
    else if (argument.name == "cross_entropy_fusion_impl")
      settings_.set("linear_cross_entropy_fusion", value == "linear" ? "true" : "false",
                    origin(argument));
    else if (argument.name == "cuda_graph_impl")
      settings_.set("cuda_graphs", value == "none" ? "false" : "true", origin(argument));
    else if (argument.name == "attention_head_type") {
      if (value != "multiquery") return true;
      model_["group_query_attention"] = true;
      model_["num_query_groups"] = 1;
    } else if (argument.name == "tokenizer_type" && tokenizer_.empty())
      tokenizer_ = value;
    else if ((argument.name == "tokenizer_model" || argument.name == "tokenizer_name_or_path") &&
             spec::tokenizer_vocabulary(value) > 0)
      tokenizer_ = value;
    else if (argument.name == "vocab_file")
      vocabulary_file_ = argument;
    else if (argument.name == "merge_file" && tokenizer_.empty())
      tokenizer_ = "GPT2BPETokenizer";  // the only one that reads merges
    else if (argument.name == "attention_backend")
      settings_.set("attention_backend",
                    value == "unfused" || value == "local" ? "unfused" : "fused", origin(argument));
    else if (argument.name == "optimizer")
      read_optimizer(argument);
    else if (argument.name == "data_parallel_sharding_strategy")
      strategy_ = argument;
    else if (argument.name == "use_legacy_models")
      own_kernels_ = argument;
    else if (argument.name == "n_shared_experts" || argument.name == "num_shared_experts")
      shared_experts_ = base::parse_integer(value).value_or(0);
    else if (argument.name == "moe_layer_recompute")
      experts_again_ = origin(argument);
    else if (argument.name == "moe_tp_extend_ep")
      spreads_experts_ = argument;
    else if (argument.name == "transformer_impl" || argument.name == "spec") {
      // "local": Megatron-LM's own layers; --spec may name a module of a package as well.
      if (value != "local") return false;
      own_kernels_ = argument;
    } else
      return argument.name == "deepspeed" || argument.name == "deepspeed_config" ||
             argument.name == "tokenizer_type" || argument.name == "tokenizer_model" ||
             argument.name == "tokenizer_name_or_path" || argument.name == "merge_file";
    return true;
  }

  void read_optimizer(const Argument& argument) {
    const bool known = argument.unknown.empty();
    const std::string word = known ? base::lower(argument.value) : "an optimizer not known here";
    if (word == "adam" || word == "adamw" || word.empty())
      leave(argument, Leftover::Kind::kNoEffect, "");
    else
      leave(argument, Leftover::Kind::kNotModelled,
            fmt::format("memory and time: the states and the step of {}; predicted as Adam's",
                        word.substr(0, 60)));
  }

  /// A word for every layer, or one for all.
  Result<void> check_same(const Argument& argument) const {
    for (const std::string& word : base::split(argument.list, ','))
      if (word != argument.value)
        return input_error(
            "{}: --{}: found \"{}\", another one for some layers; allowed: one for all",
            argument.where, base::dashed(argument.name), argument.list.substr(0, 60));
    return {};
  }

  /// Forks write "rmsnorm" and "layernorm".
  bool read_word(const Argument& argument) {
    const std::string word = base::lower(argument.value);
    if (argument.name == "normalization" && (word == "rmsnorm" || word == "layernorm")) {
      model_["normalization"] = word == "rmsnorm" ? "RMSNorm" : "LayerNorm";
      return true;
    }
    return false;
  }

  Result<bool> read_setting(const Argument& argument) {
    const SettingInfo* info = megatron_setting(argument.name);
    if (info == nullptr) return false;
    if (info->kind != SettingKind::kSwitch && argument.value.empty())
      return wrong(argument, "a value");
    const std::string& value = info->kind == SettingKind::kList ? argument.list : argument.value;
    // A switch may be followed by a word that is not its value: the next command of the script.
    const bool bare = value.empty() ||
                      (info->kind == SettingKind::kSwitch && value != "false" && value != "False");
    settings_.set(info->name, bare ? "true" : value, origin(argument));
    return true;
  }

  Result<bool> read_dimension(const MegatronDimension& dimension, const Argument& argument) {
    const std::string name(dimension.name);
    const DimensionKind kind = dimension.kind;
    if (first_where_.empty()) first_where_ = argument.where;
    if (kind == DimensionKind::kSwitch) model_[name] = true;
    if (kind == DimensionKind::kText) {
      const auto number = base::parse_integer(argument.value);
      if (argument.value.empty()) return wrong(argument, "a word");
      if (number)
        model_[name] = *number;
      else
        model_[name] = argument.value;
    }
    if (kind == DimensionKind::kReal) {
      const auto number = base::parse_number(argument.value);
      if (!number) return wrong(argument, "a number");
      model_[name] = *number;
    }
    if (kind == DimensionKind::kInteger) {
      const auto number = base::parse_integer(argument.value);
      if (!number || *number < 0 || *number > 1'000'000'000)
        return wrong(argument, "a whole number from 0 to 1000000000");
      model_[name] = *number;
    }
    return true;
  }

  /// GPT2BPETokenizer takes as many words as its file has, which is not read.
  void note_words_of_file(int64_t vocabulary) {
    if (!vocabulary_file_ || tokenizer_ != "GPT2BPETokenizer") return;
    const std::string file = base::lower(vocabulary_file_->value);
    if (base::contains(file, "gpt2") || base::contains(file, "gpt-2")) return;
    notes_.push_back(
        fmt::format("{}: the words of --vocab-file {} are taken to be GPT-2's, {} of them; "
                    "--vocab-size says another number",
                    vocabulary_file_->where, vocabulary_file_->value, vocabulary));
  }

  Result<void> finish_model() {
    if (!model_.contains("num_layers") && !model_.contains("hidden_size")) return {};
    has_model_ = true;
    if (!mixture_.empty()) return {};
    // It takes away the learned table alone.
    if (no_positions_ && !model_.contains("position_embedding_type"))
      model_["position_embedding_type"] = "none";
    if (const auto padded = base::parse_integer(padded_vocabulary_); padded && *padded > 0) {
      model_["vocab_size"] = *padded;
      settings_.set("make_vocab_size_divisible_by", "1", Origin{first_where_, ""});
    }
    take_patched_words();
    for (const char* name : {"num_layers", "hidden_size", "num_attention_heads"})
      if (!model_.contains(name))
        return input_error("{}: --{} is missing, but other sizes of the model are given", file_,
                           base::dashed(name));
    const int64_t vocabulary = spec::tokenizer_vocabulary(tokenizer_);
    if (vocabulary > 0 && padded_vocabulary_.empty() && !deepspeed_) note_vocabulary(vocabulary);
    if (!model_.contains("vocab_size")) {
      if (vocabulary == 0)
        return input_error(
            "{}: --vocab-size is missing, and the vocabulary of {} is not known; for a "
            "launch script --script-adds \"--vocab-size N\" says it",
            first_where_, tokenizer_.empty() ? "the tokenizer" : tokenizer_);
      model_["vocab_size"] = vocabulary;
      note_words_of_file(vocabulary);
    } else if (tokenizer_ == "NullTokenizer" && padded_vocabulary_.empty()) {
      // Behind the words that it is told of stands the one that ends a document.
      model_["vocab_size"] = model_["vocab_size"].get<int64_t>() + 1;
    }
    finish_experts();
    if (of_deepspeed_ && model_.contains("num_experts")) {
      // Megatron-DeepSpeed's defaults: one expert a token, in every second layer.
      if (!model_.contains("moe_router_topk")) model_["moe_router_topk"] = 1;
      if (!model_.contains("moe_layer_freq")) model_["moe_layer_freq"] = 2;
      // Its experts always are, to the capacity.
      settings_.set("moe_pad_expert_input_to_capacity", "true",
                    Origin{"Megatron-DeepSpeed's default", ""});
    }
    model_["model_type"] = "megatron";
    const std::string json = base::json_line(model_);
    settings_.set("model", json, Origin{first_where_, ""});
    return {};
  }

  /// Pai-Megatron-Patch takes the words of its tokenizer and the special ones, without padding.
  void take_patched_words() {
    constexpr int64_t kMostExtra = 1'000'000;
    if (model_.contains("vocab_size") || patched_words_ == 0) return;
    if (extra_words_ < 0 || extra_words_ > kMostExtra) return;
    model_["vocab_size"] = patched_words_ + extra_words_;
    settings_.set("make_vocab_size_divisible_by", "1", Origin{first_where_, "--extra-vocab-size"});
  }

  /// MindSpeed's first layers without experts; -1 stands for none, and as a frequency for every
  /// layer. Shared experts that a model lacks overlap with nothing.
  void finish_experts() {
    nlohmann::json every = model_.value("moe_layer_freq", nlohmann::json(1));
    if (every == -1) every = model_["moe_layer_freq"] = 1;
    const auto layers = model_["num_layers"].get<int64_t>();
    if (first_dense_ > 0 && first_dense_ < layers && every == 1)
      model_["moe_layer_freq"] =
          fmt::format("([0]*{}+[1]*{})", first_dense_, layers - first_dense_);
    // A number of shared experts is as many of an expert's width.
    const int64_t width =
        model_.value("moe_ffn_hidden_size", model_.value("ffn_hidden_size", int64_t{0}));
    constexpr int64_t kMostShared = 1'000;
    if (shared_experts_ > 0 && shared_experts_ < kMostShared && width > 0 &&
        !model_.contains("moe_shared_expert_intermediate_size"))
      model_["moe_shared_expert_intermediate_size"] = shared_experts_ * width;
    const Settings::Value* overlap = settings_.find("moe_shared_expert_overlap");
    if (overlap == nullptr || model_.value("moe_shared_expert_intermediate_size", int64_t{0}) > 0)
      return;
    leftovers_.push_back({Leftover::Kind::kNoEffect, overlap->origin.key, overlap->origin.text,
                          "the model has no shared experts"});
    settings_.erase("moe_shared_expert_overlap");
  }

  /// Megatron-LM counts its tokenizer's words and looks at --vocab-size only where that has none;
  /// how many a tokenizer of one's own has, its type does not say.
  void note_vocabulary(int64_t vocabulary) {
    constexpr int64_t kPadding = 128;
    const int64_t said = model_.value("vocab_size", vocabulary);
    if (said / kPadding != vocabulary / kPadding && said != (vocabulary / kPadding + 1) * kPadding)
      notes_.push_back(
          fmt::format("--vocab-size {} is taken, although {} has {} words, which Megatron-LM "
                      "would count, unless this tokenizer is another one",
                      said, tokenizer_, vocabulary));
  }

  const std::string& file_;
  Settings settings_;
  std::vector<Leftover> leftovers_;
  std::vector<std::string> notes_;
  nlohmann::json model_ = nlohmann::json::object();
  std::string tokenizer_, padded_vocabulary_;
  std::optional<Argument> strategy_;  ///< of Megatron's FSDP
  std::optional<Argument> spreads_experts_;
  std::optional<Origin> selective_;      ///< --recompute-activations
  std::optional<Origin> experts_again_;  ///< --moe-layer-recompute
  std::optional<Argument> vocabulary_file_;
  std::optional<Argument> own_kernels_;  ///< what asks for layers without Transformer Engine
  bool of_deepspeed_ = false, deepspeed_ = false;
  int64_t first_dense_ = 0, shared_experts_ = 0, patched_words_ = 0, extra_words_ = -1;
  bool no_positions_ = false, has_model_ = false;
  std::string mixture_;
  std::string batch_name_;  ///< under which a replica's sequences were said
  std::string first_where_;
};

}  // namespace

Result<Reading> read_megatron(const std::vector<Argument>& arguments, const std::string& file) {
  Reading reading;
  reading.form = "Megatron-LM's arguments";
  ArgumentReader reader(file);
  for (const Argument& argument : arguments) ERGOMETER_TRY(reader.read(argument));
  ERGOMETER_ASSIGN(reading.settings, reader.finish());
  reading.leftovers = std::move(reader.leftovers());
  reading.notes = std::move(reader.notes());
  if (const std::string open = reader.model_open(); !open.empty()) reading.open["model"] = open;
  spec::set_framework(reading.settings, reader.deepspeed() ? "megatron-deepspeed" : "megatron-lm",
                      file);
  return reading;
}

Result<std::optional<Reading>> read_megatron_yaml(const std::string& text,
                                                  const std::string& file) {
  ERGOMETER_ASSIGN(const auto arguments, arguments_of_yaml(text, file));
  if (!arguments) return std::optional<Reading>();
  ERGOMETER_ASSIGN(Reading reading, read_megatron(*arguments, file));
  return std::optional(std::move(reading));
}

}  // namespace ergometer::intake
