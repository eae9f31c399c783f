#pragma once

#include <cstdint>

#include "plan/memory.h"
#include "spec/job/job.h"
#include "workload/workload.h"

// Jobs made by hand for this folder's tests: a small dense or MoE model on nodes of eight GPUs.

namespace ergometer::plan::test {

/// Node of eight GPUs with one 50 GB/s card each, 32 nodes under a leaf.
inline spec::Cluster rail_cluster() {
  spec::Cluster cluster;
  cluster.node.gpus = 8;
  for (int gpu = 0; gpu < 8; ++gpu) cluster.node.nics.push_back({50e9, {gpu}});
  cluster.domain_gpus = 8;
  cluster.fabric.tiers = {{"leaf", 32, 1}, {"spine", 0, 1}};
  return cluster;
}

/// One 100 Gb/s card that a node's eight GPUs share.
inline spec::Cluster study_cluster() {
  spec::Cluster cluster = rail_cluster();
  cluster.node.nics = {{12.5e9, {0, 1, 2, 3, 4, 5, 6, 7}}};
  cluster.fabric.tiers = {{"switch", 0, 1}};
  return cluster;
}

/// Racks of 18 trays with four GPUs and four 50 GB/s cards each, one NVLink domain a rack.
inline spec::Cluster rack_cluster() {
  spec::Cluster cluster = rail_cluster();
  cluster.node.gpus = 4;
  cluster.node.nics.resize(4);
  cluster.domain_gpus = 72;
  cluster.fabric.tiers = {{"leaf", 36, 1}, {"spine", 0, 1}};
  return cluster;
}

struct Shape {
  int64_t tp = 1, cp = 1, pp = 1, vpp = 1, dp = 1, ep = 1, micro_batches = 1, layers = 8;
};

inline spec::Job make_job(const Shape& shape) {
  spec::Job job;
  job.model.hidden = 64;
  job.model.ffn = 256;
  job.model.heads = job.model.kv_heads = 8;
  job.model.head_dim = 8;
  job.model.vocab = 1024;
  job.model.layers.resize(static_cast<size_t>(shape.layers));
  if (shape.ep > 1) {
    job.model.experts = {.count = 8, .top_k = 2, .ffn = 128};
    for (spec::Layer& layer : job.model.layers) layer.moe = true;
  }
  job.cluster = rail_cluster();
  spec::Parallelism& parallel = job.parallelism;
  parallel.tp = shape.tp;
  parallel.cp = shape.cp;
  parallel.pp = shape.pp;
  parallel.vpp = shape.vpp;
  parallel.dp = shape.dp;
  parallel.ep = shape.ep;
  parallel.etp = shape.ep > 1 ? 1 : 0;
  parallel.sequence_parallel = shape.tp > 1;
  if (shape.vpp > 1) parallel.schedule = spec::Schedule::kInterleaved;
  job.training.micro_batch = 1;
  job.training.seq_length = 128;
  job.training.global_batch = shape.micro_batches * shape.dp;
  job.gpus = shape.tp * shape.cp * shape.pp * shape.dp;
  return job;
}

/// Builds a workload of a few operators a block, enough to tell passes, streams and groups apart. A
/// layer holds 100 dense and, with experts, 1000 expert parameters; the embedding 30, the head 50,
/// a stage's part of a divided vocabulary 20.
class FakeWorkload {
 public:
  explicit FakeWorkload(const spec::Job& job) : job_(job) {
    workload_.boundary_bytes = 4096;
    workload_.embedding_block = block(workload::BlockKind::kEmbedding, 30, 0);
    const bool moe = job.model.experts.count > 0;
    const int layer = block(workload::BlockKind::kLayer, 100, moe ? 1000 : 0);
    workload_.layer_blocks.assign(job.model.layers.size(), layer);
    for (int64_t i = 0; i < job.model.mtp_layers; ++i) {
      workload_.mtp_blocks.push_back(block(workload::BlockKind::kMtp, 120, 0));
    }
    workload_.head_block = block(workload::BlockKind::kHead, 50, 0);
    if (job.parallelism.divides_vocabulary()) add_vocabulary();
  }
  workload::Workload take() { return std::move(workload_); }

 private:
  using Item = workload::Item;
  using Stream = workload::Stream;

  int compute(const char* name, workload::Pass pass,
              workload::OperatorKind kind = workload::OperatorKind::kGemm) {
    workload::Operator op;
    op.kind = kind;
    op.module = workload::Module::kMlp;
    op.pass = pass;
    op.name = name;
    workload_.operators.push_back(op);
    return static_cast<int>(workload_.operators.size()) - 1;
  }
  int collective(const char* name, workload::Pass pass, workload::CollectiveKind kind,
                 workload::GroupKind group) {
    const int op = compute(name, pass, workload::OperatorKind::kCollective);
    workload_.operators.back().collective = kind;
    workload_.operators.back().group = group;
    workload_.operators.back().comm_bytes = 2048;
    if (group == workload::GroupKind::kExpert)
      workload_.operators.back().module = workload::Module::kMoe;
    return op;
  }
  static Item run(Stream stream, int op) { return {Item::Kind::kOperator, stream, stream, op}; }
  static Item join(Stream stream, Stream on) { return {Item::Kind::kJoin, stream, on, -1}; }

  std::vector<Item> forward_items(workload::Pass pass, bool moe) {
    std::vector<Item> items;
    if (job_.parallelism.tp > 1) {
      items.push_back(run(Stream::kCompute,
                          collective("tp_all_gather", pass, workload::CollectiveKind::kAllGather,
                                     workload::GroupKind::kTensor)));
    }
    items.push_back(run(Stream::kCompute, compute("fc1", pass)));
    if (moe && !job_.training.pads_experts()) {
      items.push_back(run(Stream::kCompute, compute("moe_counts_to_host", pass)));
    }
    if (moe) {
      items.push_back(
          run(Stream::kCompute, collective("dispatch", pass, workload::CollectiveKind::kAllToAll,
                                           workload::GroupKind::kExpert)));
    }
    return items;
  }

  void add_vocabulary() {
    workload::Block block;
    block.kind = workload::BlockKind::kVocabulary;
    block.parameters = {20, 0, 20, 0};
    workload_.vocabulary_block = static_cast<int>(workload_.blocks.size());
    workload_.blocks.push_back(std::move(block));
    workload::Vocabulary& passes = workload_.vocabulary;
    const auto add = [this](std::vector<Item>& list, const char* name, workload::Pass pass) {
      list.push_back(run(Stream::kCompute, compute(name, pass)));
    };
    add(passes.input, "lookup", workload::Pass::kForward);
    passes.output = forward_items(workload::Pass::kForward, false);
    add(passes.output_gradient, "logits_dgrad", workload::Pass::kBackward);
    add(passes.output_gradient, "logits_wgrad", workload::Pass::kWeight);
    add(passes.input_gradient, "lookup_wgrad", workload::Pass::kWeight);
    passes.statistics_bytes = 1536;
  }

  int block(workload::BlockKind kind, double dense, double expert) {
    const bool moe = expert > 0;
    workload::Block block;
    block.kind = kind;
    block.parameters = {dense, expert, dense, expert};
    block.forward = forward_items(workload::Pass::kForward, moe);
    const bool layer = kind == workload::BlockKind::kLayer || kind == workload::BlockKind::kMtp;
    if (layer) block.recompute = forward_items(workload::Pass::kRecompute, moe);
    block.backward.push_back(
        run(Stream::kCompute, compute("fc1_dgrad", workload::Pass::kBackward)));
    if (job_.parallelism.tp > 1) {
      const int scatter =
          collective("tp_reduce_scatter", workload::Pass::kBackward,
                     workload::CollectiveKind::kReduceScatter, workload::GroupKind::kTensor);
      block.backward.push_back(join(Stream::kTensor, Stream::kCompute));
      block.backward.push_back(run(Stream::kTensor, scatter));
    }
    block.backward.push_back(run(Stream::kCompute, compute("fc1_wgrad", workload::Pass::kWeight)));
    if (job_.parallelism.tp > 1) block.backward.push_back(join(Stream::kCompute, Stream::kTensor));
    workload_.blocks.push_back(std::move(block));
    return static_cast<int>(workload_.blocks.size()) - 1;
  }

  const spec::Job& job_;
  workload::Workload workload_;
};

inline workload::Workload fake_workload(const spec::Job& job) { return FakeWorkload(job).take(); }

inline MemoryReport memory_of(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  return memory(job, workload, divide(job, workload));
}

}  // namespace ergometer::plan::test
