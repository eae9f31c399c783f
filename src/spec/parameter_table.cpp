#include "spec/parameter_table.h"

#include <array>

namespace ergometer::spec {
namespace {

using enum ParameterOwner;

constexpr std::array kTable = std::to_array<ParameterInfo>({
    // Data sheet of a rank (a die of a two-die module counts by itself).
    {kGpu, "sm_count", "", 1, 2048, true, "streaming multiprocessors or compute units"},
    {kGpu, "memory", "B", 1e9, 1e13, true, "HBM capacity"},
    {kGpu, "memory_bandwidth", "B/s", 1e10, 1e14, true, "HBM peak bandwidth"},
    {kGpu, "boost_clock", "Hz", 1e8, 1e10, true, "clock at which the data sheet states its peaks"},
    {kGpu, "sustained_clock", "Hz", 1e8, 1e10, true,
     "clock under a long GEMM load at the default power limit"},
    {kGpu, "peak_fp32", "FLOP/s", 1e11, 1e17, false,
     "dense matrix peak in TF32 or, without it, FP32"},
    {kGpu, "peak_fp16", "FLOP/s", 1e11, 1e17, true, "dense FP16 matrix peak"},
    {kGpu, "peak_bf16", "FLOP/s", 1e11, 1e17, false, "dense BF16 matrix peak"},
    {kGpu, "peak_fp8", "FLOP/s", 1e11, 1e17, false, "dense FP8 matrix peak"},
    {kGpu, "peak_fp4", "FLOP/s", 1e11, 1e18, false, "dense FP4 matrix peak"},
    {kGpu, "peak_vector", "FLOP/s", 1e10, 1e16, false, "FP32 outside the matrix units"},
    {kGpu, "l2", "B", 1e5, 1e10, false, "last-level cache"},
    {kGpu, "tdp", "W", 50, 5000, true, "default power limit of the rank (half a two-die module's)"},
    // Kernels of an architecture.
    {kKernels, "gemm.efficiency", "", 0.05, 1, true,
     "share of peak FLOP/s that long, whole-wave GEMMs reach at the reference clock"},
    {kKernels, "gemm.k_ramp", "", 0, 1e5, true,
     "K at which half the rate is lost to prologue and epilogue"},
    {kKernels, "gemm.wgrad", "", 0.1, 1.5, true, "rate of weight gradients relative to forward"},
    {kKernels, "gemm.tile_m", "", 16, 4096, true, "rows of the largest output tile"},
    {kKernels, "gemm.tile_n", "", 16, 4096, true, "columns of the largest output tile"},
    {kKernels, "gemm.tile_step", "", 0.1, 1, true, "rate factor of each halving of the tile"},
    {kKernels, "gemm.quantization", "", 0, 2, true,
     "exponent on the useful fraction of the last wave"},
    {kKernels, "gemm.fixed", "s", 0, 1e-3, true, "time of an empty GEMM"},
    {kKernels, "gemm.memory_efficiency", "", 0.05, 1, true,
     "share of HBM peak that bandwidth-bound GEMMs reach"},
    {kKernels, "gemm.fp8_efficiency", "", 0.05, 1, false, "as gemm.efficiency, of the FP8 peak"},
    {kKernels, "grouped.efficiency", "", 0.05, 1, true,
     "grouped GEMM: share of peak with many rows an expert"},
    {kKernels, "grouped.m_ramp", "", 0, 1e5, true, "rows an expert at which half the rate is lost"},
    {kKernels, "grouped.k_ramp", "", 0, 1e5, true, "K at which half the rate is lost"},
    {kKernels, "grouped.wgrad", "", 0.1, 1.5, true, "rate of weight gradients relative to forward"},
    {kKernels, "grouped.dgrad", "", 0.1, 1.5, true, "rate of input gradients relative to forward"},
    {kKernels, "attention.forward", "", 0.05, 1, true,
     "flash attention forward: share of peak on executed FLOPs"},
    {kKernels, "attention.backward", "", 0.05, 1, true,
     "flash attention backward: share of peak on executed FLOPs"},
    {kKernels, "attention.tile_ramp", "", 0, 100, true,
     "work tiles an SM at which half the forward rate is lost"},
    {kKernels, "attention.backward_tile_ramp", "", 0, 100, true, "the same, backward"},
    {kKernels, "attention.fixed", "s", 0, 1e-3, true, "time of an empty attention call"},
    {kKernels, "attention.latent_forward", "", 0.1, 2, true,
     "rate with unequal head dimensions 192 and 128, relative"},
    {kKernels, "attention.latent_backward", "", 0.1, 2, true, "the same, backward"},
    {kKernels, "attention.small_head", "", 0.1, 1, true,
     "rate with head dimension 64 relative to 128"},
    {kKernels, "memory.efficiency", "", 0.05, 1, true, "share of HBM peak of memory-bound kernels"},
    {kKernels, "memory.ramp", "s", 0, 1e-3, true,
     "time at full bandwidth that a kernel loses to its ramp"},
    {kKernels, "memory.cross_entropy", "", 0.05, 1, true, "share of HBM peak of the loss kernels"},
    {kKernels, "memory.permute", "", 0.05, 1, true, "share of HBM peak of MoE permutation kernels"},
    {kKernels, "mamba.efficiency", "", 0.01, 1, false,
     "share of 16-bit peak that the chunked scan of state-space layers reaches"},
    {kKernels, "kernel.latency", "s", 0, 1e-3, true,
     "GPU time between dependent kernels of one stream"},
    {kKernels, "overlap.collective_sms", "", 0, 256, true,
     "SMs that a running collective takes from compute"},
    {kKernels, "overlap.send_sms", "", 0, 256, true, "the same, of a running send or receive"},
    {kKernels, "overlap.memory_share", "", 0, 1, true,
     "share of HBM bandwidth that a running collective takes"},
    {kKernels, "overlap.collective_slowdown", "", 1, 3, true,
     "stretch of a collective beside compute"},
    // A framework's generation.
    {kSoftware, "host.launch", "s", 0, 1e-3, true, "host time to launch a kernel, eager"},
    {kSoftware, "host.graph_launch", "s", 0, 1e-3, true, "the same inside a CUDA or HIP graph"},
    {kSoftware, "kernels.memory_factor", "", 0.3, 5, true,
     "time of memory-bound kernels relative to the fused ones the kernel parameters describe"},
    {kSoftware, "kernels.gemm_factor", "", 0.3, 2, true,
     "GEMM rate of the generation's libraries relative to the kernel parameters"},
    {kSoftware, "step.fixed", "s", 0, 10, true,
     "host work of every step that nothing hides: data, logging, waiting for the loss"},
    {kSoftware, "p2p.fixed", "s", 0, 1e-1, true,
     "host work and synchronisation of every pipeline transfer"},
    {kSoftware, "scale.jitter", "", 0, 0.2, true,
     "share of time lost to stragglers for every doubling of the nodes"},
    // Node hardware.
    {kNode, "memory_reserve", "B", 0, 1e11, false, "taken from every GPU by the driver's context"},
    // Collectives: of a node's links (in-domain) or of a fabric. S is the message, n ranks, N
    // nodes.
    {kCollectives, "ring_bandwidth", "B/s", 1e7, 1e13, false,
     "bus bandwidth of long ring collectives on the full domain"},
    {kCollectives, "half_ring_bandwidth", "B/s", 1e7, 1e13, false,
     "the same on groups of up to half the domain, where it differs"},
    {kCollectives, "pair_ring_bandwidth", "B/s", 1e7, 1e13, false,
     "the same on groups of two, where it differs"},
    {kCollectives, "pair_bandwidth", "B/s", 1e7, 1e13, false, "one send to one peer in the domain"},
    {kCollectives, "all_to_all_bandwidth", "B/s", 1e7, 1e13, false,
     "per GPU and direction in all-to-all in the domain"},
    {kCollectives, "in_switch_bandwidth", "B/s", 0, 1e13, false,
     "wire bandwidth of all-reduce in the switch (NVLS); 0: not used"},
    {kCollectives, "in_switch_bus_cap", "B/s", 1e7, 1e13, false,
     "highest bus bandwidth of all-reduce in the switch"},
    {kCollectives, "mesh_links", "", 0, 64, false,
     "links of a full mesh: bandwidth grows with the group; 0: a switch"},
    {kCollectives, "line_efficiency", "", 0.01, 1, false,
     "share of NIC line rate that long collectives reach"},
    {kCollectives, "all_to_all_line_efficiency", "", 0.01, 1, false,
     "the same for all-to-all; without it, line_efficiency"},
    {kCollectives, "low_latency_bandwidth", "B/s", 1e6, 1e13, true,
     "bandwidth of the low-latency protocols"},
    {kCollectives, "low_latency_base", "s", 0, 1e-2, true,
     "low-latency protocols: time without hops"},
    {kCollectives, "low_latency_hop", "s", 0, 1e-2, true,
     "low-latency protocols: a hop in the domain, or between nodes"},
    {kCollectives, "low_latency_domain_hop", "s", 0, 1e-2, false,
     "low-latency rings between nodes: a hop inside the domain"},
    {kCollectives, "low_latency_tree_latency", "s", 0, 1e-2, false,
     "low-latency all-reduce between nodes: per level of the tree"},
    {kCollectives, "latency", "s", 0, 1e-2, true, "fixed time of the bandwidth protocol"},
    {kCollectives, "ramp", "s", 0, 1e-2, true, "further time that sets in with size"},
    {kCollectives, "ramp_half_size", "B", 0, 1e12, true,
     "message size at which half the ramp is reached"},
    {kCollectives, "tree_latency", "s", 0, 1e-2, false,
     "all-reduce between nodes: per level of the tree"},
    {kCollectives, "ring_base", "s", 0, 1e-2, true,
     "all-gather, reduce-scatter, all-to-all: time without hops"},
    {kCollectives, "ring_hop_latency", "s", 0, 1e-2, false, "the same per hop between nodes"},
    {kCollectives, "domain_hop_latency", "s", 0, 1e-2, false, "the same per hop inside the domain"},
    {kCollectives, "peer_latency", "s", 0, 1e-2, true, "all-to-all: each peer beyond eight"},
    {kCollectives, "send_latency", "s", 0, 1e-2, true, "one send, without its bytes"},
});

}  // namespace

std::span<const ParameterInfo> parameter_table() { return kTable; }

const ParameterInfo* find_parameter(ParameterOwner owner, std::string_view name) {
  for (const ParameterInfo& info : kTable)
    if (info.owner == owner && info.name == name) return &info;
  return nullptr;
}

}  // namespace ergometer::spec
