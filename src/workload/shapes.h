#pragma once

#include <cstdint>
#include <string_view>

#include "spec/job/job.h"

namespace ergometer::workload {

/// The sizes that lowering needs, on one rank and for one micro batch.
struct Shapes {
  int64_t tp = 1, cp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;  ///< with tp > 1 only
  bool training = true;            ///< there is a backward pass
  bool lora = false;               ///< base weights are frozen; there may be adapters
  bool adapters = true;            ///< of the layer: it is one of those that have them
  bool fp8 = false;                ///< linear layers multiply in FP8 or NVFP4
  bool fp8_transposes = false;     ///< the GPU's FP8 GEMMs take one operand layout only
  spec::Precision quantized = spec::Precision::kFp8;  ///< what linear layers multiply in, if `fp8`
  double quantized_bytes = 1;  ///< of one such element with its share of the block scales
  double handed_bytes = 2;  ///< of an element of their input as ranks send it and backward finds it
  spec::Precision precision = spec::Precision::kBf16;  ///< of everything but FP8 GEMMs
  double element = 2;                                  ///< bytes of an activation or weight
  double gradient = 4;                                 ///< bytes of a main gradient
  bool modules = false;     ///< layers are written operator by operator (workload/block/modules.h)
  bool autocast = false;    ///< trained weights are in FP32, cast to 16 bit wherever they are used
  bool wide_norms = false;  ///< every norm is in FP32: autocast's way, whatever weights are in
  double stream = 2;        ///< bytes of an element of the residual stream
  bool masks_windows = false;  ///< windows are masks to the attention kernel: it skips nothing

  int64_t batch = 1;
  int64_t tokens = 0;           ///< of the micro batch on this context-parallel rank
  int64_t shard_tokens = 0;     ///< the same where sequence parallelism divides them
  int64_t query_length = 0;     ///< a sequence's tokens on this context-parallel rank
  int64_t key_length = 0;       ///< what they may attend to, over all context-parallel ranks
  int64_t document_length = 0;  ///< what a token may attend to at most, of packed sequences
  int64_t decoded_from = 0,
          decoded_to = 0;  ///< decode: tokens in the cache at the first and last step
  bool causal = true;  ///< false in decode, where one token sees the whole cache, and in encoders

  int64_t tiles = 0;  ///< of the micro batch's images, for the vision tower
  int64_t hidden = 0;
  int64_t heads = 0, kv_heads = 0;  ///< on this rank
  int64_t qk_dim = 0, v_dim = 0;
  int64_t vocab = 0;       ///< padded, on this rank
  double expert_load = 1;  ///< rows that reach the rank's experts, over an even share

  double token_share() const { return sequence_parallel ? 1.0 : 1.0 / static_cast<double>(tp); }
  /// Elements of the residual stream that the rank holds.
  double shard_elements() const {
    return static_cast<double>(shard_tokens) * static_cast<double>(hidden);
  }
  /// Bytes of the whole residual stream of the micro batch on this context-parallel rank.
  double stream_bytes() const {
    return element * static_cast<double>(tokens) * static_cast<double>(hidden);
  }
};

Shapes shapes_of(const spec::Job& job);
/// Whether FP8 products with per-tensor scales are computed in every layout of their operands;
/// else only with K innermost, and what is needed both ways is kept or written twice.
bool multiplies_fp8_in_any_layout(const spec::Gpu& gpu);

/// The window of a layer's attention as kernels of this rank meet it: `Model::window`. A token that
/// is decoded reads what the cache holds of its window or its chunk, divided over context-parallel
/// ranks: at n tokens ((n - 1) mod c) + 1 of a chunk of c, on average over the steps.
int64_t layer_window(const Shapes& shapes, const spec::Layer& layer);

/// (query, key) pairs that one sequence's attention scores need on one context-parallel rank. With
/// a causal mask the convention's half square (a window cuts it further); without, all of them. Of
/// packed sequences the square of every document.
double attention_pairs(const Shapes& shapes, int64_t window);
/// Whether the window is a mask that the kernel reads, and skips nothing for.
bool masked_window(const Shapes& shapes, int64_t window);
/// The pairs a fused kernel computes: whole 128-wide tiles on the diagonal and at the window's
/// edge.
double executed_pairs(const Shapes& shapes, int64_t window);

/// Bytes read and written per element by the kernels that quantize an operand.
double fp8_cast_bytes(const spec::Job& job, const Shapes& shapes);
/// Weights of linear layers travel between ranks in FP8. With block scales they do not even where
/// they are kept in FP8 (`fp8_parameters`): Megatron-Core gathers 16 bit, into the gradients'
/// buffer, and quantizes behind (--reuse-grad-buf-for-mxfp8-param-ag).
bool sends_fp8_parameters(const spec::Training& training);
/// The same of those that quantize it again along its columns, where scales are a row's and the
/// gradient of weights, which sums over rows, needs them a column's. Else 0.
double fp8_column_cast_bytes(const spec::Job& job);
/// Kernels that quantize one operand.
int cast_kernels(const spec::Job& job);

bool recomputes(const spec::Job& job, std::string_view module);
/// Selective recomputation by operator instead of by module: torchtitan's option "op".
bool recomputes_by_operator(const spec::Job& job);
/// A layer's forward, or what recomputation by operator repeats of it, runs before its backward.
bool repeats_layers(const spec::Job& job);

}  // namespace ergometer::workload
