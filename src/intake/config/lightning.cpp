#include "intake/config/lightning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/deepspeed.h"
#include "intake/config/model_python.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/shared_words.h"
#include "spec/model/model_names.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_node.h"

namespace ergometer::intake {
namespace {

/// What a program's own arguments usually call the sizes that are read of them.
constexpr std::array kBatchWords = std::to_array<std::string_view>(
    {"micro_batch_size", "per_device_batch_size", "train_batch_size", "batch_size"});
constexpr std::array kLengthWords =
    std::to_array<std::string_view>({"max_seq_length", "max_seq_len", "seq_length", "seq_len",
                                     "block_size", "context_length", "max_length"});

class LightningReader {
 public:
  LightningReader(const spec::FlatYaml& values, const std::string& file)
      : values_(values), read_(values, file, "lightning") {}

  Result<Reading> read() {
    read_gpus();
    read_strategy();
    read_precision();
    read_own_words();
    read_accumulation();
    const bool compiles = read_.flag("program.compile", false);
    read_.set_framework(of_deepspeed_ ? "deepspeed"
                        : compiles    ? "transformers-compiled"
                                      : "transformers");
    return read_.finish("a configuration of PyTorch Lightning");
  }

 private:
  /// Fabric has no such argument: its loop says when the optimizer steps.
  void read_accumulation() {
    constexpr const char *kPasses = "trainer.accumulate_grad_batches", *kLoop = "program.loop";
    if (!read_.has(kLoop)) {
      read_.copy_count_or(kPasses, "gradient_accumulation_steps", 1);
      return;
    }
    if (read_.text(kLoop) != "accumulates")
      return read_.set_default("gradient_accumulation_steps", "1",
                               "its loop is taken to step with every batch");
    read_.reading().open["gradient_accumulation_steps"] = fmt::format(
        "{}: no_backward_sync(): how many batches its loop takes for a step is not known here; "
        "give --ga",
        read_.origin(kLoop).text);
  }

  /// How many GPUs "0,1", "[0, 1]" or "3," list; nothing of what is no list.
  static std::optional<int64_t> gpus_in_list(std::string_view text) {
    const bool brackets = text.starts_with('[') && text.ends_with(']');
    if (brackets) text = text.substr(1, text.size() - 2);
    if (!brackets && text.find(',') == text.npos) return std::nullopt;
    return std::ranges::count_if(base::split(text, ','),
                                 [](const std::string& one) { return !trimmed(one).empty(); });
  }

  /// A number, a list of GPUs, or -1 and "auto": all of the node.
  void read_gpus() {
    constexpr const char *kDevices = "trainer.devices", *kNodes = "trainer.num_nodes";
    const std::string accelerator = base::lower(read_.text("trainer.accelerator", "auto"));
    if (accelerator == "cpu" || accelerator == "tpu" || accelerator == "mps")
      return read_.refuse("trainer.accelerator", "gpu, cuda, auto");
    const std::string each = read_.text(kDevices, "auto");
    const std::string nodes = read_.text(kNodes, "1");
    const auto number = base::parse_integer(each), count = base::parse_integer(nodes);
    const auto list = gpus_in_list(each);
    const int64_t devices = list ? *list : number.value_or(0);
    const bool known = count && *count >= 1 && devices >= 1 && *count <= spec::kMostRanks &&
                       devices <= spec::kMostRanks;
    if (known) {
      node_gpus_ = devices;
      read_.set_count("gpus", devices * *count, kDevices);
      read_.set_node_gpus(devices, *count, kDevices);
      return;
    }
    read_.reading().open["gpus"] = fmt::format(
        "{}: devices={} on num_nodes={}: how many GPUs these are is not known here; "
        "give --gpus",
        read_.has(kDevices) ? read_.origin(kDevices).text : read_.file(), each, nodes);
  }

  /// A word, or a class with its arguments below it, in YAML one level deeper.
  std::string strategy_key(std::string_view name) {
    const std::string nested = fmt::format("trainer.strategy.init_args.{}", name);
    return read_.has(nested) ? nested : fmt::format("trainer.strategy.{}", name);
  }
  std::string strategy_word() {
    for (const char* key :
         {"trainer.strategy", "trainer.strategy.class_path", "trainer.strategy._target_"})
      if (read_.has(key)) return base::lower(base::last_part(read_.text(key), '.'));
    return "auto";
  }
  std::string_view strategy_place() {
    for (const char* key : {"trainer.strategy.class_path", "trainer.strategy._target_"})
      if (values_.contains(key)) return key;
    return "trainer.strategy";
  }

  void refuse_strategy(std::string_view place) {
    read_.refuse(place,
                 "ddp, fsdp, deepspeed_stage_1, 2 or 3, DDPStrategy, FSDPStrategy, "
                 "DeepSpeedStrategy, ModelParallelStrategy");
  }
  void read_strategy() {
    const std::string word = strategy_word();
    const std::string_view place = strategy_place();
    if (!std::ranges::all_of(word, is_word)) return refuse_strategy(place);
    if (word.starts_with("deepspeed")) return read_deepspeed_strategy(word);
    if (word.starts_with("fsdp")) return read_fsdp(word);
    if (word.starts_with("modelparallel")) return read_model_parallel();
    const bool replicated = word == "auto" || word.starts_with("ddp") || word == "single_device" ||
                            word == "singledevicestrategy";
    if (!replicated) return refuse_strategy(place);
    set_replicated(read_, place);
    for (const char* idle : {"find_unused_parameters", "gradient_as_bucket_view", "static_graph"})
      read_.find(strategy_key(idle));
  }

  void read_fsdp(const std::string& word) {
    const std::string key = strategy_key("sharding_strategy");
    std::string said(base::last_part(read_.text(key, "FULL_SHARD"), '.'));
    if (!read_sharding_strategy(read_, said, read_.has(key) ? key : strategy_place(), node_gpus_))
      return read_.refuse(key, kShardingStrategies);
    read_.set_default("master_weights", "true", "FSDP's mixed precision");
    if (!read_.has("program.loop"))
      read_.set_default("reduce_every_micro_batch", "true",
                        "Lightning's Trainer leaves out no reduction of FSDP's");
    for (const char* option : {"activation_checkpointing_policy", "activation_checkpointing"})
      if (const std::string policy = strategy_key(option); !is_off(read_.text(policy)))
        read_.set("recompute_granularity", "full", policy);
    if (const std::string offload = strategy_key("cpu_offload");
        word.ends_with("offload") || !is_off(read_.text(offload))) {
      read_.set("optimizer_cpu_offload", "true", offload);
      read_.not_modelled(word.ends_with("offload") ? std::string(strategy_place()) : offload,
                         kFsdpOnHost);
    }
    for (const char* idle :
         {"auto_wrap_policy", "state_dict_type", "use_orig_params", "limit_all_gathers"})
      read_.find(strategy_key(idle));
  }

  /// "deepspeed_stage_3_offload", DeepSpeedStrategy(stage=3, offload_optimizer=True)
  void read_deepspeed_strategy(const std::string& word) {
    constexpr std::string_view kStage = "deepspeed_stage_";
    const std::string stage_key = strategy_key("stage");
    std::string stage =
        word.starts_with(kStage) ? word.substr(kStage.size(), 1) : read_.text(stage_key, "2");
    const auto number = base::parse_integer(stage);
    if (!number || *number < 0 || *number > 3) return read_.refuse(stage_key, "0, 1, 2 or 3");
    for (const char* config : {"trainer.strategy.config", "trainer.strategy.init_args.config"})
      if (!is_off(read_.text(config)) || read_.has_section(config))
        return read_.refuse(config, "none: give DeepSpeed's JSON beside this file");
    const std::string place = read_.has(stage_key) ? stage_key : std::string(strategy_place());
    of_deepspeed_ = true;
    read_.set("zero", stage, place);
    set_deepspeed_defaults(*number, read_.file(), read_.reading());
    if (*number > 0) read_deepspeed_overlap(*number);
    const std::string offload = strategy_key("offload_optimizer");
    if (word.ends_with("_offload") || read_.flag(offload, false))
      read_.set("optimizer_cpu_offload", "true", place);
    const std::string parameters = strategy_key("offload_parameters");
    const bool by_word = word == "deepspeed_stage_3_offload";
    if (by_word || read_.flag(parameters, false))
      read_.not_modelled(by_word ? place : parameters, kParametersWait);
  }

  /// The strategy writes its own configuration, which overlaps at every stage, in buckets of 200
  /// million elements.
  void read_deepspeed_overlap(int64_t stage) {
    constexpr std::string_view kWhose = "DeepSpeedStrategy's default";
    const std::string overlap = strategy_key("overlap_comm");
    const std::string_view gathers = stage == 3 ? "true" : "false";
    read_.set_default("overlap_grad_reduce", "true", kWhose);
    read_.set_default("ddp_bucket_size", "200000000", kWhose);
    read_.copy_count(strategy_key("reduce_bucket_size"), "ddp_bucket_size");
    if (!read_.copy_flag(overlap, "overlap_grad_reduce")) return;
    read_.set("overlap_param_gather", read_.flag(overlap, true) ? std::string(gathers) : "false",
              overlap);
  }

  void read_model_parallel() {
    const std::string data = strategy_key("data_parallel_size"),
                      tensors = strategy_key("tensor_parallel_size");
    if (!read_.copy_count(tensors, "tensor_model_parallel_size"))
      read_.reading().open["tensor_model_parallel_size"] =
          fmt::format("{}: ModelParallelStrategy splits tensors over the GPUs of a node; give --tp",
                      read_.origin(strategy_place()).text);
    read_.copy_count(data, "data_parallel_size");
    read_sharding_strategy(read_, "full_shard", strategy_place());
  }

  void read_precision() {
    constexpr const char* kPrecision = "trainer.precision";
    const std::string word = base::lower(read_.text(kPrecision, "32-true"));
    const std::string_view format = word == "bf16" || word.starts_with("bf16-") ? "bf16"
                                    : word == "16" || word.starts_with("16-")   ? "fp16"
                                    : word == "32" || word.starts_with("32-")   ? "fp32"
                                    : word.starts_with("transformer-engine")    ? "fp8"
                                                                                : "";
    if (format.empty())
      return read_.refuse(kPrecision, "bf16-mixed, bf16-true, 16-mixed, 16-true, 32-true");
    read_.set("precision", std::string(format), kPrecision);
    const bool narrow = word == "bf16-true" || word == "16-true";
    if (narrow) read_.set("master_weights", "false", kPrecision);
    if (const auto tf32 = read_.said_flag("program.tf32"))
      read_.set_flag("tf32", *tf32, "program.tf32");
  }

  /// Of a program's own arguments: a published model's name, a loader's batch, a length.
  void read_own_words() {
    read_model_name();
    for (const auto& [key, value] : values_) {
      const std::string last(base::last_part(key, '.'));
      if (!is_own(key) || key == model_key_) continue;
      if (take_first(kBatchWords, last, "micro_batch_size", key) ||
          take_first(kLengthWords, last, "seq_length", key))
        continue;
      if (!key.starts_with("model.") && !key.starts_with("data.")) continue;
      if (divides_job(key)) continue;
      read_.find(key);
      if (last != "class_path") own_.push_back(key);
    }
    read_.copy("program.model", "model");
    if (read_.has("adapters.r")) read_lora(read_, "adapters.r", "adapters.target_modules");
    if (read_.flag("program.recomputes", false))
      read_.set("recompute_granularity", "full", "program.recomputes");
    if (own_.size() > kMostNames) own_.resize(kMostNames);
    if (!own_.empty())
      read_.note("words of the program itself, whose use of them is not read: {}",
                 fmt::join(own_, ", "));
    if (!read_.said().find("micro_batch_size"))
      read_.reading().open["micro_batch_size"] = fmt::format(
          "{}: how many sequences a process's loader takes is not said; give --mbs", read_.file());
    if (!read_.said().find("seq_length"))
      read_.reading().unsaid["seq_length"] = "how long sequences are is not said; --seq says it";
  }
  /// Words of the program itself, not of Lightning.
  static bool is_own(std::string_view key) {
    return !key.starts_with("trainer.") && !key.starts_with("program.") &&
           !key.starts_with("adapters.");
  }
  /// What the section of the model names comes before what that of the data does.
  void read_model_name() {
    for (const bool of_model : {true, false})
      for (const auto& [key, value] : values_)
        if (is_own(key) && key.starts_with("model.") == of_model && take_model(key, value.text))
          return;
  }
  bool take_model(const std::string& key, const std::string& name) {
    const std::string last(base::last_part(key, '.'));
    if (!base::contains(last, "model") && !base::contains(last, "name")) return false;
    for (const char* other : {"token", "data", "teacher"})
      if (base::contains(last, other)) return false;
    const auto* entry = spec::find_hub_model(name);
    if (entry == nullptr) return false;
    read_.find(key);
    read_.set("model", entry->name, key);
    model_key_ = key;
    return true;
  }
  template <class Words>
  bool take_first(const Words& words, const std::string& word, std::string_view setting,
                  const std::string& key) {
    return base::contains(words, std::string_view(word)) && !read_.said().find(setting) &&
           read_.copy_count(key, setting);
  }

  static constexpr size_t kMostNames = 8;

  const spec::FlatYaml& values_;
  FlatReader read_;
  int64_t node_gpus_ = 0;
  bool of_deepspeed_ = false;
  std::string model_key_;
  std::vector<std::string> own_;
};

/// What a program says of its Trainer, loaders and model, by the paths of LightningCLI's YAML.
class LightningProgram : PythonReader {
 public:
  explicit LightningProgram(PythonProgram& program) : PythonReader(program) {}

  Result<Reading> read() {
    ERGOMETER_TRY(add_trainer());
    add_batch();
    for (const auto& [at, open] : calls_of(text_, "LoraConfig"))
      if (runs(at)) add_adapters(at, open);
    add_model();
    add_switches();
    Result<Reading> reading = LightningReader(found_, file_).read();
    if (!reading) return reading;
    if (!model_is_open_.empty()) reading->open["model"] = model_is_open_;
    if (!values_.taken().empty())
      reading->notes.push_back(
          fmt::format("not set, taken as the file says: {} (--env NAME=VALUE "
                      "sets a variable, --script-args an argument)",
                      fmt::join(values_.taken(), ", ")));
    return reading;
  }

 private:
  bool runs(size_t at) {
    const std::string_view statement = statements_.statement(at);
    if (statement.starts_with("class ") || statement.starts_with("def ")) return false;
    return values_.reached(at, true).value_or(true);
  }
  void set(const std::string& key, std::string value, size_t at) {
    const int line = line_at(text_, at);
    found_.try_emplace(key,
                       spec::FlatValue{std::move(value), line, fmt::format("{}:{}", file_, line)});
  }
  /// The first that runs is the training's.
  Result<void> add_trainer() {
    std::vector<std::pair<size_t, size_t>> all;
    for (const char* name : {"Trainer", "Fabric"})
      for (const auto& call : calls_of(text_, name))
        if (runs(call.first)) all.push_back(call);
    if (all.empty()) return {};
    std::ranges::sort(all);
    const auto& [at, open] = all.front();
    if (all.size() > 1 && !values_.reached(at, true))
      return input_error(
          "{}:{}: which of the Trainers of lines {} and {} trains is known only when the script "
          "runs",
          file_, line_at(text_, at), line_at(text_, at), line_at(text_, all[1].first));
    if (text_.compare(at, 6, "Fabric") == 0) {
      const auto passes = calls_of(text_, "no_backward_sync");
      set("program.loop", passes.empty() ? "steps" : "accumulates",
          passes.empty() ? at : passes.front().first);
    }
    return add_call(at, open);
  }
  Result<void> add_call(size_t at, size_t open) {
    const std::string prefix = "trainer.";
    const std::string call = text_.substr(at, behind_bracket(text_, open) - at);
    add_python_call(python_, call, at, prefix, found_);
    found_.erase(prefix + "_target_");
    for (const PythonArgument& it : arguments_of_call(text_, open)) {
      if (it.value.starts_with("**")) ERGOMETER_TRY(add_spread(it, at));
      // One GPU by its number, as Lightning writes it in a word.
      if (it.name != "devices") continue;
      if (const auto value = values_.value(it.value, at); value && value->is_array())
        found_[prefix + it.name].text = yaml_text(*value).value_or(it.value) + ",";
    }
    add_strategy(at);
    return {};
  }
  /// Trainer(**common): the items of a dictionary that is known.
  Result<void> add_spread(const PythonArgument& argument, size_t at) {
    const auto items = values_.value(trimmed(std::string_view(argument.value).substr(2)), at);
    const bool known = items && items->is_object();
    if (known)
      for (const auto& [key, item] : items->items()) {
        const bool list = key == "devices" && item.is_array();
        const auto value = yaml_text(item);
        if (!value) return not_known(argument, at);
        set("trainer." + key, list ? *value + "," : *value, at);
      }
    return known ? Result<void>() : not_known(argument, at);
  }
  tl::unexpected<base::Error> not_known(const PythonArgument& argument, size_t at) const {
    return input_error(
        "{}:{}: Trainer's {} is known only when the script runs; a literal can be "
        "read",
        file_, line_at(text_, at), argument.value.substr(0, 60));
  }
  /// `strategy=strategy` of an object that was made above: the last that surely is.
  void add_strategy(size_t at) {
    constexpr const char* kStrategy = "trainer.strategy";
    const auto it = found_.find(kStrategy);
    if (it == found_.end()) return;
    std::optional<PythonBinding> last;
    for (const PythonBinding& made :
         values_.names().bindings(it->second.text, values_.names().scope(at)))
      if (made.at < at && values_.reached(made.at, true) != false) last = made;
    if (!last || !values_.reached(last->at, true)) return;
    const std::string& made = last->expression;
    if (const size_t open = made.find("Strategy("); open != made.npos)
      add_python_value(python_, made, last->at, kStrategy, found_);
  }
  /// The first loader that runs is the training's; one of whose size nothing is known leaves it
  /// open.
  void add_batch() {
    for (const auto& [at, open] : calls_of(text_, "DataLoader")) {
      if (!runs(at)) continue;
      const auto batch = argument_of(arguments_of_call(text_, open), "batch_size", 1);
      const auto value = batch ? values_.text(batch->value, at) : std::nullopt;
      if (value) set("loader.batch_size", *value, at);
      return;
    }
  }
  void add_adapters(size_t at, size_t open) {
    for (const PythonArgument& it : arguments_of_call(text_, open))
      if (it.name == "r" || it.name == "target_modules")
        set("adapters." + it.name, values_.text(it.value, at).value_or(it.value), at);
  }
  void add_model() {
    for (const auto& [at, open] : calls_of(text_, "from_pretrained")) {
      if (!runs(at)) continue;
      const std::string before = text_.substr(statements_.start(at), at - statements_.start(at));
      const auto arguments = arguments_of_call(text_, open);
      const bool loads = base::contains(before, "Model") || before.ends_with("LM.");
      if (!loads || arguments.empty()) continue;
      if (const auto name = values_.text(arguments[0].value, at)) set("program.model", *name, at);
    }
    const auto own = python_model(python_);
    if (own && *own) found_["program.model"] = **own;
    if (own) return;
    found_.erase("program.model");
    model_is_open_ = own.error().message;
  }
  void add_switches() {
    for (const auto& [at, open] : calls_of(text_, "set_float32_matmul_precision"))
      if (const auto given = arguments_of_call(text_, open); !given.empty() && runs(at))
        if (const auto word = values_.text(given[0].value, at))
          set("program.tf32", *word == "highest" ? "false" : "true", at);
    for (const auto& [at, open] : calls_of(text_, "gradient_checkpointing_enable"))
      if (runs(at)) set("program.recomputes", "true", at);
    for (const auto& [at, open] : calls_of(text_, "torch.compile"))
      if (runs(at)) set("program.compile", "true", at);
  }

  spec::FlatYaml found_;
  std::string model_is_open_;
};

/// `devices: [3]`, which is one GPU by its number, where `devices: 3` is three.
bool lists_devices(const std::string& text) {
  try {
    return spec::yaml_node(text)["trainer"]["devices"].IsSequence();
  } catch (const YAML::Exception&) {
    return false;
  }
}

}  // namespace

bool calls_lightning(const std::string& text) {
  const bool imports = base::contains(text, "import lightning") ||
                       base::contains(text, "from lightning") ||
                       base::contains(text, "pytorch_lightning");
  return imports && !base::contains(text, "nemo") &&
         (!calls_of(without_comments(text), "Trainer").empty() ||
          !calls_of(without_comments(text), "Fabric").empty());
}

Result<Reading> parse_lightning_python(const std::string& text, const std::string& file,
                                       PythonStart start) {
  PythonProgram program(without_comments(text), file, std::move(start));
  return LightningProgram(program).read();
}

Result<Reading> parse_lightning(const std::string& text, const std::string& file,
                                const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  if (const auto it = values.find("trainer.devices");
      it != values.end() && !overrides.contains(it->first) && lists_devices(text))
    it->second.text += ",";
  return LightningReader(values, file).read();
}

}  // namespace ergometer::intake
