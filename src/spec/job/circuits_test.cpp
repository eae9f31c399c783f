#include "spec/job/circuits.h"

#include <gtest/gtest.h>

namespace ergometer::spec {
namespace {

/// Two stages of four nodes with four links each; stages' ranks are all data parallel, or tp.
Job job_of_two_stages(int64_t tp = 8) {
  Job job;
  job.cluster.node.gpus = 8;
  job.cluster.domain_gpus = 8;
  job.cluster.fabric.kind = FabricKind::kOptical;
  job.cluster.fabric.topology.circuits = {
      .degree = 4, .link_bytes_per_s = 1e9, .when = Reconfigure::kPhase, .reconfiguration_s = 1};
  job.parallelism.tp = tp;
  job.parallelism.pp = 2;
  job.parallelism.dp = 32 / tp;
  job.parallelism.zero_stage = 0;
  job.gpus = 64;
  return job;
}

void expect_phases(const Job& job, int64_t passes, int64_t end) {
  EXPECT_EQ(circuit_phases(job).passes, passes);
  EXPECT_EQ(circuit_phases(job).end, end);
}

TEST(Circuits, PassesHaveAllLinksBetweenStagesAndTheEndAllButOneWithin) {
  const Job job = job_of_two_stages();
  expect_phases(job, 4, 1);
  EXPECT_TRUE(circuit_phases(job).end_reduces);
  EXPECT_FALSE(circuit_phases(job).end_gathers);
  const std::vector<Dimension> passes = dimensions_of(job.cluster.fabric, 8, 2, 4);
  ASSERT_EQ(passes.size(), 1u);
  EXPECT_EQ(passes[0].name, "stage");
  EXPECT_EQ(passes[0].links, 4);
  const std::vector<Dimension> end = dimensions_of(job.cluster.fabric, 8, 2, 1);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(end[0].links, 3);
  EXPECT_EQ(end[1].links, 1);
}

TEST(Circuits, WhatSendsWithinStagesDuringPassesTakesHalf) {
  expect_phases(job_of_two_stages(16), 2, 1);  // tensor parallelism over two nodes
  Job job = job_of_two_stages();
  job.parallelism.ep = 16;
  expect_phases(job, 2, 1);
}

TEST(Circuits, TiedEmbeddingsAreSummedOverHalf) {
  Job job = job_of_two_stages();
  job.model.tied_embeddings = true;
  expect_phases(job, 4, 2);
  EXPECT_FALSE(circuit_phases(job_of_two_stages()).within_passes);
}

TEST(Circuits, PhasesThatRunAtOnceShareCircuits) {
  Job job = job_of_two_stages();
  job.training.overlap_grad_reduce = true;
  expect_phases(job, -1, -1);  // nothing is left for the end
  job.parallelism.zero_stage = 1;
  expect_phases(job, 2, 1);  // which gathers parameters
  EXPECT_FALSE(circuit_phases(job).end_reduces);
  EXPECT_TRUE(circuit_phases(job).end_gathers);
  job.training.overlap_param_gather = true;
  expect_phases(job, -1, -1);
  job.training.overlap_param_gather = job.training.overlap_grad_reduce = false;
  job.parallelism.zero_stage = 3;
  expect_phases(job, -1, -1);
}

TEST(Circuits, NothingChangesWithoutPhasesThatDiffer) {
  Job job = job_of_two_stages();
  job.training.mode = Mode::kDecode;
  expect_phases(job, -1, -1);
  job = job_of_two_stages();
  job.cluster.fabric.topology.circuits.when = Reconfigure::kStep;
  expect_phases(job, -1, -1);
  job = job_of_two_stages();
  job.parallelism.pp = 1;
  job.parallelism.dp = 8;
  expect_phases(job, -1, -1);
  job = job_of_two_stages(32);  // a single rank of data parallelism
  expect_phases(job, -1, -1);
  job = job_of_two_stages();
  job.cluster.fabric.topology.circuits.degree = 1;
  expect_phases(job, -1, -1);
}

}  // namespace
}  // namespace ergometer::spec
