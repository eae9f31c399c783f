#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/job/job.h"

// What a job's software makes smaller before it sends it to other ranks: a habit of the software,
// kept with its parameters as "compress.activations" and "compress.gradients".
namespace ergometer::spec {

/// int8 with one FP32 scale for every `kScaledTogether` values; or the largest share of the values
/// with their places (top-k).
struct Compression {
  enum class Kind { kNone, kInt8, kTopK };
  Kind kind = Kind::kNone;
  double kept = 1;  ///< top-k: the share of the values that is sent
  bool none() const { return kind == Kind::kNone; }
  bool operator==(const Compression&) const = default;
};
/// Values of one scale: the default block of bitsandbytes' quantize_blockwise.
inline constexpr double kScaledTogether = 4096;

/// Of what pipeline stages send each other, forth and back: none or int8.
Compression activation_compression(const Job& job);
/// Of gradients on their way between replicas, once a step.
Compression gradient_compression(const Job& job);
void compress_activations(Job& job, const Compression& how);
void compress_gradients(Job& job, const Compression& how);

/// Bytes on the wire of a value that takes `plain_bytes` without compression. Top-k sends what it
/// keeps as it is, each with a 4-byte place.
double wire_bytes(const Compression& how, double plain_bytes);

/// "none", "int8", "topk:0.01".
std::string compression_text(const Compression& how);
/// Of that text; nothing where it is none of these, or a top-k share is not above 0 and at most
/// 0.5, where places cost more than they save.
std::optional<Compression> parse_compression(std::string_view text);

}  // namespace ergometer::spec
