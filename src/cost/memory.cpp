// What it predicts: the time of kernels that HBM bounds: norms, activations, residual adds, rotary
// embeddings, embedding lookups, casts, the loss, MoE permutations, the optimizer.
//
//   t = kernels * (ramp + latency)
//       + max( streamed / (share * HBM) + issued / (issue * SMs), flops / (mamba * P) )    [s]
//
// flops: of the state-space scan only, whose small products do bind it when states are few; P:
// 16-bit matrix peak at the reference clock; mamba: mamba.efficiency. bytes: read and written; HBM:
// data-sheet peak, B/s; streamed, issued: the bytes of kernels that HBM bounds, and of those that
// what the SMs issue does (modules.cpp), counted as what streams in their time on an H100;
// issue: memory.issue, B/s of one SM; without it they are priced as streamed; share:
// memory.efficiency, for the loss memory.cross_entropy, for kernels that reorder tokens (permute,
// unpermute, sort_chunks) memory.permute; ramp: time a kernel needs to reach full bandwidth and to
// drain, s.
//
// Parameters: catalog/kernels "memory.*": SimuMax's bandwidth factors for A100 PCIe and B200.
//
// Worked: RMSNorm on B200, 4096 x 8192 in 16 bit, 134.2 MB read and written at 0.666 * 8 TB/s: 25.2
// us, and 3 us ramp and 2 us latency: 30.2 us.
//
// Range: above 1 MB; below it the two latencies are all there is. What stays in the L2 cache is
// priced as HBM traffic, so short chains of small kernels come out slow.
//
// How far off: nothing measured kernel by kernel is at hand; the factors are the source's own
// averages.
#include <string_view>

#include "cost/parameters.h"

namespace ergometer::cost {

std::string_view memory_share(const workload::Operator& op) {
  const std::string_view name = op.name;
  const bool permutes = name.find("permute") != name.npos || name.starts_with("sort_chunks");
  if (op.module == workload::Module::kLoss) return "memory.cross_entropy";
  return permutes ? "memory.permute" : "memory.efficiency";
}

double issued_share(const MemoryParameters& memory, const workload::Operator& op) {
  return memory.issue_bytes_per_s > 0 ? op.issued_share : 0;
}

Price price_memory(const Device& device, const MemoryParameters& memory,
                   const workload::Operator& op) {
  const std::string_view name = memory_share(op);
  const double share = name == "memory.cross_entropy" ? memory.cross_entropy
                       : name == "memory.permute"     ? memory.permute
                                                      : memory.efficiency;
  const double compute_s =
      op.flops > 0 ? op.flops / (memory.scan * device.rate(peak_of_attention(op.precision))) : 0;
  const double issued = issued_share(memory, op) * op.bytes;
  const double streamed_s = (op.bytes - issued) / (share * device.memory_bytes_per_s);
  const double issued_s = issued > 0 ? issued / (memory.issue_bytes_per_s * device.sms) : 0;
  return roofline(device, compute_s, streamed_s + issued_s,
                  op.kernels * (memory.ramp_s + device.kernel_latency_s));
}

}  // namespace ergometer::cost
