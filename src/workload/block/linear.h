#pragma once

#include <string>

#include "workload/block/block_writer.h"
#include "workload/matrices.h"

namespace ergometer::workload {

/// A linear layer's part on one rank, and what surrounds its three GEMMs: FP8 casts,
/// tensor-parallel collectives, LoRA adapters.
struct Linear {
  std::string name;  ///< "qkv"; its gradients are "qkv_dgrad" and "qkv_wgrad"
  Module module = Module::kAttention;
  int64_t in = 0, out = 0;
  double rows = 0;  ///< token rows that are multiplied, over all groups
  double model_rows =
      0;  ///< of these, the model's own: less where ranks repeat each other or experts are padded
  double model_out = 0;  ///< of `out`, the model's own: less where ranks repeat key-value heads
  int64_t groups = 1;    ///< experts on this rank that any row reaches: of these matrices are read
  int64_t held = 1;      ///< experts on this rank
  bool grouped = false;  ///< one grouped GEMM for all experts, else one GEMM each
  bool fp8 = false;
  bool quantized = false;            ///< its weights wait in 4 or 8 bit, to be unpacked
  bool fused_cast = false;           ///< the kernel before writes FP8
  bool fused_gradient_cast = false;  ///< the kernel before writes the output's gradient in FP8
  bool overlap = false;              ///< collectives run pipelined with the GEMMs (TE userbuffers)
  /// LoRA: how many ranks repeat the adapter's first (column-parallel) or second (row-parallel)
  /// matrix.
  double lora_in_repeats = 1, lora_out_repeats = 1;
  int64_t lora_rank = 0;  ///< 0: no adapter
  Adapters adapters;
};

/// PyTorch FSDP scatters what the GEMM wrote: there is no whole gradient to add it to.
bool scatters_gradients(const spec::Job& job);

/// Plain dense linear over all tokens of the rank.
Linear make_linear(const BlockWriter& writer, std::string name, Module module, int64_t in,
                   int64_t out);

/// Puts adapters beside it if the job's LoRA adapts it; `keys`: columns of keys of "qkv".
void adapt(const BlockWriter& writer, Linear& linear, int64_t keys = 0);

/// The GEMM alone (with cast and adapter), no collective.
void linear_forward(BlockWriter& writer, const Linear& linear);
/// Casts the incoming gradient, then dgrad and (unless frozen) wgrad, no collective.
void linear_backward(BlockWriter& writer, const Linear& linear);
/// Either half alone, of a layer that is neither cast nor adapted: dgrad, and (unless frozen)
/// wgrad.
void linear_dgrad(BlockWriter& writer, const Linear& linear);
void linear_wgrad(BlockWriter& writer, const Linear& linear);

/// Column-parallel: its input is gathered over TP when sequence-sharded.
void column_forward(BlockWriter& writer, const Linear& linear, bool gather = true);
struct ColumnBackward {
  bool gather = true;  ///< gather the saved input again for wgrad
  bool reduce = true;  ///< sum the input's gradient over TP
  bool add_to_gradient =
      false;  ///< another branch has a partial gradient of the same input: add before reducing
};
void column_backward(BlockWriter& writer, const Linear& linear, ColumnBackward options);
inline void column_backward(BlockWriter& writer, const Linear& linear) {
  column_backward(writer, linear, {});
}

/// Row-parallel: its output is summed over TP, scattered along the sequence with sequence
/// parallelism.
void row_forward(BlockWriter& writer, const Linear& linear, bool reduce = true);
void row_backward(BlockWriter& writer, const Linear& linear, bool gather = true);

/// The collectives by themselves. `bytes` is the whole buffer.
void tensor_gather(BlockWriter& writer, Module module, double bytes, Pass pass);
void tensor_reduce(BlockWriter& writer, Module module, double bytes, Pass pass);

}  // namespace ergometer::workload
