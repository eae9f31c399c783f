#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "spec/resolve/test_jobs.h"

namespace ergometer::launch {

/// A job on 8-GPU H100 nodes; settings by any of their names.
inline spec::Job test_job(const std::map<std::string, std::string>& settings) {
  return spec::test::job_of(spec::test::settings_of(
      {{"cluster", "hgx-h100"}, {"global_batch_size", "128"}}, {settings.begin(), settings.end()}));
}

/// One whose first layers' activations wait on the host, which no framework here can be told.
inline spec::Job offloading_job() {
  return test_job({{"model", "llama3-8b"},
                   {"gpus", "16"},
                   {"fsdp", "true"},
                   {"cpu_offloading_num_layers", "4"}});
}

/// One whose weights are kept in FP8 between steps, which Megatron-LM alone can be told.
inline spec::Job narrow_weights_job() {
  return test_job({{"model", "llama3-8b"},
                   {"gpus", "16"},
                   {"fsdp", "true"},
                   {"precision", "fp8"},
                   {"fp8_param_gather", "true"}});
}

/// That a framework's own arguments, read back, say the same job.
inline void expect_same(const spec::Job& a, const spec::Job& b) {
  const spec::Parallelism &p = a.parallelism, &q = b.parallelism;
  EXPECT_EQ(p.tp, q.tp);
  EXPECT_EQ(p.cp, q.cp);
  EXPECT_EQ(p.pp, q.pp);
  EXPECT_EQ(p.vpp, q.vpp);
  EXPECT_EQ(p.dp, q.dp);
  EXPECT_EQ(p.ep, q.ep);
  EXPECT_EQ(p.etp, q.etp);
  EXPECT_EQ(p.sequence_parallel, q.sequence_parallel);
  EXPECT_EQ(p.cp_comm, q.cp_comm);
  EXPECT_EQ(p.schedule, q.schedule);
  EXPECT_EQ(p.zero_stage, q.zero_stage);
  EXPECT_EQ(p.fsdp, q.fsdp);
  EXPECT_EQ(p.stage_layers, q.stage_layers);
  EXPECT_EQ(p.first_stage_layers, q.first_stage_layers);
  const spec::Training &t = a.training, &u = b.training;
  EXPECT_EQ(t.micro_batch, u.micro_batch);
  EXPECT_EQ(t.global_batch, u.global_batch);
  EXPECT_EQ(t.seq_length, u.seq_length);
  EXPECT_EQ(t.precision, u.precision);
  EXPECT_EQ(t.fp8_recipe, u.fp8_recipe);
  EXPECT_EQ(t.recompute, u.recompute);
  EXPECT_EQ(t.recompute_method, u.recompute_method);
  EXPECT_EQ(t.recompute_layers, u.recompute_layers);
  EXPECT_EQ(t.recompute_modules, u.recompute_modules);
  EXPECT_EQ(t.overlap_grad_reduce, u.overlap_grad_reduce);
  EXPECT_EQ(t.overlap_param_gather, u.overlap_param_gather);
  EXPECT_EQ(t.overlap_tp, u.overlap_tp);
  EXPECT_EQ(t.gradients_fp32, u.gradients_fp32);
  EXPECT_EQ(t.moe_dispatcher, u.moe_dispatcher);
  EXPECT_EQ(t.moe_grouped_gemm, u.moe_grouped_gemm);
  EXPECT_EQ(t.moe_shared_overlap, u.moe_shared_overlap);
  EXPECT_EQ(t.overlap_expert_parallel, u.overlap_expert_parallel);
  EXPECT_EQ(t.fused_cross_entropy, u.fused_cross_entropy);
  EXPECT_EQ(t.linear_cross_entropy, u.linear_cross_entropy);
  EXPECT_EQ(t.optimizer_offload, u.optimizer_offload);
  EXPECT_EQ(t.offloaded_layers, u.offloaded_layers);
  EXPECT_EQ(t.fp8_parameters, u.fp8_parameters);
  EXPECT_EQ(t.fused_rope, u.fused_rope);
  EXPECT_EQ(t.cuda_graphs, u.cuda_graphs);
}

}  // namespace ergometer::launch
