#include "workload/packing.h"

#include <string>
#include <utility>

namespace ergometer::workload {
namespace {

Operator packing_kernel(std::string name, Module module, double bytes, int kernels) {
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.module = module;
  op.pass = Pass::kBackward;
  op.name = std::move(name);
  op.bytes = bytes;
  op.kernels = kernels;
  return op;
}

/// HBM traffic of a reduction's kernels, bytes a gradient that the rank holds.
struct PackedPasses {
  double pack = 0, unpack = 0;
};

PackedPasses passes_of(const spec::Compression& how, bool all_reduce, double value_bytes,
                       double ranks) {
  const double wire = spec::wire_bytes(how, value_bytes);
  if (how.kind == spec::Compression::Kind::kInt8) {
    // The owner of a part unpacks it of every rank and writes the sum; of an all-reduce it packs
    // that, and all unpack all parts.
    const double sum = wire + value_bytes / ranks;
    const double spread = (value_bytes + wire) / ranks + wire + value_bytes;
    return {value_bytes + wire, all_reduce ? sum + spread : sum};
  }
  // Read for the threshold and to select, the rest read and written as FP32. Assumed: two passes.
  constexpr double kReads = 2, kResidual = 2 * 4;
  const double received = all_reduce ? ranks : 1;
  // What arrived is read, and added to gradients that begin as zeros.
  return {kReads * value_bytes + kResidual + wire,
          (all_reduce ? value_bytes : value_bytes / ranks) +
              received * (wire + 2 * how.kept * value_bytes)};
}

}  // namespace

Packing border_packing(const spec::Compression& how, double plain_bytes, double value_bytes) {
  const double bytes = plain_bytes * (1 + spec::wire_bytes(how, value_bytes) / value_bytes);
  return {packing_kernel("compress_border", Module::kPipeline, bytes, 1),
          packing_kernel("decompress_border", Module::kPipeline, bytes, 1)};
}

PackedReduction packed_reduction(const spec::Compression& how, const Operator& plain,
                                 double elements, double value_bytes, double ranks) {
  PackedReduction packed{plain};
  if (how.none()) return packed;
  const bool all_reduce = plain.collective == CollectiveKind::kAllReduce;
  packed.sum.comm_bytes = elements * spec::wire_bytes(how, value_bytes);
  const bool top_k = how.kind == spec::Compression::Kind::kTopK;
  if (top_k && all_reduce) {
    packed.sum.collective = CollectiveKind::kAllGather;
    packed.sum.comm_bytes *= ranks;
  } else if (top_k) {
    packed.sum.collective = CollectiveKind::kAllToAll;
  }
  const PackedPasses passes = passes_of(how, all_reduce, value_bytes, ranks);
  packed.packing = Packing{
      packing_kernel(plain.name + "_compress", plain.module, elements * passes.pack, top_k ? 3 : 1),
      packing_kernel(plain.name + "_decompress", plain.module, elements * passes.unpack, 2)};
  return packed;
}

}  // namespace ergometer::workload
