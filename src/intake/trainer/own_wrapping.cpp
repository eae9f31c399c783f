#include "intake/trainer/own_wrapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"

namespace ergometer::intake {
namespace {

/// A class or function that wraps, and where its arguments stand behind the model.
struct Wrapper {
  std::string_view name, policy;  ///< the argument that says number formats
  bool shards;
};
constexpr std::array kWrappers =
    std::to_array<Wrapper>({{"FSDP", "mixed_precision", true},
                            {"FullyShardedDataParallel", "mixed_precision", true},
                            {"fully_shard", "mp_policy", true},
                            {"DDP", "", false},
                            {"DistributedDataParallel", "", false}});

/// "ShardingStrategy.FULL_SHARD", "torch.bfloat16": the last part.
std::string last_word(std::string_view text) { return base::lower(base::last_part(text, '.')); }

class WrappingReader : PythonReader {
 public:
  WrappingReader(PythonProgram& program, spec::FlatYaml& into)
      : PythonReader(program), into_(into) {}

  Result<void> read() {
    ERGOMETER_TRY(refuse_other_ways());
    ERGOMETER_TRY(refuse_several_wrappers());
    for (const Wrapper& it : kWrappers)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_left_out(at)) continue;
        if (!it.shards) read_copied(at, open);
        if (it.shards) ERGOMETER_TRY(read_sharded(it, at, open));
        break;
      }
    for (const char* name : {"apply_activation_checkpointing", "checkpoint_wrapper"})
      for (const auto& [at, open] : calls_of(text_, name))
        if (!is_left_out(at)) put("gradient_checkpointing", "true", at);
    return {};
  }

 private:
  /// Parallelism that a program sets up by itself beside what wraps its model.
  Result<void> refuse_other_ways() const {
    struct Other {
      std::string_view call, says;
    };
    constexpr std::array kOwnWays =
        std::to_array<Other>({{"parallelize_module", "tensor parallelism of its own"},
                              {"pipeline", "a pipeline of its own"},
                              {"PipelineStage", "a pipeline of its own"},
                              {"initialize", "sharding by DeepSpeed's own call"}});
    for (const Other& it : kOwnWays)
      for (const auto& [at, open] : calls_of(text_, it.call)) {
        // transformers' own pipeline(...) makes texts.
        if (it.call == "pipeline" && !base::contains(text_, "pipelining")) continue;
        if (it.call == "initialize" &&
            !std::string_view(text_).substr(0, at).ends_with("deepspeed."))
          continue;
        if (is_left_out(at)) continue;
        return input_error(
            "{}:{}: {}(...) is {}, which is not read of a program; give the job's layout as "
            "options "
            "(`ergometer simulate --help`)",
            file_, line_at(text_, at), it.call, it.says);
      }
    return {};
  }
  /// The arguments as they are written, to tell two calls apart.
  std::string arguments_text(size_t open) const {
    std::string text;
    const auto arguments = arguments_of_call(text_, open);
    for (size_t i = 0; i < arguments.size(); ++i)
      if (i > 0 || !arguments[i].name.empty())
        text += arguments[i].name + "=" + arguments[i].value + ",";
    return text;
  }
  /// Two ways to wrap of which only the run decides, or that are of several models.
  Result<void> refuse_several_wrappers() const {
    std::optional<size_t> first;
    std::string how;
    for (const Wrapper& it : kWrappers)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (is_left_out(at)) continue;
        const bool layers = it.name == "fully_shard" && values_.reached(at, true) == true;
        const std::string own =
            std::string(it.shards ? "sharded" : "copied") + (layers ? "" : arguments_text(open));
        if (first && own != how && (it.shards || how.starts_with("sharded")))
          return input_error(
              "{}:{}: {}(...) and what line {} wraps are two ways to shard a model, of which the "
              "script counts as one alone; give a copy of it with the one that is meant",
              file_, line_at(text_, at), it.name, line_at(text_, *first));
        if (!first) how = own;
        if (!first) first = at;
      }
    return {};
  }

  bool is_left_out(size_t at) const {
    const size_t line = text_.rfind('\n', at) + 1;
    const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
    return before == "def" || before == "class" || values_.reached(at, true) == false;
  }
  void put(const std::string& key, std::string text, size_t at) {
    into_.try_emplace(key, spec::FlatValue{std::move(text), line_at(text_, at)});
  }

  /// `**options` of a dictionary that is written once, and otherwise only handed on, as its items.
  std::vector<PythonArgument> with_items(const std::vector<PythonArgument>& arguments,
                                         size_t scope) const {
    std::vector<PythonArgument> all;
    for (const PythonArgument& it : arguments) {
      const std::string name = it.value.starts_with("**") ? it.value.substr(2) : "";
      const auto bindings = values_.names().bindings(name, scope);
      const bool is_once = bindings.size() == 1 && !values_.names().is_mutated(name, scope);
      const auto items = is_once ? dictionary_items(bindings.front().expression) : std::nullopt;
      if (!items) {
        all.push_back(it);
        continue;
      }
      for (const PythonArgument& item : *items) all.push_back({item.name, item.value, it.line});
    }
    return all;
  }
  /// The group of all GPUs, or a mesh of one dimension whose size is no literal:
  /// `init_device_mesh("cuda", (world_size,))`.
  bool is_of_all(const std::string& expression, size_t at) const {
    if (base::contains(expression, "WORLD")) return true;
    const std::string made = bound(expression, at);
    if (!made.starts_with("init_device_mesh(")) return false;
    const auto shape = argument_of(arguments_of_call(made, made.find('(')), "mesh_shape", 1);
    if (!shape || !shape->value.starts_with('(')) return false;
    const std::vector<PythonArgument> sizes = arguments_of_call(shape->value, 0);
    return sizes.size() == 1 && !base::parse_integer(sizes.front().value);
  }
  /// What a call that shards a model says by name.
  Result<spec::FlatYaml> arguments_by_name(const Wrapper& wrapper, size_t at, size_t open) {
    constexpr std::array kGroups =
        std::to_array<std::string_view>({"mesh", "device_mesh", "process_group"});
    spec::FlatYaml said;
    const std::vector<PythonArgument> arguments =
        with_items(arguments_of_call(text_, open), values_.names().scope(at));
    for (size_t i = 0; i < arguments.size(); ++i) {
      const PythonArgument& it = arguments[i];
      const bool is_group =
          base::contains(kGroups, it.name) && it.value != "None" && !is_of_all(it.value, at);
      if ((it.name.empty() && i > 0 && !it.value.starts_with("**")) || is_group)
        return input_error(
            "{}:{}: {}: found {}, which is not read; allowed: arguments by their names, over all "
            "GPUs, without a mesh of devices or a group of processes",
            file_, it.line, wrapper.name, (is_group ? it.name + "=" : "") + it.value.substr(0, 60));
      if (it.value.starts_with("**"))
        return input_error(
            "{}:{}: {}: found {}, which is known only when the script runs; a dictionary of "
            "literals that is written once can be read",
            file_, it.line, wrapper.name, it.value.substr(0, 60));
      if (!it.name.empty()) add_python_value(python_, bound(it.value, at), at, it.name, said);
    }
    return said;
  }

  void read_copied(size_t at, size_t open) {
    const auto pieces = argument_of(arguments_of_call(text_, open), "bucket_cap_mb", text_.npos);
    const auto size = pieces ? values_.text(pieces->value, at) : std::nullopt;
    if (size) put("ddp_bucket_cap_mb", *size, at);
  }

  Result<void> read_sharded(const Wrapper& wrapper, size_t at, size_t open) {
    ERGOMETER_ASSIGN(const spec::FlatYaml said, arguments_by_name(wrapper, at, open));
    const auto word = [&](const std::string& key) {
      const auto found = said.find(key);
      return found == said.end() || is_off(found->second.text) ? "" : last_word(found->second.text);
    };
    std::string strategy = word("sharding_strategy");
    constexpr std::array kStrategies = std::to_array<std::string_view>(
        {"full_shard", "shard_grad_op", "hybrid_shard", "no_shard"});
    if (strategy.empty()) strategy = kStrategies[0];
    if (word("reshard_after_forward").empty() && said.contains("reshard_after_forward"))
      strategy = kStrategies[1];
    // FSDP2's number of ranks that keep a layer's parameters is none of the two.
    if (const std::string keeps = word("reshard_after_forward");
        !keeps.empty() && keeps != "true" && keeps != "none")
      return input_error(
          "{}:{}: reshard_after_forward: found {}; allowed: True, False, as a literal", file_,
          line_at(text_, at), keeps.substr(0, 60));
    if (!base::contains(kStrategies, strategy))
      return input_error("{}:{}: sharding_strategy: found {}; allowed: {}, as a literal", file_,
                         line_at(text_, at), strategy.substr(0, 60), kShardingStrategies);
    if (strategy != "no_shard") {
      put("fsdp", strategy + " auto_wrap", at);
      if (!base::contains(text_, "no_sync(") &&
          !base::contains(text_, "set_requires_gradient_sync("))
        put(kReducesEach, "true", at);
    }
    const std::string policy(wrapper.policy);
    if (said.contains(policy) || said.contains(policy + "._target_")) {
      const std::string type = word(policy + ".param_dtype");
      if (type != "bfloat16" && type != "float16" && type != "float32" && !type.empty())
        return input_error(
            "{}:{}: {}: param_dtype: found {}, which is known only when the script "
            "runs; allowed: torch.bfloat16, torch.float16, torch.float32",
            file_, line_at(text_, at), policy, type.substr(0, 60));
      if (said.contains(policy) && word(policy) != "none" && !word(policy).empty())
        return input_error(
            "{}:{}: {}: found {}, which is known only when the script runs; "
            "MixedPrecision(param_dtype=...) can be read",
            file_, line_at(text_, at), policy, word(policy).substr(0, 60));
      if (type == "bfloat16" || type == "float16")
        put(type == "bfloat16" ? "bf16" : "fp16", "true", at);
      ERGOMETER_TRY(read_reduction(policy, word(policy + ".reduce_dtype"), at));
    }
    // FSDP2 says it by a class.
    const bool by_policy = word("offload_policy._target_") == "cpuoffloadpolicy";
    if (by_policy || word("cpu_offload") == "true" || word("cpu_offload.offload_params") == "true")
      put("fsdp_config.offload_params", "true", at);
    return {};
  }
  /// Where nothing is said, gradients are reduced in the type that is computed in.
  Result<void> read_reduction(const std::string& policy, const std::string& type, size_t at) {
    if (type.empty()) return {};
    if (type != "bfloat16" && type != "float16" && type != "float32")
      return input_error(
          "{}:{}: {}: reduce_dtype: found {}, which is known only when the script runs; allowed: "
          "torch.bfloat16, torch.float16, torch.float32",
          file_, line_at(text_, at), policy, type.substr(0, 60));
    put(kReducesIn, type, at);
    return {};
  }
  /// What a name is bound to where that is once.
  std::string bound(const std::string& expression, size_t at) const {
    const auto bindings = values_.names().bindings(expression, values_.names().scope(at));
    return bindings.size() == 1 ? bindings.front().expression : expression;
  }

  spec::FlatYaml& into_;
};

}  // namespace

bool wraps_model(const std::string& text) {
  const std::string code = without_comments(text);
  return base::contains(code, "from_pretrained(") &&
         std::ranges::any_of(kWrappers,
                             [&](const Wrapper& it) { return !calls_of(code, it.name).empty(); });
}

Result<void> add_own_wrapping(PythonProgram& program, spec::FlatYaml& into) {
  return WrappingReader(program, into).read();
}

}  // namespace ergometer::intake
