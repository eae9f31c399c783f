#pragma once

#include <string>
#include <utility>

#include "page/document.h"
#include "run/run.h"

namespace ergometer::page::test {

/// Two stages on two nodes of two GPUs: a step of 10 ms with two micro batches.
inline run::Run small_run() {
  run::Run run;
  run.performance.step_time_s = run.performance.step_time_s_low = run.performance.step_time_s_high =
      0.01;
  run.performance.breakdown_s.compute = 0.006;
  run.performance.breakdown_s.exposed_all_gather = 0.003;
  run.performance.breakdown_s.idle = 0.001;
  run.job_json = R"({"model": {"name": "tiny", "source": "a paper"},)"
                 R"( "cluster": {"name": "c", "gpus": 4, "nodes": 2, "gpus_per_node": 2},)"
                 R"( "parallelism": {"tp": 2, "cp": 1, "pp": 2, "dp": 1, "ep": 1},)"
                 R"( "conditions": {"cooling": "liquid"}})";
  for (int64_t rank = 0; rank < 4; ++rank) {
    run::Rank row{.rank = rank,
                  .node = rank / 2,
                  .slot = rank % 2,
                  .stage = rank / 2,
                  .end_s = 0.01,
                  .breakdown_s = run.performance.breakdown_s};
    run.ranks.push_back(row);
  }
  using Kind = run::PipelineTask::Kind;
  for (const int64_t rank : {0, 2})
    run.tasks.push_back({.rank = rank,
                         .stage = rank / 2,
                         .tasks = {{Kind::kForward, 0, 0, 0, 0, 1'000'000},
                                   {Kind::kWait, 0, -1, -1, 1'000'000, 1'000'000, false, "stage 0"},
                                   {Kind::kSend, 0, 0, 0, 1'000'000, 10'000, true},
                                   {Kind::kBackwardInput, 0, 0, 0, 2'000'000, 1'500'000}}});
  for (int64_t i = 0; i < 6; ++i)
    run.kernels.push_back({.rank = i < 3 ? 0 : 2,
                           .stream = 0,
                           .name = i % 2 == 0 ? "gemm_kernel [qkv]" : "norm_kernel [norm]",
                           .category = i % 2 == 0 ? "gemm" : "memory",
                           .start_ns = 1'000 * (i % 3) + 123,
                           .duration_ns = 999,
                           .micro_batch = 0,
                           .chunk = 0,
                           .layer = i,
                           .pass = "forward"});
  run.slots = {{0, 0}, {0, 1}};
  run.assumptions = {{"parallelism", "tp", "2", "--tp", ""},
                     {"gpu", "memory.bandwidth", "3.35 TB/s", "a data sheet", "datasheet"}};
  run.collectives = {{"tp", "all_gather", 12, 3e9, 0.004, 0.003, 250}};
  return run;
}

inline NamedRun named(std::string name, run::Run run = small_run()) {
  return {std::move(name), std::move(run)};
}

}  // namespace ergometer::page::test
