#include "intake/config/published_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ergometer::intake {
namespace {

// Recalled from the repositories; what is not sure of a file's every version is not here, so that a
// name of which releases differ is asked for.
#define ERGOMETER_AUTO_BATCHES                                            \
  R"("gradient_accumulation_steps": "auto", "train_batch_size": "auto",)" \
  R"( "train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto"}, )"
#define ERGOMETER_AUTO_BF16 R"("bf16": {"enabled": "auto"}, )"
#define ERGOMETER_BF16 R"("bf16": {"enabled": true}, )"
#define ERGOMETER_EIGHT_OF_ONE_NODE \
  "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
#define ERGOMETER_ACCELERATE_ZERO(stage)                                 \
  ERGOMETER_EIGHT_OF_ONE_NODE                                            \
  "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: " stage \
  "\n  offload_optimizer_device: none\n  offload_param_device: none\n"

constexpr std::array kFiles = std::to_array<PublishedFile>({
    {"deepspeed_configs/zero1.json", "Axolotl",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_BF16
     R"("zero_optimization": {"stage": 1, "overlap_comm": true}})"},
    {"deepspeed_configs/zero3.json", "Axolotl",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": true}})"},
    {"deepspeed_configs/zero3_bf16.json", "Axolotl",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": true}})"},
    {"deepspeed_configs/zero3_bf16_cpuoffload_all.json", "Axolotl",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": true, )"
     R"("offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}})"},
    {"deepspeed_configs/zero3_bf16_cpuoffload_params.json", "Axolotl",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": true, )"
     R"("offload_param": {"device": "cpu"}}})"},
    {"examples/deepspeed/ds_z0_config.json", "LLaMA-Factory",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 0, "overlap_comm": false}})"},
    {"examples/deepspeed/ds_z2_config.json", "LLaMA-Factory",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 2, "overlap_comm": false}})"},
    {"examples/deepspeed/ds_z2_offload_config.json", "LLaMA-Factory",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 2, "overlap_comm": false, )"
     R"("offload_optimizer": {"device": "cpu"}}})"},
    {"examples/deepspeed/ds_z3_config.json", "LLaMA-Factory",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": false}})"},
    {"examples/deepspeed/ds_z3_offload_config.json", "LLaMA-Factory",
     "{" ERGOMETER_AUTO_BATCHES ERGOMETER_AUTO_BF16
     R"("zero_optimization": {"stage": 3, "overlap_comm": false, )"
     R"("offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}})"},
    {"accelerate_configs/deepspeed_zero1.yaml", "TRL", ERGOMETER_ACCELERATE_ZERO("1")},
    {"accelerate_configs/deepspeed_zero2.yaml", "TRL", ERGOMETER_ACCELERATE_ZERO("2")},
    {"accelerate_configs/deepspeed_zero3.yaml", "TRL", ERGOMETER_ACCELERATE_ZERO("3")},
    {"recipes/accelerate_configs/zero2.yaml", "open-r1", ERGOMETER_ACCELERATE_ZERO("2")},
    {"recipes/accelerate_configs/zero3.yaml", "open-r1", ERGOMETER_ACCELERATE_ZERO("3")},
    {"accelerate_configs/multi_gpu.yaml", "TRL",
     ERGOMETER_EIGHT_OF_ONE_NODE "distributed_type: MULTI_GPU\n"},
    {"config/train_gpt2.py", "nanoGPT",
     "batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n"
     "max_iters = 600000\nlr_decay_iters = 600000\neval_iters = 200\n"},
    {"config/train_shakespeare_char.py", "nanoGPT",
     "dataset = 'shakespeare_char'\ngradient_accumulation_steps = 1\nbatch_size = 64\n"
     "block_size = 256\nn_layer = 6\nn_head = 6\nn_embd = 384\ndropout = 0.2\n"},
    {"config/finetune_shakespeare.py", "nanoGPT",
     "eval_iters = 40\nalways_save_checkpoint = False\n"
     "dataset = 'shakespeare'\ninit_from = 'gpt2-xl'\nbatch_size = 1\n"
     "gradient_accumulation_steps = 32\n"},
});

#undef ERGOMETER_AUTO_BATCHES
#undef ERGOMETER_AUTO_BF16
#undef ERGOMETER_BF16
#undef ERGOMETER_EIGHT_OF_ONE_NODE
#undef ERGOMETER_ACCELERATE_ZERO

}  // namespace

const PublishedFile* published_file(std::string_view path) {
  // A path from the root is one of the user's own folders.
  if (path.starts_with('/') || path.starts_with('~')) return nullptr;
  const auto found = std::ranges::find_if(kFiles, [&](const PublishedFile& file) {
    if (!path.ends_with(file.path)) return false;
    const size_t before = path.size() - file.path.size();
    return before == 0 || path[before - 1] == '/';
  });
  return found == kFiles.end() ? nullptr : &*found;
}

std::string taken_as_published(std::string_view path, const PublishedFile& file) {
  return fmt::format(
      "{} is not here and taken as {} publishes it; one beside the file counts instead", path,
      file.publisher);
}

}  // namespace ergometer::intake
