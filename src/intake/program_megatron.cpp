// Megatron-LM's programs, and those of DeepSpeed's fork.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/megatron_arguments.h"
#include "intake/megatron_names.h"
#include "intake/program_reader.h"

namespace ergometer::intake {
namespace {

constexpr ArgumentKnowledge kOfMegatron = {megatron_reads, megatron_switch};

/// argparse stops at a word behind a switch, and at a second one behind a number. What begins with
/// a dash may be a short option of the program's own.
Result<void> check_values(const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    if (argument.list.empty() || !argument.unknown.empty()) continue;
    const bool alone = megatron_switch(argument.name);
    const bool several = argument.list != argument.value && megatron_number(argument.name);
    const std::string_view stray =
        std::string_view(argument.list)
            .substr(alone ? 0 : argument.value.size() + (several ? 1 : 0));
    if ((!alone && !several) || stray.starts_with('-')) continue;
    std::string found = argument.list.substr(0, 60);
    std::ranges::replace(found, ',', ' ');
    return input_error("{}: --{}: found \"{}\"; allowed: {}", argument.where,
                       base::dashed(argument.name), found,
                       alone ? "nothing behind it, for it is a switch" : "one number");
  }
  return {};
}

}  // namespace

bool ProgramReader::is_megatron() const {
  for (const char* part : {"pretrain", "megatron", "train_gpt", "finetune_gpt"})
    if (base::contains(base::lower(launch_.program), part)) return true;
  constexpr std::array kOwn = std::to_array<std::string_view>(
      {"num_layers", "hidden_size", "num_attention_heads", "seq_length", "micro_batch_size",
       "global_batch_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
       "train_iters", "train_samples", "use_mcore_models", "use_distributed_optimizer",
       "use_checkpoint_args", "transformer_impl", "deepspeed_config"});
  int own = 0;
  for (size_t i = 0; i < names_.size(); ++i)
    if (base::contains(kOwn, names_[i]) &&
        launch_.arguments[i].text.substr(0, names_[i].size() + 2).find('_') == std::string::npos)
      ++own;
  return own > 1;
}

Result<Reading> ProgramReader::megatron() {
  for (const char* other : {"bert", "_t5", "retro", "vision", "ict", "vlm", "multimodal"})
    if (base::contains(launch_.program, other))
      return refuse("trains no decoder of text alone, which is all that is modelled");
  if (is_slime_fine_tuning() && gives("train_backend", "fsdp"))
    return refuse("trains by slime's FSDP, whose words are not read; Megatron-LM's are");
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kOfMegatron));
  ERGOMETER_TRY(check_values(arguments));
  ERGOMETER_ASSIGN(Reading reading, read_megatron(arguments, run_.session.name));
  choose_attention(reading.settings);
  if (is_slime_fine_tuning())
    read_slime(reading);
  else
    count_alone({}, false, reading);
  for (const Argument& argument : arguments) {
    if (argument.name != "deepspeed_config" || !has("deepspeed")) continue;
    const auto text = text_of(argument.value, line_of("deepspeed_config"), "--deepspeed_config");
    if (!text && has("zero_stage")) {
      // The stage is what the file is read for; DeepSpeed holds both to be equal.
      reading.notes.push_back(
          fmt::format("--zero-stage is taken, not DeepSpeed's file: {}", text.error().message));
      continue;
    }
    if (!text) return tl::unexpected(text.error());
    ERGOMETER_ASSIGN(Reading deepspeed, parse_deepspeed(*text, argument.value));
    // The arguments say batches and model; how states are sharded stands in the file.
    for (const char* name : {"zero", "optimizer_cpu_offload", "ddp_bucket_size",
                             "grad_reduce_in_bf16", "overlap_grad_reduce", "overlap_param_gather"})
      if (const auto* value = deepspeed.settings.find(name);
          value != nullptr && (name != std::string_view("zero") || !has("zero_stage") ||
                               shards_without_zero(*value, reading)))
        reading.settings.set(name, value->text, value->origin);
    reading.leftovers.insert(reading.leftovers.end(), deepspeed.leftovers.begin(),
                             deepspeed.leftovers.end());
  }
  return reading;
}

bool ProgramReader::gives(std::string_view name, std::string_view value) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name && value_of(i) == value) return true;
  return false;
}

bool ProgramReader::is_slime_fine_tuning() const { return gives("loss_type", "sft_loss"); }

/// What slime tells Megatron-LM by itself (its set_default_megatron_args): BF16 and the distributed
/// optimizer always. Sequences lie behind each other as long as they are, and Ray starts a process
/// on every GPU of its actor.
void ProgramReader::read_slime(Reading& reading) const {
  const std::string where = run_.session.where(launch_.line);
  const spec::Origin own = {where, "slime's way"};
  reading.settings.erase("precision");  // Megatron-LM's FP32, where no word says another
  if (!has("fp16")) reading.settings.set("bf16", "true", own);
  reading.settings.set("zero", "1", own);
  const bool by_tokens = has("use_dynamic_batch_size");
  const std::string packed = fmt::format(
      "{}: slime packs whole sequences, as long as the data's{}; give --seq and --mbs, the mean "
      "length and how many of them a micro batch takes",
      where, by_tokens ? ", up to --max-tokens-per-gpu" : "");
  reading.settings.erase("seq_length");
  reading.open["seq_length"] = packed;
  if (by_tokens) reading.settings.erase("micro_batch_size");
  if (by_tokens) reading.open["micro_batch_size"] = packed;
  std::array<int64_t, 2> counts = {1, 8};  // its defaults
  constexpr std::array<const char*, 2> kCounts = {"actor_num_nodes", "actor_num_gpus_per_node"};
  for (size_t i = 0; i < names_.size(); ++i)
    for (size_t at = 0; at < counts.size(); ++at)
      if (names_[i] == kCounts[at]) counts[at] = base::parse_integer(value_of(i)).value_or(0);
  const bool are_known = std::ranges::all_of(
      counts, [](int64_t count) { return count > 0 && count <= spec::kMostRanks; });
  if (are_known)
    reading.settings.set("gpus", std::to_string(counts[0] * counts[1]),
                         {where, "--actor-num-nodes x --actor-num-gpus-per-node"});
  else
    reading.open["gpus"] = fmt::format(
        "{}: --actor-num-nodes x --actor-num-gpus-per-node are not known here; give --gpus", where);
}

/// Transformer Engine's variables take backends away; what is left without both fused ones is the
/// unfused. Megatron-LM's --attention-backend sets them itself.
void ProgramReader::choose_attention(spec::Settings& settings) const {
  constexpr const char *kFlash = "NVTE_FLASH_ATTN", *kFused = "NVTE_FUSED_ATTN";
  const auto off = [&](const char* name) {
    const auto it = launch_.environment.find(name);
    return it != launch_.environment.end() && it->second == "0";
  };
  if (off(kFlash) && off(kFused) && settings.find("attention_backend") == nullptr)
    settings.set("attention_backend", "unfused",
                 {run_.session.where(launch_.line), fmt::format("{}=0 {}=0", kFlash, kFused)});
}

bool ProgramReader::shards_without_zero(const spec::Settings::Value& value,
                                        const Reading& reading) {
  const auto* said = reading.settings.find("zero");
  return base::contains(value.origin.key, "enabled") && said != nullptr && said->text == "0";
}

}  // namespace ergometer::intake
