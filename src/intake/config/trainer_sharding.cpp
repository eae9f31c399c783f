#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/shared_words.h"
#include "spec/catalog/read.h"
#include "spec/recipe/recipe.h"

// PyTorch's words for how FSDP shards, and the Trainer's for FSDP and DeepSpeed.

namespace ergometer::intake {

void read_backward_prefetch(FlatReader& read, std::string_view key) {
  const std::string word = base::lower(read.text(key, "backward_pre"));
  if (word != "backward_pre")
    read.not_modelled(key,
                      "time: when the next parameters are gathered; predicted as BACKWARD_PRE");
}

void read_hybrid_shards(FlatReader& read, int64_t shards, std::string_view key) {
  int64_t together = 1;
  const auto* context = read.said().find("context_parallel_size");
  if (context != nullptr) together = base::parse_integer(context->text).value_or(1);
  read.set_count(
      "fsdp_shard_size",
      std::min(shards, spec::kMostRanks) * std::clamp(together, int64_t{1}, spec::kMostRanks), key);
}

void settle_shard_size(FlatReader& read) {
  const auto* shards = read.said().find("fsdp_shard_size");
  const auto* zero = read.said().find("zero");
  if (shards == nullptr || zero == nullptr || zero->text == "3") return;
  const std::string key = shards->origin.key;
  read.reading().settings.erase("fsdp_shard_size");
  read.not_modelled(key, kPartlySharded);
}

bool read_sharding_strategy(FlatReader& read, std::string_view strategy, std::string_view key,
                            int64_t node_gpus) {
  const std::string word = base::lower(strategy);
  const bool hybrid = word == "hybrid_shard" || word == "4" || word == "hybrid_shard_zero2" ||
                      word == "_hybrid_shard_zero2" || word == "5";
  if (word == "full_shard" || word == "1" || word == "hybrid_shard" || word == "4") {
    read.set("fsdp", "true", key);
    read.set("zero", "3", key);
  } else if (word == "shard_grad_op" || word == "2" || hybrid) {
    read.set("zero", "2", key);
    read.set("fsdp", "false", key);
    read.set("framework", "fsdp", key);
    read.set("overlap_grad_reduce", "true", key);
  } else if (word == "no_shard" || word == "3") {
    set_replicated(read, key);
  } else {
    return false;
  }
  const bool whole =
      read.said().find("fsdp") != nullptr && read.said().find("fsdp")->text == "true";
  // PyTorch's default process groups: those of a node.
  if (hybrid && whole)
    read.set("fsdp_shard_size", node_gpus > 0 ? std::to_string(node_gpus) : "node", key);
  else if (hybrid)
    read.not_modelled(key,
                      "memory and time: a copy is sharded over one node alone, which is modelled "
                      "only where parameters are freed behind their forward; predicted as sharded "
                      "over all");
  return true;
}

namespace {

class TrainerSharding {
 public:
  TrainerSharding(FlatReader& read, spec::FlatYaml& values) : read_(read), values_(values) {}

  Result<void> read(bool compiles) {
    read_.set_fallback("zero", "0", "neither FSDP nor DeepSpeed");
    read_.set_fallback("overlap_grad_reduce", "true", "PyTorch DDP's way");
    spec::set_framework(read_.reading().fallbacks,
                        compiles ? "transformers-compiled" : "transformers", read_.file());
    ERGOMETER_TRY(read_mapping("fsdp_config"));
    ERGOMETER_TRY(read_accelerator());
    const std::string fsdp = base::lower(read_.text("fsdp"));
    if (!is_off(fsdp)) read_fsdp(fsdp);
    const std::string deepspeed = read_.text("deepspeed");
    if (!is_off(deepspeed)) {
      ERGOMETER_ASSIGN(Reading other, read_deepspeed_beside(deepspeed, read_.file(),
                                                            read_.origin("deepspeed").text));
      if (const std::string file = file_beside(deepspeed, read_.file()); !file.empty())
        read_.note("its DeepSpeed configuration is {}", file);
      ERGOMETER_TRY(check_batches_agree(read_.said(), other.settings));
      add_reading(read_.reading(), std::move(other));
    }
    return read_inline_deepspeed();
  }

 private:
  /// `deepspeed:` with the configuration itself below it.
  Result<void> read_inline_deepspeed() {
    constexpr std::string_view kSection = "deepspeed.";
    spec::FlatYaml inner;
    for (const auto& [key, value] : values_)
      if (key.starts_with(kSection)) {
        read_.find(key);
        inner[key.substr(kSection.size())] = value;
      }
    if (inner.empty()) return {};
    ERGOMETER_ASSIGN(Reading other, read_deepspeed(inner, read_.file()));
    ERGOMETER_TRY(check_batches_agree(read_.said(), other.settings));
    add_reading(read_.reading(), std::move(other));
    return {};
  }

  /// A mapping may be written out in JSON, or be the name of a file that holds it.
  Result<void> read_mapping(std::string_view name) {
    const std::string said = read_.text(name);
    if (is_off(said)) return {};
    const std::string where = read_.origin(name).text;
    const bool is_here = said.starts_with('{');
    const std::string file = is_here ? read_.file() : file_beside(said, read_.file());
    if (file.empty())
      return input_error(
          "{}: {}: {} is neither beside {} nor here; without it the job would "
          "be another one",
          where, name, said, read_.file());
    ERGOMETER_ASSIGN(const std::string text, is_here
                                                 ? Result<std::string>(said)
                                                 : base::read_file(file, spec::kLargestWritten));
    ERGOMETER_ASSIGN(const spec::FlatYaml inner, flatten_json(text, file));
    for (const auto& [key, value] : inner)
      values_[fmt::format("{}.{}", name, key)] = {
          value.text, value.line, is_here ? where : fmt::format("{}:{}", file, value.line)};
    return {};
  }

  /// The Trainer takes them over where it is told of no accumulation itself, and refuses both.
  void read_plugin_steps() {
    constexpr std::string_view kSteps = "accelerator_config.gradient_accumulation_kwargs.num_steps";
    if (!read_.has(kSteps)) return;
    const auto* said = read_.said().find("gradient_accumulation_steps");
    if (said != nullptr && said->text != "1")
      return read_.refuse(kSteps, "nothing, for gradient_accumulation_steps says it");
    read_.copy_count(kSteps, "gradient_accumulation_steps");
  }

  /// What accelerate is told of batches.
  Result<void> read_accelerator() {
    ERGOMETER_TRY(read_mapping("accelerator_config"));
    constexpr std::string_view kSplits = "accelerator_config.split_batches";
    if (read_.flag(kSplits, false))
      read_.refuse(kSplits,
                   "false: a loader's batch would be that of all GPUs together; give --mbs and a "
                   "file without it");
    read_plugin_steps();
    constexpr std::string_view kEach =
        "accelerator_config.gradient_accumulation_kwargs.sync_each_batch";
    const bool by_plugin = read_.flag(kSyncsEach, false);
    if (!by_plugin && !read_.flag(kEach, false)) return {};
    const std::string_view key = by_plugin ? std::string_view(kSyncsEach) : kEach;
    read_.set("reduce_every_micro_batch", "true", key);
    if (is_off(read_.text("fsdp")))
      read_.not_modelled(
          key,
          "time: where gradients are not sharded they are reduced after every micro batch "
          "as well; predicted once a step");
    return {};
  }

  void read_fsdp(const std::string& words) {
    std::string spaced = words;
    std::ranges::replace(spaced, ',', ' ');
    bool known = false;
    for (const std::string& word : base::split(spaced, ' ')) {
      if (word.empty() || word == "auto_wrap") continue;
      if (word == "offload") {
        set_fsdp_on_host(read_, "fsdp");
        continue;
      }
      if (word == "true") {
        known = read_sharding_strategy(read_, "full_shard", "fsdp");
        continue;
      }
      if (!read_sharding_strategy(read_, word, "fsdp"))
        return read_.refuse(
            "fsdp", "full_shard, shard_grad_op, hybrid_shard, no_shard, offload, auto_wrap");
      known = true;
    }
    if (!known) read_sharding_strategy(read_, "full_shard", "fsdp");
    if (read_.flag(kReducesEach, false))
      read_.set_default("reduce_every_micro_batch", "true", "a loop of its own without no_sync");
    if (const std::string type = read_.text(kReducesIn); !type.empty())
      read_.set_flag("grad_reduce_in_bf16", type != "float32", kReducesIn);
    constexpr std::string_view kStrategy = "fsdp_config.fsdp_sharding_strategy";
    if (const std::string word = base::lower(read_.text(kStrategy));
        !word.empty() && !read_sharding_strategy(read_, word, kStrategy))
      return read_.refuse(kStrategy, kShardingStrategies);
    read_fsdp_config();
    settle_shard_size(read_);
  }

  void read_fsdp_config() {
    for (const std::string_view prefix : {"fsdp_config.", "fsdp_config.fsdp_"}) {
      const auto key = [&](std::string_view name) {
        return std::string(prefix) + std::string(name);
      };
      read_backward_prefetch(read_, key("backward_prefetch"));
      if (read_.flag(key("activation_checkpointing"), false))
        read_.set("recompute_granularity", "full", key("activation_checkpointing"));
      if (read_.flag(key("offload_params"), false)) {
        set_fsdp_on_host(read_, key("offload_params"));
      }
      if (read_.has(key("reshard_after_forward")) &&
          !read_.flag(key("reshard_after_forward"), true))
        read_sharding_strategy(read_, "shard_grad_op", key("reshard_after_forward"));
    }
  }

  FlatReader& read_;
  spec::FlatYaml& values_;
};

}  // namespace

Result<void> read_trainer_sharding(FlatReader& read, spec::FlatYaml& values, bool compiles) {
  return TrainerSharding(read, values).read(compiles);
}

}  // namespace ergometer::intake
