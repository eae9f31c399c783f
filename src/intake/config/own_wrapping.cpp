#include "intake/config/own_wrapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
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
std::string last_part(std::string_view text) {
  return base::lower(text.substr(text.rfind('.') + 1));  // npos + 1 is 0
}

class WrappingReader {
 public:
  WrappingReader(PythonValues& values, const std::string& text, const std::string& file,
                 spec::FlatYaml& into)
      : python_(values), text_(text), file_(file), into_(into) {}

  Result<void> read() {
    for (const Wrapper& it : kWrappers)
      for (const auto& [at, open] : calls_of(text_, it.name)) {
        if (!it.shards || is_left_out(at)) continue;
        ERGOMETER_TRY(read_sharded(it, at, open));
        break;
      }
    for (const char* name : {"apply_activation_checkpointing", "checkpoint_wrapper"})
      for (const auto& [at, open] : calls_of(text_, name))
        if (!is_left_out(at)) put("gradient_checkpointing", "true", at);
    return {};
  }

 private:
  bool is_left_out(size_t at) const {
    const size_t line = text_.rfind('\n', at) + 1;
    const std::string before = trimmed(std::string_view(text_).substr(line, at - line));
    return before == "def" || before == "class" || python_.reached(at, true) == false;
  }
  void put(const std::string& key, std::string text, size_t at) {
    into_.try_emplace(key, spec::FlatValue{std::move(text), line_at(text_, at)});
  }

  Result<void> read_sharded(const Wrapper& wrapper, size_t at, size_t open) {
    spec::FlatYaml said;
    for (const PythonArgument& it : arguments_of_call(text_, open)) {
      if (it.value.starts_with("**"))
        return input_error(
            "{}:{}: {}: found {}, which is known only when the script runs; write its arguments "
            "out",
            file_, it.line, wrapper.name, it.value.substr(0, 60));
      if (!it.name.empty())
        add_python_value(python_, text_, file_, bound(it.value, at), at, it.name, said);
    }
    const auto word = [&](const std::string& key) {
      const auto found = said.find(key);
      return found == said.end() || is_off(found->second.text) ? "" : last_part(found->second.text);
    };
    std::string strategy = word("sharding_strategy");
    constexpr std::array kStrategies = std::to_array<std::string_view>(
        {"full_shard", "shard_grad_op", "hybrid_shard", "no_shard"});
    if (strategy.empty()) strategy = kStrategies[0];
    if (word("reshard_after_forward").empty() && said.contains("reshard_after_forward"))
      strategy = kStrategies[1];
    if (!base::contains(kStrategies, strategy))
      return input_error("{}:{}: sharding_strategy: found {}; allowed: {}, as a literal", file_,
                         line_at(text_, at), strategy.substr(0, 60),
                         "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, NO_SHARD");
    if (strategy != "no_shard") put("fsdp", strategy + " auto_wrap", at);
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
    }
    if (word("cpu_offload") == "true" || word("cpu_offload.offload_params") == "true")
      put("fsdp_config.offload_params", "true", at);
    return {};
  }
  /// What a name is bound to where that is once.
  std::string bound(const std::string& expression, size_t at) const {
    const auto bindings = python_.names().bindings(expression, python_.names().scope(at));
    return bindings.size() == 1 ? bindings.front().expression : expression;
  }

  PythonValues& python_;
  const std::string& text_;
  const std::string& file_;
  spec::FlatYaml& into_;
};

}  // namespace

bool wraps_model(const std::string& text) {
  const std::string code = without_comments(text);
  return base::contains(code, "from_pretrained(") &&
         std::ranges::any_of(kWrappers,
                             [&](const Wrapper& it) { return !calls_of(code, it.name).empty(); });
}

Result<void> add_own_wrapping(PythonValues& values, const std::string& text,
                              const std::string& file, spec::FlatYaml& into) {
  return WrappingReader(values, text, file, into).read();
}

}  // namespace ergometer::intake
