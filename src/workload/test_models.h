#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/collection.h"
#include "spec/job/job.h"
#include "workload/workload.h"

// Jobs made by hand for this folder's tests, and ways to read what they are lowered to.

namespace ergometer::workload::test {

/// A matrix product, and a kernel that moves bytes.
inline Operator product(int64_t m, int64_t n, int64_t k) {
  Operator op;
  op.kind = OperatorKind::kGemm;
  op.m = m;
  op.n = n;
  op.k = k;
  return op;
}

inline Operator kernel(double bytes) {
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.bytes = bytes;
  return op;
}

inline spec::Model dense_model(int64_t layers, int64_t hidden, int64_t ffn, int64_t heads,
                               int64_t kv_heads, int64_t vocab) {
  spec::Model model;
  model.hidden = hidden;
  model.ffn = ffn;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.head_dim = hidden / heads;
  model.vocab = vocab;
  model.layers.resize(static_cast<size_t>(layers));
  return model;
}

/// GPT-3 style: biases, LayerNorm, GELU, learned positions, dropout.
inline spec::Model gpt_model(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab) {
  spec::Model model = dense_model(layers, hidden, 4 * hidden, heads, heads, vocab);
  model.activation = spec::Activation::kGelu;
  model.gated = false;
  model.norm = spec::NormKind::kLayerNorm;
  model.norm_bias = model.qkv_bias = model.out_bias = model.mlp_bias = true;
  model.positions = spec::PositionKind::kLearned;
  model.position_rows = 2048;
  model.tied_embeddings = true;
  model.dropout = 0.1;
  return model;
}

inline spec::Model llama3_70b() { return dense_model(80, 8192, 28672, 64, 8, 128256); }

inline spec::Model mixtral_8x7b() {
  spec::Model model = dense_model(32, 4096, 14336, 32, 8, 32000);
  model.experts.count = 8;
  model.experts.top_k = 2;
  model.experts.ffn = 14336;
  for (spec::Layer& layer : model.layers) layer.moe = true;
  return model;
}

inline spec::Model deepseek_v3() {
  spec::Model model = dense_model(61, 7168, 18432, 128, 128, 129280);
  model.head_dim = 192;
  model.attention = spec::AttentionKind::kLatent;
  model.latent = {1536, 512, 128, 64, 128};
  model.experts.count = 256;
  model.experts.top_k = 8;
  model.experts.ffn = model.experts.shared_ffn = 2048;
  model.experts.router_bias = true;
  model.mtp_layers = 1;
  for (size_t i = 3; i < model.layers.size(); ++i) model.layers[i].moe = true;
  return model;
}

/// One sequence a micro batch, one micro batch a replica.
inline spec::Job job_of(spec::Model model, int64_t seq, int64_t tp = 1, int64_t dp = 1) {
  spec::Job job;
  job.model = std::move(model);
  job.cluster.node.gpus = 8;
  job.parallelism.tp = tp;
  job.parallelism.dp = dp;
  job.parallelism.sequence_parallel = tp > 1;
  job.training.micro_batch = 1;
  job.training.global_batch = dp;
  job.training.seq_length = seq;
  job.gpus = tp * dp;
  return job;
}

inline const Operator& op_of(const Workload& workload, const Item& item) {
  return workload.operators[static_cast<size_t>(item.op)];
}

inline const Block& layer_block(const Workload& workload, size_t layer) {
  return workload.blocks[static_cast<size_t>(workload.layer_blocks[layer])];
}

/// "qkv", "tp_all_gather@tensor", "compute<tensor": what a list does, one word an item. Work on the
/// compute stream says no stream.
inline std::string word(const Workload& workload, const Item& item) {
  static const char* const kStreams[] = {"compute", "tensor",  "context", "expert",
                                         "data",    "forward", "backward"};
  const std::string stream = kStreams[static_cast<size_t>(item.stream)];
  if (item.kind == Item::Kind::kJoin) return stream + "<" + kStreams[static_cast<size_t>(item.on)];
  return op_of(workload, item).name + (item.stream == Stream::kCompute ? "" : "@" + stream);
}

inline std::vector<std::string> words(const Workload& workload, const std::vector<Item>& items) {
  return base::mapped(items, [&](const Item& item) { return word(workload, item); });
}

/// The first operator of that name in a list.
inline const Operator& find_op(const Workload& workload, const std::vector<Item>& items,
                               const std::string& name) {
  static const Operator kNone;
  for (const Item& item : items)
    if (item.kind == Item::Kind::kOperator && op_of(workload, item).name == name)
      return op_of(workload, item);
  return kNone;
}

}  // namespace ergometer::workload::test
