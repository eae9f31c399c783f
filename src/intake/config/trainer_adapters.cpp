#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/trainer_arguments.h"
#include "spec/recipe/recipe.h"

// Adapters, and quantized weights under them, in the words of the Trainer's front ends.

namespace ergometer::intake {
namespace {

class TrainerAdapters {
 public:
  TrainerAdapters(FlatReader& read, TrainerKind kind) : read_(read), kind_(kind) {}

  void read() {
    read_adapters_of_chat();
    const auto rank = read_.present({"lora_r", "lora_rank", "r"});
    const auto targets = read_.present({"lora_target_modules", "lora_target"});
    const std::string tuning = base::lower(read_.text("finetuning_type"));
    const auto used = read_.said_flag("use_peft"), older = read_.said_flag("use_lora");
    if (!tuning.empty() && tuning != "lora" && tuning != "full")
      read_.refuse("finetuning_type", "lora, full: other ways to tune are not modelled");
    const auto enabled = read_.said_flag("lora_enable");
    bool adapts = !rank.empty() && tuning != "full" && used.value_or(true) &&
                  older.value_or(true) && enabled.value_or(true);
    if (rank.empty() && kind_ != TrainerKind::kLlamaFactory)
      adapts = read_unranked(used, older, enabled);
    if (kind_ == TrainerKind::kLlamaFactory && tuning != "full") {
      adapts = true;
      if (rank.empty())
        read_.reading().settings.set("lora", "8", {read_.file() + ", LLaMA-Factory's default", ""});
      if (targets.empty())
        read_.reading().settings.set("lora_targets", kAllLinear,
                                     {read_.file() + ", LLaMA-Factory's default", ""});
    }
    const bool by_factory = kind_ == TrainerKind::kLlamaFactory && targets.empty();
    if (adapts && by_factory) read_.copy_count(rank, "lora");
    if (adapts && !rank.empty() && !by_factory)
      read_lora(read_, rank, targets.empty() ? "lora_target_modules" : targets);
    if (adapts && rank.empty() && !targets.empty() &&
        !read_lora_targets(read_, targets, read_.text(targets)))
      return;
    if (read_.find("requires_grad") != nullptr && !adapts)
      read_.not_modelled("requires_grad", "memory and time: parts of the model are not trained");
    if (adapts && !rank.empty() && !used && !older && !enabled && tuning.empty())
      read_.note("{} is taken to mean that adapters are trained", rank);
    read_quantization(adapts);
  }

 private:
  /// DeepSpeed-Chat names modules by a part of their path, which all linear layers have.
  void read_adapters_of_chat() {
    const auto rank = read_.integer("lora_dim", 0);
    const bool alone = read_.flag("only_optimize_lora", false);
    read_.find("lora_module_name");
    if (rank.value_or(0) == 0) return;
    read_.set_count("lora", *rank, "lora_dim");
    read_.set("lora_targets", kAllLinear, "lora_module_name");
    if (!alone)
      read_.not_modelled("lora_dim",
                         "memory and time: the model is trained beside its adapters; predicted as "
                         "frozen");
  }

  /// LLaMA-Factory quantizes scales too unless it is told not to; Trainer's scripts where they say.
  void read_quantization(bool adapts) {
    const bool factory = kind_ == TrainerKind::kLlamaFactory;
    const auto twice =
        read_.present({"bnb_4bit_use_double_quant", "use_bnb_nested_quant", "double_quantization"});
    const bool nested = twice.empty() ? factory : read_.flag(twice, factory);
    for (const char* key : {"load_in_4bit", "load_in_8bit", "quantization_bit"}) {
      const std::string value = read_.text(key);
      if (is_off(value)) continue;
      const bool four = key == std::string_view("load_in_4bit") || value == "4";
      if (!adapts)
        read_.refuse(key, "false without adapters: quantized weights are not trained");
      else
        read_.set("quantize", !four ? "int8" : nested ? "nf4-dq" : "nf4", key);
    }
    // Unsloth's uploads, "...-bnb-4bit", say it themselves.
    const auto model = read_.present({"model_name_or_path", "model_id", "model_name"});
    const bool said = !read_.present({"load_in_4bit", "load_in_8bit", "quantization_bit"}).empty();
    if (said || model.empty() || !base::contains(base::lower(read_.text(model)), "bnb-4bit"))
      return;
    if (adapts)
      read_.set("quantize", "nf4-dq", model);
    else
      read_.refuse(model, "a model in 16 bit without adapters: quantized weights are not trained");
  }

  /// A switch alone: TRL's --use_peft has a rank by default; every script's own switch has another.
  bool read_unranked(std::optional<bool> trl, std::optional<bool> older,
                     std::optional<bool> enabled) {
    if (trl.value_or(false)) {
      read_.set("lora", "16", "use_peft");
      read_.set_default("lora_targets", kPeftTargets, "PEFT's default: queries and values");
      read_.note("use_peft says no rank: 16, TRL's default, is taken, and --lora N says another");
      return true;
    }
    const std::string_view own = older.value_or(false)     ? "use_lora"
                                 : enabled.value_or(false) ? "lora_enable"
                                                           : "";
    if (own.empty()) return false;
    read_.set_default("lora_targets", kPeftTargets, "PEFT's default: queries and values");
    read_.reading().open["lora"] = fmt::format(
        "{}: {} trains adapters, and of which rank stands in the program, which is not read; give "
        "--lora N (and --lora-targets, if not queries, keys and values)",
        read_.origin(own).text, own);
    return true;
  }

  FlatReader& read_;
  TrainerKind kind_;
};

}  // namespace

void read_trainer_adapters(FlatReader& read, TrainerKind kind) {
  TrainerAdapters(read, kind).read();
}

}  // namespace ergometer::intake
