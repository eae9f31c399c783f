#pragma once

#include <vector>

#include "engine/time/timeline.h"
#include "plan/memory.h"
#include "run/run.h"

/// From a timeline to the summary of a Run.
namespace ergometer::engine {

/// Step time, throughput and where the time goes (mean over ranks). Tokens of a step: those of the
/// global batch; in decode, one for each sequence. MFU is against the data sheet's dense peak at
/// the job's precision.
run::Performance performance(const spec::Job& job, const Timeline& timeline);

/// Tokens that one step works through, of documents that are drawn the mean over drawn steps.
double tokens_per_step(const spec::Job& job);

run::Memory memory_summary(const spec::Job& job, const plan::MemoryReport& report);
/// What the GPUs of each group of unlike nodes do in a step; none where nodes are alike.
std::vector<run::GpuKind> gpu_kinds(const spec::Job& job, const Timeline& timeline);
/// The times of every rank, beside its power and heat, if `powered` has them.
std::vector<run::Rank> rank_table(const spec::Job& job, const Timeline& timeline,
                                  std::vector<run::Rank> powered);

/// Dense matrix peak of one GPU at the job's precision, FLOP/s.
double peak_flops_per_s(const spec::Job& job);

}  // namespace ergometer::engine
