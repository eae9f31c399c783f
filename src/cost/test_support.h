#pragma once

// What the tests of this folder share: small devices with round numbers, and jobs on catalog
// clusters.

#include <gtest/gtest.h>

#include <string>

#include "base/test_support.h"
#include "cost/parameters.h"
#include "spec/catalog/read.h"
#include "spec/collective/given_algorithms.h"

namespace ergometer::cost {

/// 100 SMs, 100 TFLOP/s in 16 bit, 200 in FP8, 1 TB/s, 1/16 of the 16-bit rate in
/// vector units, no latency.
inline Device round_device() {
  Device device;
  device.sms = 100;
  device.memory_bytes_per_s = 1e12;
  device.flops_per_s = {50e12, 100e12, 100e12, 200e12};
  device.vector_flops_per_s = 6.25e12;
  return device;
}

/// Nothing lost but to waves and tiles.
inline GemmParameters ideal_gemm() {
  GemmParameters gemm;
  gemm.efficiency = gemm.fp8_efficiency = gemm.wgrad = gemm.tile_step = gemm.quantization =
      gemm.memory_efficiency = 1;
  gemm.tile_m = 256;
  gemm.tile_n = 128;
  return gemm;
}

inline workload::Operator gemm_operator(int64_t m, int64_t n, int64_t k,
                                        workload::GemmLayout layout = workload::GemmLayout::kTn) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kGemm;
  op.m = m;
  op.n = n;
  op.k = k;
  op.layout = layout;
  op.bytes = 1;
  return op;
}

inline workload::Operator collective_operator(workload::CollectiveKind kind, double bytes) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.collective = kind;
  op.comm_bytes = bytes;
  return op;
}

inline workload::Operator of_data_ranks(workload::CollectiveKind kind, double bytes) {
  workload::Operator op = collective_operator(kind, bytes);
  op.group = workload::GroupKind::kData;
  return op;
}

inline plan::GroupPlacement inside(int64_t ranks) { return {ranks, 1, ranks, 0, 0}; }
inline plan::GroupPlacement across(int64_t ranks, int64_t nodes, double nic_bytes_per_s) {
  return {ranks, nodes, ranks / nodes, nic_bytes_per_s, 1};
}

inline spec::Job job_on(const std::string& cluster, int64_t gpus) {
  auto read = spec::read_cluster(cluster);
  EXPECT_TRUE(read.has_value()) << base::error_of(read);
  spec::Job job;
  if (read) job.cluster = *std::move(read);
  job.gpus = gpus;
  job.parallelism.dp = gpus;
  return job;
}

inline CostModel::Parameters parameters_of(const std::string& cluster, int64_t gpus) {
  return base::value_of(read_parameters(job_on(cluster, gpus)));
}

/// A job on a cluster of the catalog whose nodes are given an MSCCL file.
inline spec::Job job_given(const std::string& cluster, int64_t gpus, const std::string& xml) {
  spec::Job job = job_on(cluster, gpus);
  EXPECT_EQ(base::error_of(spec::give_algorithm(xml, "a.xml", job.cluster.node.parameters)), "");
  return job;
}

}  // namespace ergometer::cost
