#include "intake/config/accelerate.h"

#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/recipe/recipe.h"

namespace ergometer::intake {
namespace {

class AccelerateReader {
 public:
  AccelerateReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "accelerate") {}

  Result<Reading> read() {
    read_.copy_count("num_processes", "gpus");
    const auto machines = read_.count_for("gpus", "num_machines", 1),
               ranks = read_.count_for("gpus", "num_processes", 1);
    if (machines && ranks && *ranks % *machines == 0) {
      node_gpus_ = *ranks / *machines;
      read_.set_node_gpus(node_gpus_, *machines, "num_processes");
    }
    // DeepSpeed's own launcher starts processes on the hosts of a list, unless told not to.
    const bool reaches = !is_off(read_.text("deepspeed_config.deepspeed_hostfile")) &&
                         read_.text("deepspeed_config.deepspeed_multinode_launcher") != "standard";
    if (machines && !reaches) read_.reading().launchers = *machines;
    if (read_.flag("use_cpu", false)) read_.refuse("use_cpu", "false: no GPU trains");
    read_precision();
    read_.copy_count("gradient_accumulation_steps", "gradient_accumulation_steps");
    read_parallelism_config(read_);
    ERGOMETER_TRY(read_kind());
    return read_.finish("a configuration of accelerate");
  }

 private:
  void read_precision() {
    const std::string word = base::lower(read_.text("mixed_precision"));
    if (word == "bf16" || word == "fp16" || word == "fp8")
      read_.set("precision", word, "mixed_precision");
    else if (word == "no")
      read_.set_default("precision", "fp32", "mixed_precision: no");
    else if (!word.empty())
      read_.refuse("mixed_precision", "no, fp16, bf16, fp8");
  }

  Result<void> read_kind() {
    const std::string kind = base::lower(read_.text("distributed_type", "no"));
    read_.set_fallback("zero", "0", "PyTorch DDP's way");
    read_.set_fallback("overlap_grad_reduce", "true", "PyTorch DDP's way");
    spec::set_framework(read_.reading().fallbacks, "transformers", read_.file());
    if (kind == "deepspeed") return read_deepspeed_section();
    if (kind == "fsdp") read_fsdp();
    settle_shard_size(read_);
    if (kind == "megatron_lm") read_megatron();
    if (kind == "no" && !read_.has("num_processes"))
      read_.set_default("gpus", "1", "distributed_type: NO");
    if (kind != "fsdp" && kind != "megatron_lm" && kind != "no" && kind != "multi_gpu")
      read_.refuse("distributed_type", "DEEPSPEED, FSDP, MEGATRON_LM, MULTI_GPU, NO");
    return {};
  }

  Result<void> read_deepspeed_section() {
    read_.set_framework("deepspeed");
    const std::string prefix = "deepspeed_config.";
    const auto stage = read_.integer(prefix + "zero_stage", 0);
    if (stage && *stage > 3) read_.refuse(prefix + "zero_stage", "0, 1, 2 or 3");
    if (stage) read_.set_count("zero", *stage, prefix + "zero_stage");
    const std::string file = read_.text(prefix + "deepspeed_config_file");
    constexpr int64_t kOwnStage = 2;  // accelerate's, where no file of DeepSpeed's says one
    set_deepspeed_defaults(stage.value_or(is_off(file) ? kOwnStage : 0), read_.file(),
                           read_.reading());
    if (!stage && is_off(file)) read_.set_default("zero", "2", "accelerate's default");
    read_.copy_count(prefix + "gradient_accumulation_steps", "gradient_accumulation_steps");
    read_.copy_count(prefix + "train_micro_batch_size_per_gpu", "micro_batch_size");
    const std::string states = base::lower(read_.text(prefix + "offload_optimizer_device"));
    if (states == "cpu" || states == "nvme")
      read_.set("optimizer_cpu_offload", "true", prefix + "offload_optimizer_device");
    if (states == "nvme") read_.not_modelled(prefix + "offload_optimizer_device", kStatesOnDrive);
    if (!is_off(read_.text(prefix + "offload_param_device")))
      read_.not_modelled(prefix + "offload_param_device", kParametersOnHost);
    if (is_off(file)) return {};
    ERGOMETER_ASSIGN(Reading other,
                     read_deepspeed_beside(file, read_.file(),
                                           read_.origin(prefix + "deepspeed_config_file").text));
    read_.note("its DeepSpeed configuration is {}", file);
    add_reading(read_.reading(), std::move(other));
    return {};
  }

  /// Version 1 names a strategy, version 2 says whether parameters are freed behind their forward.
  void read_fsdp() {
    // Under mixed precision it makes a model that was loaded in 16 bit FP32 again.
    read_.set_default("master_weights", "true", "accelerate's FSDP");
    const std::string prefix = "fsdp_config.fsdp_";
    const std::string version = read_.text(prefix + "version", "1");
    const std::string reshard = prefix + "reshard_after_forward";
    std::string strategy = read_.text(prefix + "sharding_strategy");
    std::string key = prefix + "sharding_strategy";
    const std::string after = base::lower(read_.text(reshard));
    if (after == "true" || after == "false") {
      // Version 2; both names may stand in a file, and this one counts.
      strategy = after == "true" ? "full_shard" : "shard_grad_op";
      key = reshard;
    } else if (!after.empty()) {
      strategy = after;
      key = reshard;
    }
    if (strategy.empty()) {
      strategy = "full_shard";
      key = "distributed_type";
    }
    if (version != "1" && version != "2") read_.refuse(prefix + "version", "1 or 2");
    read_backward_prefetch(read_, prefix + "backward_prefetch");
    if (!read_sharding_strategy(read_, strategy, key, node_gpus_))
      read_.refuse(key,
                   "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2, or of "
                   "version 2 true or false");
    if (const auto again = read_.said_flag(prefix + "activation_checkpointing"); again && *again)
      read_.set("recompute_granularity", "full", prefix + "activation_checkpointing");
    if (read_.flag(prefix + "offload_params", false)) {
      set_fsdp_on_host(read_, prefix + "offload_params");
    }
  }

  void read_megatron() {
    read_.set_framework("megatron-lm");
    const std::string prefix = "megatron_lm_config.megatron_lm_";
    read_.copy_count(prefix + "tp_degree", "tensor_model_parallel_size");
    read_.copy_count(prefix + "pp_degree", "pipeline_model_parallel_size");
    read_.copy_count(prefix + "num_micro_batches", "gradient_accumulation_steps");
    read_.copy_flag(prefix + "sequence_parallelism", "sequence_parallel");
    if (const auto again = read_.said_flag(prefix + "recompute_activations"))
      read_.set("recompute_granularity", *again ? "selective" : "none",
                prefix + "recompute_activations");
    if (const auto shards = read_.said_flag(prefix + "use_distributed_optimizer"))
      read_.set("zero", *shards ? "1" : "0", prefix + "use_distributed_optimizer");
    read_.set_default("overlap_grad_reduce", "false", "Megatron-LM's default");
  }

  FlatReader read_;
  int64_t node_gpus_ = 0;
};

}  // namespace

void read_parallelism_config(FlatReader& read) {
  for (const std::string_view section :
       {"parallelism_config.parallelism_config_", "parallelism_config."}) {
    const auto key = [&](std::string_view name) {
      return std::string(section) + std::string(name);
    };
    read.copy_count(key("tp_size"), "tensor_model_parallel_size");
    if (read.integer(key("cp_size"), 1).value_or(1) > 1) {
      const std::string method = read.text(key("cp_comm_strategy"), "allgather");
      if (method != "allgather" && method != "alltoall")
        read.refuse(key("cp_comm_strategy"), "allgather, alltoall");
      read.set("cp_comm_type", method == "allgather" ? "all_gather" : "p2p",
               key("cp_comm_strategy"));
    }
    read.copy_count(key("cp_size"), "context_parallel_size");
    read.find(key("cp_comm_strategy"));  // of one rank it says nothing
    const auto shards = read.integer(key("dp_shard_size"), 1);
    const auto replicas = read.integer(key("dp_replicate_size"), 1);
    if (shards && *shards > 1) {
      read_sharding_strategy(read, "full_shard", key("dp_shard_size"));
      if (replicas && *replicas > 1) read_hybrid_shards(read, *shards, key("dp_shard_size"));
    }
  }
}

Result<Reading> read_accelerate(const spec::FlatYaml& values, const std::string& file) {
  return AccelerateReader(values, file).read();
}

Result<Reading> parse_accelerate(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values, spec::flatten_yaml(text, file));
  return read_accelerate(values, file);
}

}  // namespace ergometer::intake
