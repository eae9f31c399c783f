#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "run/run.h"

namespace ergometer::report {

/// What a stream of a simulated rank carries: "compute", "tensor parallel", ...; "stream" of
/// others.
std::string_view stream_name(int32_t stream);

/// Writes the Run's kernels as a Chrome trace (JSON), which ui.perfetto.dev and chrome://tracing
/// open: one process a sampled rank, one track a stream, one complete event a kernel with its micro
/// batch, layer, FLOPs and bytes, inside those of its layer, its pass and the step (category
/// "parent"); packed by gzip where `path` ends in ".gz"; an arrow from every pipeline send to its
/// receive when both ranks are sampled. Counter tracks show power, temperatures, clock and clock
/// event reasons of the ranks with telemetry, and the cluster's power. Times are microseconds with
/// three decimals, so whole nanoseconds survive.
Result<void> write_trace(const run::Run& run, const std::string& path);

/// Gives the kernels one by one, rank by rank; the same ones whenever it is asked.
using KernelSource = std::function<void(const std::function<void(const run::Kernel&)>&)>;
/// The same with the kernels of `kernels`, of which no more than one is kept at a time.
Result<void> write_trace(const run::Run& run, const KernelSource& kernels, const std::string& path);

}  // namespace ergometer::report
