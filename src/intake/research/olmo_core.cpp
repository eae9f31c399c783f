#include "intake/research/olmo_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/shared_words.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

/// Models that OLMo-core has functions for: the catalog's, or sizes. Those that its releases call
/// by one name and size otherwise are left out.
struct CoreModel {
  std::string_view function, model;
  int64_t hidden, layers, heads, mlp;
  bool normed;        ///< queries and keys
  int64_t words = 0;  ///< the catalog's vocabulary
};
constexpr std::array kCoreModels =
    std::to_array<CoreModel>({{"olmo2_7B", "olmo2-7b", 0, 0, 0, 0, true, 100352},
                              {"olmo2_13B", "olmo2-13b", 0, 0, 0, 0, true, 100352},
                              {"olmo2_32B", "olmo2-32b", 0, 0, 0, 0, true, 100352},
                              {"llama2_7B", "llama2-7b", 0, 0, 0, 0, false, 32000},
                              {"llama2_13B", "llama2-13b", 0, 0, 0, 0, false, 32000},
                              {"llama2_70B", "llama2-70b", 0, 0, 0, 0, false, 32000},
                              {"llama3_8B", "llama3-8b", 0, 0, 0, 0, false, 128256},
                              {"llama3_70B", "llama3-70b", 0, 0, 0, 0, false, 128256},
                              {"llama3_405B", "llama3.1-405b", 0, 0, 0, 0, false, 128256},
                              {"olmo2_190M", "", 768, 12, 12, 3072, true},
                              {"olmo2_760M", "", 1536, 16, 16, 6144, true},
                              {"olmo2_1B_v2", "", 2048, 16, 16, 8192, true},
                              {"olmo2_3B", "", 3328, 16, 16, 12544, true},
                              {"llama2_271M", "", 1024, 16, 8, 2816, false},
                              {"llama2_1B", "", 2048, 18, 16, 5632, false}});

/// What OLMo-core builds, by the paths of its words. "model.function" is the function that makes
/// the model.
class OlmoCoreReader {
 public:
  OlmoCoreReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "olmo-core") {}

  Result<Reading> read() {
    read_batch();
    read_model();
    read_layout();
    read_rest();
    read_launch();
    Result<Reading> reading = read_.finish("a program of OLMo-core");
    if (reading && !model_is_open_.empty()) reading->open["model"] = model_is_open_;
    return reading;
  }

 private:
  static std::string of_module(std::string_view name) {
    return fmt::format("train_module.{}", name);
  }

  /// Batches count tokens.
  void read_batch() {
    constexpr const char *kGlobal = "data_loader.global_batch_size",
                         *kLength = "dataset.sequence_length";
    const std::string micro = of_module("rank_microbatch_size"),
                      longest = of_module("max_sequence_length");
    read_.find(longest);
    const auto length = read_.integer(kLength, 1), tokens = read_.integer(micro, 1),
               all = read_.integer(kGlobal, 1);
    if (!length) return read_.refuse(kLength, "a whole number");
    if (!tokens) return read_.refuse(micro, "a whole number of tokens");
    if (!all) return read_.refuse(kGlobal, "a whole number of tokens");
    length_ = *length;
    for (const auto& [key, number] : {std::pair(micro, *tokens), {std::string(kGlobal), *all}})
      if (number % length_ != 0)
        return read_.refuse(key, "a multiple of the sequence length, {} tokens", length_);
    read_.set_count("seq_length", length_, kLength);
    read_.set_count("micro_batch_size", *tokens / length_, micro);
    read_.set_count("global_batch_size", *all / length_, kGlobal);
  }

  /// What --model says in its place.
  void leave_model_open(std::string_view key, std::string_view why) {
    read_.find("model.vocab_size");
    if (model_is_open_.empty())
      model_is_open_ = fmt::format("{}: {}: found \"{}\", {}; give --model", read_.origin(key).text,
                                   key, read_.text(key), why);
  }
  void read_model() {
    constexpr const char* kFunction = "model.function";
    const std::string function = read_.text(kFunction);
    const bool own = function == "llama_like" || function == "olmo2_like";
    const auto known = std::ranges::find(kCoreModels, function, &CoreModel::function);
    if (known == kCoreModels.end() && !own)
      return leave_model_open(kFunction,
                              "known: olmo2_7B, olmo2_13B, olmo2_32B, llama2_7B, llama3_8B, ..., "
                              "llama_like");
    constexpr const char* kWords = "model.vocab_size";
    const int64_t words = read_.integer(kWords, 1).value_or(kDolma2);
    constexpr std::array kSizes =
        std::to_array<std::string_view>({"d_model", "n_layers", "n_heads", "n_kv_heads", "qk_norm",
                                         "hidden_size_multiplier", "hidden_size_multiple_of"});
    if (!own)
      for (const std::string_view size : kSizes)
        if (const std::string key = fmt::format("model.{}", size); read_.has(key))
          return leave_model_open(
              key, fmt::format("known: none beside {}, which says the model's sizes", function));
    if (!own && !known->model.empty() && words != known->words)
      return leave_model_open(kWords, fmt::format("known: {}'s own, {}", function, known->words));
    if (!own && !known->model.empty())
      return read_.set("model", std::string(known->model), kFunction);
    CoreModel sizes = own ? CoreModel{} : *known;
    int64_t groups = sizes.heads;
    if (own) {
      const auto size = [&](const char* name) {
        constexpr int64_t kMost = 100'000'000;
        const std::string key = fmt::format("model.{}", name);
        const auto number = read_.integer(key, 1);
        if (!number || *number > kMost) read_.refuse(key, "a whole number");
        return std::min(number.value_or(1), kMost);
      };
      sizes.hidden = size("d_model");
      sizes.layers = size("n_layers");
      sizes.heads = size("n_heads");
      groups = read_.integer("model.n_kv_heads", 1).value_or(sizes.heads);
      sizes.mlp = width_of(sizes.hidden);
      sizes.normed = read_.flag("model.qk_norm", function == "olmo2_like");
    }
    read_.set("model",
              nlohmann::json{{"model_type", sizes.normed ? "qwen3" : "llama"},
                             {"hidden_size", sizes.hidden},
                             {"num_hidden_layers", sizes.layers},
                             {"num_attention_heads", sizes.heads},
                             {"num_key_value_heads", groups},
                             {"head_dim", sizes.hidden / std::max<int64_t>(1, sizes.heads)},
                             {"intermediate_size", sizes.mlp},
                             {"vocab_size", words},
                             {"max_position_embeddings", length_},
                             {"tie_word_embeddings", false}}
                  .dump(),
              kFunction);
  }
  /// 8/3 of the width times the multiplier, to a multiple.
  int64_t width_of(int64_t hidden) {
    const double times =
        base::parse_number(read_.text("model.hidden_size_multiplier", "1")).value_or(0);
    const int64_t step = read_.integer("model.hidden_size_multiple_of", 1).value_or(256);
    if (!(times > 0 && times < 100)) read_.refuse("model.hidden_size_multiplier", "0 to 100");
    const auto wide = static_cast<int64_t>(static_cast<double>(8 * hidden / 3) * times);
    return (wide + step - 1) / step * step;
  }

  /// Whom its own launcher starts: BeakerLaunchConfig has nodes of 8 GPUs.
  void read_launch() {
    constexpr const char *kNodes = "launch.num_nodes", *kEach = "launch.num_gpus";
    const auto nodes = read_.count_for("gpus", kNodes, 1), each = read_.count_for("gpus", kEach, 1);
    if ((!nodes && !each) || read_.is_open("gpus")) return;
    const int64_t gpus = std::min(nodes.value_or(1), spec::kMostRanks + 1) *
                         std::min(each.value_or(8), spec::kMostRanks + 1);
    if (gpus > spec::kMostRanks)
      return read_.refuse(nodes ? kNodes : kEach, "at most {} GPUs", spec::kMostRanks);
    read_.set_count("gpus", gpus, nodes ? kNodes : kEach);
  }

  void read_layout() {
    // A part whose arguments are not known here is not one that is off.
    for (const char* part : {"dp_config", "tp_config", "cp_config", "pp_config", "ep_config",
                             "ac_config", "float8_config"})
      if (const std::string section = of_module(part);
          read_.has(section) && !read_.has_section(section))
        return read_.refuse(section, "None, or a class with its arguments, written out");
    for (const auto& [part, setting] : {std::pair("tp_config", "tensor_model_parallel_size"),
                                        {"cp_config", "context_parallel_size"},
                                        {"pp_config", "pipeline_model_parallel_size"},
                                        {"ep_config", "expert_model_parallel_size"}}) {
      const std::string section = of_module(part), degree = section + ".degree";
      if (!read_.copy_count(degree, setting) && read_.has_section(section))
        read_.refuse(degree, "a whole number");
    }
    const std::string name = of_module("dp_config.name");
    const std::string way = base::lower(base::last_part(read_.text(name, "none"), '.'));
    const auto shards = read_.integer(of_module("dp_config.shard_degree"), 1),
               copies = read_.integer(of_module("dp_config.num_replicas"), 1);
    if (way == "ddp" || way == "none") {
      set_replicated(read_, name);
    } else if (way == "fsdp" || way == "hsdp") {
      read_sharding_strategy(read_, way == "fsdp" ? "full_shard" : "hybrid_shard", name);
      if (way == "hsdp" && shards)
        read_hybrid_shards(read_, *shards, of_module("dp_config.shard_degree"));
      if (way == "hsdp" && copies && !shards)
        read_.set("fsdp_shard_size", fmt::format("1/{}", *copies),
                  of_module("dp_config.num_replicas"));
    } else {
      read_.refuse(name, "DataParallelType.fsdp, hsdp, ddp");
    }
    const std::string type = of_module("dp_config.param_dtype");
    const std::string_view format =
        format_of_type(base::last_part(read_.text(type, of_autocast()), '.'));
    if (format.empty()) return read_.refuse(type, "DType.bfloat16, DType.float16, DType.float32");
    const std::string eight = of_module("float8_config.enabled");
    const bool narrow = read_.has_section(of_module("float8_config")) && read_.flag(eight, true);
    read_.set("precision", std::string(narrow ? "fp8" : format), narrow ? eight : type);
    const std::string reduces = of_module("dp_config.reduce_dtype");
    read_.set_flag("grad_reduce_in_bf16",
                   base::last_part(read_.text(reduces, "DType.float32"), '.') == "bfloat16",
                   reduces);
    read_.find(of_module("dp_config.wrapping_strategy"));
  }
  std::string of_autocast() { return read_.text(of_module("autocast_precision"), "float32"); }

  void read_rest() {
    const std::string mode_key = of_module("ac_config.mode");
    const std::string mode = base::lower(base::last_part(read_.text(mode_key), '.'));
    read_.set("recompute_granularity", mode.empty() || mode != "full" ? "none" : "full", mode_key);
    const bool parts = mode == "selected_modules" &&
                       base::contains(read_.text(of_module("ac_config.modules")), "feed_forward");
    if (parts) {
      read_.set("recompute_granularity", "selective", mode_key);
      read_.set("recompute_modules", "mlp", of_module("ac_config.modules"));
    } else if (mode == "selected_blocks") {
      const auto step = read_.integer(of_module("ac_config.block_interval"), 1);
      if (!step || *step != 1)
        read_.not_modelled(mode_key,
                           "memory and time: every few layers are computed again; predicted as "
                           "kept");
      else
        read_.set("recompute_granularity", "full", mode_key);
    } else if (!mode.empty() && mode != "full") {
      read_.not_modelled(mode_key,
                         "memory and time: some parts are computed again; predicted as kept");
    }
    const std::string optimizer =
        base::lower(read_.text(of_module("optim._target_"), "AdamWConfig"));
    if (!base::contains(optimizer, "adamw"))
      read_.not_modelled(of_module("optim._target_"), kOtherOptimizer);
    const bool compiles = read_.flag(of_module("compile_model"), false);
    read_.set_framework(compiles ? "torchtitan" : "torchtitan-eager");
  }

  static constexpr int64_t kDolma2 = 100352;  ///< its tokenizer's words, padded
  FlatReader read_;
  std::string model_is_open_;  ///< why
  int64_t length_ = 1;
};

/// The paths below which the arguments of its classes lie.
struct CorePart {
  std::string_view call, path;
};
constexpr std::array kCoreParts =
    std::to_array<CorePart>({{"TransformerTrainModuleConfig", "train_module."},
                             {"TransformerPipelineTrainModuleConfig", "train_module."},
                             {"NumpyDataLoaderConfig", "data_loader."},
                             {"NumpyFSLDatasetConfig", "dataset."},
                             {"NumpyPackedFSLDatasetConfig", "dataset."},
                             {"NumpyDatasetConfig", "dataset."}});

class OlmoCoreProgram : PythonReader {
 public:
  OlmoCoreProgram(PythonProgram& program, std::vector<std::string> words)
      : PythonReader(program), words_(std::move(words)) {}

  Result<Reading> read() {
    for (const CorePart& part : kCoreParts) ERGOMETER_TRY(add_part(part));
    add_main();
    ERGOMETER_TRY(add_model());
    add_words();
    Result<Reading> reading = OlmoCoreReader(found_, file_).read();
    if (reading && !model_is_open_.empty()) {
      reading->settings.erase("model");
      reading->open["model"] = model_is_open_;
    }
    return reading;
  }

 private:
  bool runs(size_t at) {
    const std::string_view statement = statements_.statement(at);
    if (statement.starts_with("class ") || statement.starts_with("from ")) return false;
    return values_.reached(at, true).value_or(true);
  }
  void set(const std::string& path, const std::string& value, size_t at) {
    const int line = line_at(text_, at);
    found_[path] = {value, line, fmt::format("{}:{}", file_, line)};
  }
  /// `Part(...)`, and `Part.from_data_mix(...)`.
  Result<void> add_part(const CorePart& part) {
    for (const size_t at : words_of(text_, part.call)) {
      const size_t open =
          text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.", at + part.call.size());
      if (open == text_.npos || text_[open] != '(' || !runs(at)) continue;
      if (part.path == "train_module." && ++modules_ > 1)
        return input_error(
            "{}:{}: a second train module that this program may make, of which one can be read",
            file_, line_at(text_, at));
      const std::string whole = text_.substr(at, behind_bracket(text_, open) - at);
      add_python_call(python_, whole, at, std::string(part.path), found_);
      for (const PythonArgument& it : arguments_of_call(text_, open)) add_named(part, it, at);
    }
    return {};
  }
  /// `dp_config=dp_config` of what was made above.
  void add_named(const CorePart& part, const PythonArgument& it, size_t at) {
    const PythonBinding* made = nullptr;
    const auto all = values_.names().bindings(it.value, values_.names().scope(at));
    const auto outside = values_.names().bindings(it.value, PythonNames::kModule);
    for (const auto* bindings : {&outside, &all})
      for (const PythonBinding& binding : *bindings)
        if (binding.at < at && values_.reached(binding.at, true) != false) made = &binding;
    if (made == nullptr || made->index >= 0 || values_.reached(made->at, true) != true) return;
    if (made->expression.find('(') == std::string::npos) return;
    add_python_value(python_, made->expression, made->at, std::string(part.path) + it.name, found_);
  }
  /// `main(global_batch_size=..., sequence_length=...)` of its own scripts.
  void add_main() {
    for (const auto& [at, open] : calls_of(text_, "main")) {
      if (text_.substr(0, at).ends_with("def ") || !runs(at)) continue;
      for (const PythonArgument& it : arguments_of_call(text_, open)) {
        const auto value = values_.text(it.value, at);
        if (it.name == "sequence_length")
          set("dataset.sequence_length", value.value_or(it.value), at);
        if (it.name == "global_batch_size")
          set("data_loader.global_batch_size", value.value_or(it.value), at);
      }
    }
    // What builds its dataset lies in a module that is not here; its sequences are as long.
    const auto module = found_.find("train_module.max_sequence_length");
    if (!found_.contains("dataset.sequence_length") && module != found_.end() &&
        base::parse_integer(module->second.text))
      found_["dataset.sequence_length"] = module->second;
    if (const auto length = values_.text("SEQUENCE_LENGTH", text_.size() - 1);
        length && !found_.contains("dataset.sequence_length"))
      set("dataset.sequence_length", *length, text_.find("SEQUENCE_LENGTH"));
  }
  Result<void> add_model() {
    constexpr std::string_view kClass = "TransformerConfig.";
    size_t found = 0, place = 0;
    for (size_t at = text_.find(kClass); at != text_.npos; at = text_.find(kClass, at + 1)) {
      size_t open = at + kClass.size();
      while (open < text_.size() && is_word(text_[open])) ++open;
      if (open >= text_.size() || text_[open] != '(' || !runs(at)) continue;
      ++found;
      place = at;
      const std::string function = text_.substr(at + kClass.size(), open - at - kClass.size());
      const std::string whole = text_.substr(at, behind_bracket(text_, open) - at);
      add_python_call(python_, whole, at, "model.", found_);
      found_.erase("model._target_");
      set("model.function", function, at);
    }
    if (found > 1)
      model_is_open_ =
          fmt::format("{}:{}: one of {} models that this program may make; give --model", file_,
                      line_at(text_, place), found);
    if (found == 0) set("model.function", "", 0);
    return add_vocabulary(place);
  }
  /// tokenizer_config.padded_vocab_size() of TokenizerConfig.dolma2(): a multiple of 128.
  Result<void> add_vocabulary(size_t place) {
    const auto words = found_.find("model.vocab_size");
    if (words == found_.end() || base::parse_integer(words->second.text)) return {};
    for (const auto& [name, padded] :
         {std::pair("dolma2", 100352), {"gpt_neox_olmo_dolma_v1_5", 50304}, {"gpt2", 50304}})
      if (base::contains(text_, fmt::format("TokenizerConfig.{}(", name))) {
        words->second.text = std::to_string(padded);
        return {};
      }
    // What its own scripts share takes Dolma 2's.
    if (base::contains(words->second.text, "common.tokenizer")) {
      found_.erase(words);
      return {};
    }
    model_is_open_ = fmt::format(
        "{}:{}: vocab_size: found {}, which is known only when the program runs; give --model",
        file_, line_at(text_, place), words->second.text);
    found_.erase(words);
    return {};
  }
  void add_words() {
    for (const std::string& word : words_) {
      if (!word.starts_with("--")) continue;
      // As its command line does: a name alone is on, and dashes are underscores.
      const size_t equals = word.find('=');
      found_[name_in_word(word)] = {equals == word.npos ? "true" : word.substr(equals + 1), -1,
                                    "the program's words"};
    }
  }

  const std::vector<std::string> words_;
  spec::FlatYaml found_;
  std::string model_is_open_;  ///< why
  int modules_ = 0;
};

}  // namespace

bool calls_olmo_core(const std::string& text) {
  return base::contains(text, "olmo_core") && base::contains(text, "TrainModuleConfig(");
}

Result<Reading> parse_olmo_core(const std::string& text, const std::string& file,
                                PythonStart start) {
  PythonProgram program(without_comments(text), file, start);
  return OlmoCoreProgram(program, std::move(start.words)).read();
}

}  // namespace ergometer::intake
