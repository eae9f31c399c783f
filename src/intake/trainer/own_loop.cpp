#include "intake/trainer/own_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_changes.h"
#include "intake/reader/python_names.h"
#include "intake/reader/python_objects.h"
#include "intake/trainer/own_wrapping.h"

namespace ergometer::intake {
namespace {

class OwnLoopReader : ProgramPart {
 public:
  explicit OwnLoopReader(ProgramText& from) : ProgramPart(from) {}

  /// How often a loop of its own steps is not followed.
  Result<void> read_wrapping() {
    constexpr const char* kPasses = "gradient_accumulation_steps";
    ERGOMETER_TRY(add_own_wrapping(python_, program_.values));
    ERGOMETER_TRY(refuse_generation());
    const size_t at = std::min(text_.find("accum"), counted_step());
    if (calls_of(text_, "Accelerator").empty() && at != text_.npos) {
      program_.values.try_emplace(kPasses, spec::FlatValue{"auto", 0});
      leave_open(kPasses, line_at(text_, at), "how often its loop accumulates gradients", "--ga");
    } else if (calls_of(text_, "Accelerator").empty()) {
      program_.notes.push_back(fmt::format(
          "{}: its loop is taken to step with every batch; --ga says otherwise", file_));
    }
    return {};
  }

  /// Without the Trainer's arguments its defaults do not hold: the program's own loop, on
  /// accelerate or alone, says batches and number formats elsewhere.
  void read() {
    read_optimizer();
    std::string precision = read_autocast();
    for (const auto& [at, open] : calls_of(text_, "Accelerator")) {
      if (is_definition(at) || values_.reached(at, true) == false) continue;
      for (const PythonArgument& it : arguments_of_call(text_, open))
        read_accelerator(it, at, precision);
    }
    for (const char* format : {"bf16", "fp16", "fp8"})
      if (precision == format || (precision == "auto" && format != std::string_view("fp8")))
        program_.values.try_emplace(format,
                                    spec::FlatValue{precision == format ? "true" : "auto", 0});
    read_loader();
  }

 private:
  /// torch.autocast("cuda", dtype=torch.bfloat16), in FP16 where no format is said; "" without,
  /// "auto" where it is not known.
  std::string read_autocast() {
    for (const auto& [at, open] : calls_of(text_, "autocast")) {
      const std::string_view statement = statements_.statement(at);
      // accelerate's own is in what it is told.
      if (is_definition(at) || base::contains(statement, "accelerator.")) continue;
      const auto reached = values_.reached(at, true);
      if (reached == false) continue;
      // Whether it is on is the first argument there, and the third elsewhere.
      const size_t on_at = base::contains(statement, "cuda.amp.") ||
                                   base::contains(text_, "cuda.amp import autocast")
                               ? 0
                               : 2;
      const auto arguments = arguments_of_call(text_, open);
      const auto on = argument_of(arguments, "enabled", on_at),
                 type = argument_of(arguments, "dtype", 1);
      const auto is_on = on ? values_.text(on->value, at) : std::optional<std::string>("true");
      const auto format = type ? values_.text(type->value, at) : std::optional<std::string>("half");
      if (is_on == "false" || format == "float32" || format == "float") continue;
      if (!reached) {
        leave_open("precision", line_at(text_, at), "whether autocast is reached", "--precision");
        return "auto";
      }
      if (is_on && format) return *format == "bfloat16" ? "bf16" : "fp16";
      const PythonArgument& unknown = is_on ? *type : *on;
      leave_open("precision", unknown.line, "autocast's " + unknown.value, "--precision");
      return "auto";
    }
    return "";
  }

  /// Of Accelerator(...): a number format (as of `read_autocast`), passes, whose batches it splits.
  void read_accelerator(const PythonArgument& it, size_t at, std::string& precision) {
    constexpr const char* kPasses = "gradient_accumulation_steps";
    constexpr std::array kRead = std::to_array<std::string_view>(
        {"mixed_precision", kPasses, "gradient_accumulation_plugin", "split_batches", "fsdp_plugin",
         "deepspeed_plugin", "deepspeed_plugins"});
    tell_misspelt(it.name, it.line, kRead);
    const auto value = values_.text(it.value, at);
    if (it.name == "mixed_precision" && value && *value != "no" && *value != "None")
      precision = *value;
    if (it.name == "mixed_precision" && !value) {
      precision = "auto";
      leave_open("precision", it.line, "Accelerator's " + it.value, "--precision");
    }
    if (it.name == kPasses) {
      const bool known = value && base::parse_integer(*value);
      program_.values.try_emplace(kPasses, spec::FlatValue{known ? *value : "auto", it.line});
      if (!known) leave_open(kPasses, it.line, "Accelerator's " + it.value, "--ga");
    }
    if (it.name == "gradient_accumulation_plugin" && value != "None") read_accumulation(it, at);
    if (it.name == "split_batches" && value != "false")
      program_.open[kOpenBatch] = fmt::format(
          "{}:{}: split_batches: a loader's batch is that of all GPUs together; give --mbs", file_,
          it.line);
    if ((it.name == "fsdp_plugin" || it.name == "deepspeed_plugin") && value != "None" &&
        !read_plugin(it, at))
      program_.leftovers.push_back(
          {Leftover::Kind::kNotModelled, it.name, fmt::format("{}:{}", file_, it.line),
           "memory and time: how states are sharded; predicted as copied to every GPU, --fsdp "
           "or --zero says otherwise"});
  }

  /// What a plugin of accelerate's is made of.
  struct Plugin {
    spec::FlatYaml said;                ///< by "plugin.sharding_strategy"
    std::vector<PythonArgument> given;  ///< as they are written
    size_t place = 0;
    int line = 0;

    std::string word(const char* name) const {
      const auto found = said.find(std::string("plugin.") + name);
      return found == said.end() || is_off(found->second.text) ? "" : found->second.text;
    }
    std::optional<PythonArgument> argument(const char* name) const {
      return argument_of(given, name, given.size());
    }
  };
  bool is_known(const Plugin& plugin, const char* name) {
    const auto found = plugin.argument(name);
    return !found || values_.text(found->value, plugin.place);
  }
  void take(const Plugin& plugin, const char* key, const std::string& text) {
    if (!text.empty()) program_.values[key] = {text, plugin.line};
  }
  /// What is made there, or in a name that is bound once; without a line where that is not known.
  Plugin plugin_of(const PythonArgument& it, size_t at) {
    std::string made = it.value;
    Plugin plugin;
    plugin.place = at;
    const auto bindings = values_.names().bindings(made, values_.names().scope(at));
    if (bindings.size() == 1 && values_.reached(bindings.front().at, true) == true) {
      made = bindings.front().expression;
      plugin.place = bindings.front().at;
    }
    add_python_value(python_, made, plugin.place, "plugin", plugin.said);
    const auto kind = plugin.said.find("plugin._target_");
    if (kind == plugin.said.end()) return plugin;
    plugin.line = kind->second.line;
    plugin.given = arguments_of_call(made, made.find('('));
    return plugin;
  }
  /// FullyShardedDataParallelPlugin(...) or DeepSpeedPlugin(...); false where what it is made of is
  /// not known.
  bool read_plugin(const PythonArgument& it, size_t at) {
    const Plugin plugin = plugin_of(it, at);
    if (plugin.line == 0) return false;
    // Its module stands in front.
    const std::string_view name =
        base::last_part(plugin.said.find("plugin._target_")->second.text, '.');
    if (name == "FullyShardedDataParallelPlugin") return read_fsdp_plugin(plugin);
    return name == "DeepSpeedPlugin" && read_deepspeed_plugin(plugin);
  }
  /// GradientAccumulationPlugin(num_steps=4, sync_each_batch=True).
  void read_accumulation(const PythonArgument& it, size_t at) {
    constexpr const char* kPasses = "gradient_accumulation_steps";
    const Plugin plugin = plugin_of(it, at);
    const auto given = plugin.line > 0 ? argument_of(plugin.given, "num_steps", 0) : std::nullopt;
    const auto steps = given ? values_.text(given->value, plugin.place) : std::nullopt;
    const bool known = steps && base::parse_integer(*steps);
    program_.values[kPasses] = {known ? *steps : "auto", it.line};
    if (!known) leave_open(kPasses, it.line, "Accelerator's " + it.value, "--ga");
    if (base::lower(plugin.word("sync_each_batch")) == "true") take(plugin, kSyncsEach, "true");
  }
  bool read_fsdp_plugin(const Plugin& plugin) {
    constexpr std::array kRead = std::to_array<std::string_view>(
        {"sharding_strategy", "reshard_after_forward", "activation_checkpointing", "cpu_offload"});
    for (const PythonArgument& it : plugin.given) tell_misspelt(it.name, plugin.line, kRead);
    std::string strategy = base::lower(plugin.word("sharding_strategy"));
    strategy.erase(0, strategy.rfind('.') + 1);  // npos + 1 is 0
    constexpr std::array kStrategies = std::to_array<std::string_view>(
        {"", "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2",
         "_hybrid_shard_zero2", "1", "2", "3", "4", "5"});
    if (!base::contains(kStrategies, strategy) || !is_known(plugin, "activation_checkpointing") ||
        !is_known(plugin, "reshard_after_forward"))
      return false;
    // CPUOffload(offload_params=True), or True alone.
    auto offload = plugin.argument("cpu_offload");
    if (offload && plugin.said.contains("plugin.cpu_offload._target_"))
      offload = argument_of(arguments_of_call(offload->value, offload->value.find('(')),
                            "offload_params", 0);
    const auto offloads = offload ? values_.text(offload->value, plugin.place) : "false";
    if (!offloads) return false;
    const auto reshards = plugin.said.find("plugin.reshard_after_forward");
    const bool keeps = reshards != plugin.said.end() && is_off(reshards->second.text);
    take(plugin, "fsdp", keeps ? "shard_grad_op" : strategy.empty() ? "full_shard" : strategy);
    take(plugin, "fsdp_config.activation_checkpointing", plugin.word("activation_checkpointing"));
    if (!is_off(*offloads)) take(plugin, "fsdp_config.offload_params", *offloads);
    return true;
  }
  bool read_deepspeed_plugin(const Plugin& plugin) {
    constexpr std::array kRead =
        std::to_array<std::string_view>({"hf_ds_config", "zero_stage", "offload_optimizer_device",
                                         "offload_param_device", "gradient_accumulation_steps"});
    for (const PythonArgument& it : plugin.given) tell_misspelt(it.name, plugin.line, kRead);
    for (const char* argument :
         {"hf_ds_config", "zero_stage", "offload_optimizer_device", "offload_param_device"})
      if (!is_known(plugin, argument)) return false;
    take(plugin, "deepspeed", plugin.word("hf_ds_config"));
    if (!plugin.word("hf_ds_config").empty()) return true;
    const auto stage = plugin.said.find("plugin.zero_stage");
    take(plugin, "deepspeed.zero_optimization.stage",
         stage == plugin.said.end() ? "2" : stage->second.text);
    take(plugin, "deepspeed.zero_optimization.offload_optimizer.device",
         plugin.word("offload_optimizer_device"));
    take(plugin, "deepspeed.zero_optimization.offload_param.device",
         plugin.word("offload_param_device"));
    // Accelerator's own mixed_precision says it.
    take(plugin, "deepspeed.bf16.enabled", "auto");
    constexpr const char* kPasses = "gradient_accumulation_steps";
    const bool known = is_known(plugin, kPasses);
    take(plugin, kPasses, known ? plugin.word(kPasses) : "auto");
    if (!known)
      leave_open(kPasses, plugin.line, "DeepSpeedPlugin's " + plugin.word(kPasses), "--ga");
    return true;
  }

  /// Texts that a model makes between its steps are reinforcement's.
  Result<void> refuse_generation() {
    for (const auto& [at, open] : calls_of(text_, "generate")) {
      if (!is_method(at) || values_.reached(at, true) == false) continue;
      for (const size_t head : statements_.around(at)) {
        const std::string_view statement = statements_.statement(head);
        if (statement.starts_with("if ")) break;
        const bool loops = statement.starts_with("for ") || statement.starts_with("while ");
        const std::string_view body =
            std::string_view(text_).substr(head, statements_.end_of_block(head) - head);
        if (loops && base::contains(body, ".backward("))
          return input_error("{}:{}: generate(...) in a loop that trains is {}", file_,
                             line_at(text_, at), kIsReinforcement);
      }
    }
    return {};
  }

  /// Where the optimizer steps under a condition that counts: `if (i + 1) % 8 == 0:`, or behind one
  /// that goes on with the next batch; npos: nowhere.
  size_t counted_step() const {
    const auto counts = [&](size_t head) {
      const std::string_view statement = statements_.statement(head);
      return statement.starts_with("if ") && base::contains(statement, "%");
    };
    for (const auto& [at, open] : calls_of(text_, "step")) {
      const std::string_view before = std::string_view(text_).substr(0, at);
      const size_t line = before.rfind('\n') + 1;  // npos + 1 is 0
      if (!is_method(at) || base::contains(before.substr(line), "sched")) continue;
      const size_t own = statements_.start(at);
      if (counts(own)) return at;
      for (const size_t head : statements_.around(at))
        if (counts(head)) return at;
      for (size_t other = statements_.previous(own); other != text_.npos;
           other = statements_.previous(other))
        if (counts(other) && base::contains(std::string_view(text_).substr(
                                                other, statements_.end_of_block(other) - other),
                                            "continue"))
          return at;
    }
    return text_.npos;
  }

  /// The class that makes the optimizer, as the Trainer's word.
  void read_optimizer() {
    struct Optimizer {
      std::string_view made_by, word;
    };
    constexpr std::array kOptimizers =
        std::to_array<Optimizer>({{"SGD", "sgd"},
                                  {"Adam8bit", "adamw_bnb_8bit"},
                                  {"AdamW8bit", "adamw_bnb_8bit"},
                                  {"PagedAdam8bit", "paged_adamw_8bit"},
                                  {"PagedAdamW8bit", "paged_adamw_8bit"},
                                  {"Adafactor", "adafactor"},
                                  {"Lion", "lion_32bit"},
                                  {"Lion8bit", "lion_8bit"},
                                  {"Muon", "muon"},
                                  {"RMSprop", "rmsprop"}});
    for (const Optimizer& it : kOptimizers)
      for (const auto& [at, open] : calls_of(text_, it.made_by))
        if (!is_definition(at) && values_.reached(at, true) != false)
          program_.values.try_emplace("optim",
                                      spec::FlatValue{std::string(it.word), line_at(text_, at)});
    read_optimizer_of_few_bits();
  }
  /// bitsandbytes' AdamW(..., optim_bits=8).
  void read_optimizer_of_few_bits() {
    if (!base::contains(text_, "optim_bits")) return;
    for (const char* name : {"Adam", "AdamW"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at) || values_.reached(at, true) == false) continue;
        const auto bits = argument_of(arguments_of_call(text_, open), "optim_bits", text_.npos);
        if (bits && values_.text(bits->value, at) == "8")
          program_.values.try_emplace("optim", spec::FlatValue{"adamw_bnb_8bit", bits->line});
      }
  }

  /// The first loader that runs is the training's.
  void read_loader() {
    constexpr const char* kBatch = "per_device_train_batch_size";
    for (const auto& [at, open] : calls_of(text_, "DataLoader")) {
      if (is_definition(at) || values_.reached(at, true) == false) continue;
      const auto batch = argument_of(arguments_of_call(text_, open), "batch_size", 1);
      const auto value = batch ? values_.text(batch->value, at) : std::nullopt;
      const bool known =
          value && base::parse_integer(*value) && !program_.open.contains(kOpenBatch);
      if (known) program_.values.try_emplace(kBatch, spec::FlatValue{*value, batch->line});
      break;
    }
    if (program_.values.contains(kBatch)) return;
    // Neither a number nor the Trainer's default.
    program_.values[kBatch] = {"auto", 0};
    program_.open.try_emplace(
        kOpenBatch,
        fmt::format(
            "{}: its own loop says how many sequences a process takes, which is not known here; "
            "give --mbs",
            file_));
  }

  static constexpr const char* kOpenBatch = "micro_batch_size";
};

}  // namespace

Result<void> read_own_wrapping(ProgramText& program) {
  return OwnLoopReader(program).read_wrapping();
}

void read_own_loop(ProgramText& program) { OwnLoopReader(program).read(); }

}  // namespace ergometer::intake
