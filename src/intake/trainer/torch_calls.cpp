#include "intake/trainer/torch_calls.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/framework_options.h"

namespace ergometer::intake {
namespace {

using Names = std::span<const std::string_view>;

// Signatures of PyTorch's releases up to 2.9, recalled: all that any of them takes.

constexpr std::array kOfFsdp = std::to_array<std::string_view>(
    {"module", "process_group", "sharding_strategy", "cpu_offload", "auto_wrap_policy",
     "backward_prefetch", "mixed_precision", "ignored_modules", "param_init_fn", "device_id",
     "sync_module_states", "forward_prefetch", "limit_all_gathers", "use_orig_params",
     "ignored_states", "ignored_parameters", "device_mesh"});
/// Of FSDP2, and of the function of this name before it.
constexpr std::array kOfFullyShard = std::to_array<std::string_view>(
    {"module", "modules", "mesh", "reshard_after_forward", "shard_placement_fn", "mp_policy",
     "offload_policy", "ignored_params", "process_group", "policy", "strategy", "mixed_precision",
     "cpu_offload", "ignored_modules", "device_id", "param_init_fn", "sync_module_states",
     "forward_prefetch", "ignored_states"});
constexpr std::array kOfPrecision = std::to_array<std::string_view>(
    {"param_dtype", "reduce_dtype", "buffer_dtype", "keep_low_precision_grads",
     "cast_forward_inputs", "cast_root_forward_inputs", "_module_classes_to_ignore"});
constexpr std::array kOfPolicy = std::to_array<std::string_view>(
    {"param_dtype", "reduce_dtype", "output_dtype", "cast_forward_inputs"});
constexpr std::array kOfOffload = std::to_array<std::string_view>({"offload_params"});
constexpr std::array kOfOffloadPolicy = std::to_array<std::string_view>({"pin_memory"});
constexpr std::array kOfDdp = std::to_array<std::string_view>(
    {"module", "device_ids", "output_device", "dim", "broadcast_buffers", "init_sync",
     "process_group", "bucket_cap_mb", "find_unused_parameters", "check_reduction",
     "gradient_as_bucket_view", "static_graph", "delay_all_reduce_named_params",
     "param_to_hook_all_reduce", "mixed_precision", "device_mesh",
     "skip_all_reduce_unused_params"});
constexpr std::array kOfLoader = std::to_array<std::string_view>(
    {"dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn",
     "pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator",
     "prefetch_factor", "persistent_workers", "pin_memory_device", "in_order"});
constexpr std::array kOfAutocast =
    std::to_array<std::string_view>({"device_type", "dtype", "enabled", "cache_enabled"});
constexpr std::array kOfAdam = std::to_array<std::string_view>(
    {"params", "lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "capturable",
     "differentiable", "fused", "decoupled_weight_decay"});
constexpr std::array kOfSgd =
    std::to_array<std::string_view>({"params", "lr", "momentum", "dampening", "weight_decay",
                                     "nesterov", "maximize", "foreach", "differentiable", "fused"});
constexpr std::array kOfRmsProp = std::to_array<std::string_view>(
    {"params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered", "capturable",
     "foreach", "maximize", "differentiable"});
constexpr std::array kOfAdafactor = std::to_array<std::string_view>(
    {"params", "lr", "beta2_decay", "eps", "d", "weight_decay", "foreach", "maximize"});

/// Where PyTorch has a name; others have classes of the same name.
struct TorchCall {
  std::string_view name, module;
  Names arguments;
};
constexpr std::array kTorchCalls = std::to_array<TorchCall>({
    {"FSDP", "torch.distributed.fsdp", kOfFsdp},
    {"FullyShardedDataParallel", "torch.distributed.fsdp", kOfFsdp},
    {"fully_shard", "torch.distributed", kOfFullyShard},
    {"MixedPrecision", "torch.distributed.fsdp", kOfPrecision},
    {"MixedPrecisionPolicy", "torch.distributed", kOfPolicy},
    {"CPUOffload", "torch.distributed.fsdp", kOfOffload},
    {"CPUOffloadPolicy", "torch.distributed", kOfOffloadPolicy},
    {"DDP", "torch.nn.parallel", kOfDdp},
    {"DistributedDataParallel", "torch.nn.parallel", kOfDdp},
    {"DataLoader", "torch.utils.data", kOfLoader},
    {"autocast", "torch", kOfAutocast},
    {"Adam", "torch.optim", kOfAdam},
    {"AdamW", "torch.optim", kOfAdam},
    {"SGD", "torch.optim", kOfSgd},
    {"RMSprop", "torch.optim", kOfRmsProp},
    {"Adafactor", "torch.optim", kOfAdafactor},
});

/// Of a file: whoever writes by hand stays below, and imports are looked up in all of the text.
constexpr size_t kMostTorchCalls = 100;

class CallTeller : ProgramPart {
 public:
  explicit CallTeller(ProgramText& from) : ProgramPart(from) {}

  void tell() {
    for (const TorchCall& call : kTorchCalls) {
      const LibraryName what{call.name, "torch", call.module};
      std::optional<bool> by_name;  // the same of all calls without a dotted name in front
      for (const auto& [at, open] : calls_of(text_, call.name)) {
        if (++calls_ > kMostTorchCalls) return;
        if (is_definition(at) || values_.reached(at, true) == false) continue;
        if (!is_method(at) && !by_name) by_name = is_of_library(what, at);
        if (!(is_method(at) ? is_of_library(what, at) : *by_name)) continue;
        for (const PythonArgument& it : arguments_of_call(text_, open))
          if (!it.name.empty() && !base::contains(call.arguments, it.name))
            program_.leftovers.push_back(
                unknown_argument(it.name, fmt::format("{}:{}", file_, it.line), call.arguments));
      }
    }
  }

 private:
  size_t calls_ = 0;
};

}  // namespace

void tell_unknown_arguments(ProgramText& program) { CallTeller(program).tell(); }

}  // namespace ergometer::intake
