#pragma once

#include <cstdint>
#include <vector>

#include "cost/cost.h"
#include "engine/time/timeline.h"

namespace ergometer::bench {

/// A job made ready for the engine.
struct Prepared {
  spec::Job job;
  workload::Workload workload;
  plan::Plan plan;
  cost::CostTable costs;
  engine::Stretch stretch;
  std::vector<double> clocks_hz;  ///< of every rank, all different

  engine::EngineInput input() const {
    return {.job = job,
            .plan = plan,
            .costs = costs,
            .clocks_hz = clocks_hz,
            .sampled_ranks = {},
            .stretch = stretch};
  }
  /// What the sweep computes: instructions times the ranks that run them.
  double rank_instructions() const;
};

/// GPT-3 175B, TP 8, PP 8, micro batches of 2048 tokens, on 64 x `data_parallel` A100 GPUs.
spec::Job gpt3(int64_t data_parallel, int64_t micro_batches = 12);
/// Llama-3-70B on 32 H200: TP 4, PP 4, DP 2, 64 micro batches of 8192 tokens.
spec::Job llama3_70b();
Prepared prepare(const spec::Job& job);

}  // namespace ergometer::bench
