#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// The kernels of sampled ranks, and the waits of their compute stream, as a profiler would list
/// them.
std::vector<run::Kernel> kernel_list(const EngineInput& input, const std::vector<Span>& spans);

/// What a profiler would call the kernel of an operator, with the operator's own name in brackets:
/// "nvjet_sm100_bf16_256x256_64x4_2cta_tn [qkv]".
std::string kernel_name(const spec::Gpu& gpu, const workload::Operator& op);
/// "gemm", "attention", "memory", "collective", "send_recv" or "optimizer".
std::string kernel_category(const workload::Operator& op);
/// As `run::Kernel::pass` has it: "forward", "recompute", "backward", "weight" or "optimizer".
std::string_view pass_word(workload::Pass pass);

}  // namespace ergometer::engine
