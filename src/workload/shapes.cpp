#include "workload/shapes.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::workload {
namespace {

/// FlashAttention's tile: rows and columns of the score matrix that one block computes
/// (FlashAttention-2 and 3 and cuDNN use 64 to 192; 128 for head dimension 128).
constexpr double kAttentionTile = 128;

constexpr double kNvfp4Bytes = 0.5 + 1.0 / 16;  // two to a byte, an FP8 scale for every 16

void set_lengths(const spec::Job& job, Shapes& shapes) {
  const spec::Training& training = job.training;
  shapes.batch = training.micro_batch;
  if (training.mode == spec::Mode::kDecode) {
    // One token a sequence; on average half of the tokens to come are in the cache.
    shapes.query_length = 1;
    shapes.key_length = (training.seq_length + training.generate_tokens / 2) / shapes.cp;
    shapes.decoded_from = training.seq_length;
    shapes.decoded_to = training.seq_length + std::max<int64_t>(1, training.generate_tokens) - 1;
    shapes.causal = false;
  } else {
    shapes.query_length = training.seq_length / shapes.cp;
    shapes.key_length = training.seq_length;
    shapes.document_length = training.packed_mean_length;
  }
  shapes.tokens = shapes.batch * shapes.query_length;
  shapes.shard_tokens = shapes.sequence_parallel ? shapes.tokens / shapes.tp : shapes.tokens;
}

}  // namespace

bool multiplies_fp8_in_any_layout(const spec::Gpu& gpu) {
  return gpu.parameters.value_or("gemm.fp8_any_layout", 0) != 0;
}

Shapes shapes_of(const spec::Job& job) {
  const spec::Model& model = job.model;
  const spec::Parallelism& parallelism = job.parallelism;
  const spec::Training& training = job.training;
  Shapes shapes;
  shapes.tp = parallelism.tp;
  shapes.cp = parallelism.cp;
  shapes.ep = parallelism.ep;
  shapes.etp = parallelism.etp > 0 ? parallelism.etp : parallelism.tp;
  shapes.training = training.mode == spec::Mode::kPretrain || training.mode == spec::Mode::kLora;
  shapes.lora = training.mode == spec::Mode::kLora || base::contains(training.freeze, "language");
  shapes.causal = !model.bidirectional;
  shapes.sequence_parallel =
      parallelism.sequence_parallel && shapes.tp > 1 && training.mode != spec::Mode::kDecode;
  const bool fp4 = training.precision == spec::Precision::kNvfp4;
  shapes.fp8 = training.precision == spec::Precision::kFp8 || fp4;
  if (fp4) {
    shapes.quantized = spec::Precision::kNvfp4;
    shapes.quantized_bytes = kNvfp4Bytes;
  }
  shapes.precision = shapes.fp8 ? spec::Precision::kBf16 : training.precision;
  shapes.fp8_transposes = shapes.fp8 && !multiplies_fp8_in_any_layout(job.cluster.node.gpu);
  shapes.element = training.precision == spec::Precision::kFp32 ? 4 : 2;
  const bool narrow = shapes.fp8 && fp8_column_cast_bytes(job) == 0;
  shapes.handed_bytes = narrow ? shapes.quantized_bytes : shapes.element;
  shapes.gradient = training.gradients_fp32 ? 4 : 2;
  shapes.modules = shapes.training && job.software.parameters.value_or("modules.eager", 0) > 0;
  shapes.autocast = training.autocast && !shapes.lora;
  const bool autocasts = job.software.parameters.value_or("ddp.autocast", 0) > 0;
  shapes.wide_norms = shapes.modules && autocasts && shapes.element < 4;
  shapes.masks_windows = shapes.modules && training.attention == spec::AttentionBackend::kCudnn;
  // The embedding's output is as wide as its weights, and what is added to it stays so.
  shapes.stream = shapes.modules && shapes.autocast ? 4 : shapes.element;
  set_lengths(job, shapes);
  shapes.tiles = model.vision ? job.micro_batch_tiles() : 0;
  shapes.hidden = model.hidden;
  shapes.heads = model.heads / shapes.tp;
  if (model.attention == spec::AttentionKind::kLatent) {
    shapes.kv_heads = shapes.heads;  // keys and values are expanded to every head before the core
    shapes.qk_dim = model.latent.qk_nope_dim + model.latent.qk_rope_dim;
    shapes.v_dim = model.latent.v_dim;
  } else {
    shapes.kv_heads = std::max<int64_t>(1, model.kv_heads / shapes.tp);
    shapes.qk_dim = shapes.v_dim = model.head_dim;
  }
  shapes.vocab = job.padded_vocab() / job.parallelism.vocabulary_ranks();
  return shapes;
}

/// Sum over n = 1 ... length of ((n - 1) mod chunk) + 1, what token n reads of its chunk.
static double chunk_keys(int64_t length, int64_t chunk) {
  const auto whole = static_cast<double>(length / chunk), c = static_cast<double>(chunk);
  const auto rest = static_cast<double>(length % chunk);
  return whole * c * (c + 1) / 2 + rest * (rest + 1) / 2;
}

/// Keys that the tokens of a decode job read of a layer with chunks, on average.
static double mean_chunk_keys(const Shapes& shapes, int64_t chunk) {
  const double read =
      chunk_keys(shapes.decoded_to, chunk) - chunk_keys(shapes.decoded_from - 1, chunk);
  return read / static_cast<double>(shapes.decoded_to - shapes.decoded_from + 1);
}

int64_t layer_window(const Shapes& shapes, const spec::Layer& layer) {
  const bool decodes = shapes.decoded_to > 0;
  if (!decodes) return spec::Model::window(layer, shapes.key_length, shapes.causal);
  if (layer.window == 0 && layer.chunk == 0) return 0;
  double keys = static_cast<double>(shapes.key_length * shapes.cp);
  if (layer.window > 0) keys = std::fmin(keys, static_cast<double>(layer.window));
  if (layer.chunk > 0) keys = std::fmin(keys, mean_chunk_keys(shapes, layer.chunk));
  return std::max<int64_t>(1, std::llround(keys / static_cast<double>(shapes.cp)));
}

/// Keys that the last query of a document may attend to.
static double reachable_keys(const Shapes& shapes) {
  const bool packed = shapes.document_length > 0 && shapes.document_length < shapes.key_length;
  return static_cast<double>(packed ? shapes.document_length : shapes.key_length);
}

double attention_pairs(const Shapes& shapes, int64_t window) {
  const double queries = static_cast<double>(shapes.query_length), keys = reachable_keys(shapes);
  const double reach = window > 0 ? std::fmin(static_cast<double>(window), keys) : keys;
  if (!shapes.causal) return queries * reach;
  // Over a whole sequence of s: s * reach - reach^2 / 2, which is s^2 / 2 without a window.
  // Context-parallel ranks hold equal parts of it.
  return queries * reach - queries * reach * reach / (2 * keys);
}

// transformers/masking_utils.py leaves the mask away where the window is longer than the sequence.
bool masked_window(const Shapes& shapes, int64_t window) {
  return shapes.masks_windows && window > 0 &&
         static_cast<double>(window) <= reachable_keys(shapes);
}

double executed_pairs(const Shapes& shapes, int64_t window) {
  const double pairs = attention_pairs(shapes, window);
  if (!shapes.causal) return pairs;
  const double queries = static_cast<double>(shapes.query_length), keys = reachable_keys(shapes);
  if (masked_window(shapes, window)) return queries * keys;
  const double edges = window > 0 && static_cast<double>(window) < keys ? 2 : 1;
  return std::fmin(pairs + edges * queries * kAttentionTile / 2, queries * keys);
}

double fp8_cast_bytes(const spec::Job& job, const Shapes& shapes) {
  const double copies = shapes.fp8_transposes ? 2 : 1;
  // Transformer Engine's NVFP4: a pass for the maximum, one that writes rows, and one that rotates
  // by a Hadamard matrix and writes columns for the weight's gradient.
  if (shapes.quantized == spec::Precision::kNvfp4) return 3 * 2 + 2 * kNvfp4Bytes;
  switch (job.training.fp8_recipe) {
    case spec::Fp8Recipe::kDelayed: return 2 + copies;
    case spec::Fp8Recipe::kTensorwise:
      return 2 + 2 + copies;                       // a pass for the maximum before the cast
    case spec::Fp8Recipe::kRowwise: return 2 + 1;  // a row's maximum and cast in one kernel
    case spec::Fp8Recipe::kBlockwise: return 2 + 2 * (1 + 4.0 / 128);
    case spec::Fp8Recipe::kMxfp8: return 2 + 2 * (1 + 1.0 / 32);
  }
  return 0;
}

// Columns of 8,192 x 28,672 and 8,192 x 14,336 on one H100: 575 and 282 us (tests/data/fp8), 6.4
// and 6.3 bytes an element at the 2.6 TB/s of kernels that read and write. Two passes, a maximum
// and a cast, move 5.
double fp8_column_cast_bytes(const spec::Job& job) {
  const bool rows = job.training.precision == spec::Precision::kFp8 &&
                    job.training.fp8_recipe == spec::Fp8Recipe::kRowwise;
  return rows ? 6.4 : 0;
}

bool sends_fp8_parameters(const spec::Training& training) {
  return training.precision == spec::Precision::kFp8 && training.fp8_parameters &&
         (training.fp8_recipe == spec::Fp8Recipe::kDelayed ||
          training.fp8_recipe == spec::Fp8Recipe::kTensorwise);
}

int cast_kernels(const spec::Job& job) {
  if (job.training.precision == spec::Precision::kNvfp4) return 3;
  return job.training.fp8_recipe == spec::Fp8Recipe::kTensorwise ? 2 : 1;
}

bool recomputes(const spec::Job& job, std::string_view module) {
  const spec::Training& training = job.training;
  if (training.recompute != spec::Recompute::kSelective) return false;
  if (training.recompute_modules.empty()) return module == "core_attn";
  return base::contains(training.recompute_modules, module);
}

bool recomputes_by_operator(const spec::Job& job) { return recomputes(job, "op"); }

bool repeats_layers(const spec::Job& job) {
  return job.training.recompute == spec::Recompute::kFull || recomputes_by_operator(job);
}

}  // namespace ergometer::workload
