#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "cost/cost.h"
#include "cost/pcie_groups.h"
#include "spec/job/job.h"

namespace ergometer::cost {

/// What the kernels run on. Rates are those at the reference clock, the GPU's sustained clock: the
/// data sheet states peaks at the boost clock, so `peak * sustained / boost`.
struct Device {
  double sms = 0;
  double memory_bytes_per_s = 0;        ///< data-sheet peak; HBM has a clock of its own
  std::array<double, 5> flops_per_s{};  ///< by spec::Precision, dense matrix peak
  double vector_flops_per_s = 0;        ///< FP32 outside the matrix units
  double kernel_latency_s = 0;          ///< between dependent kernels of one stream
  double slowdown = 1;  ///< reference clock over the clock that rooflines are settled at
  double rate(spec::Precision precision) const {
    return flops_per_s[static_cast<size_t>(precision)];
  }
};

struct GemmParameters {
  double efficiency = 0, fp8_efficiency = 0, fp4_efficiency = 0, k_ramp = 0, wgrad = 0;
  int64_t tile_m = 0, tile_n = 0;
  double tile_step = 0, quantization = 0, fixed_s = 0, memory_efficiency = 0;
  double odd = 1;  ///< rate with rows of an odd number of 16-bit elements
  double efficiency_of(spec::Precision precision) const {
    if (precision == spec::Precision::kNvfp4) return fp4_efficiency;
    return precision == spec::Precision::kFp8 ? fp8_efficiency : efficiency;
  }
};

struct GroupedParameters {
  double efficiency = 0, m_ramp = 0, k_ramp = 0, wgrad = 0, dgrad = 0;
};

struct AttentionParameters {
  double forward = 0, backward = 0, length_ramp = 0;
  double tile_ramp = 0, backward_tile_ramp = 0, fixed_s = 0;
  double latent_forward = 0, latent_backward = 0, small_head = 0, fp8 = 1;
  double generation = 1;  ///< of the job's library to the best one
  // Of the job's software, relative: its kernels' rate; with learned sinks; under a mask.
  double rate = 1, sinks = 1, masked = 1;
};

struct MemoryParameters {
  double efficiency = 0, cross_entropy = 0, permute = 0, ramp_s = 0;
  double scan = 0.3;  ///< mamba.efficiency
  /// Of an SM, in kernels that are bound by what it issues; 0: none is.
  double issue_bytes_per_s = 0;
};

struct OverlapParameters {
  double collective_sms = 0, send_sms = 0, memory_share = 0, collective_slowdown = 1;
};

/// What the framework's generation does to the kernels.
struct SoftwareParameters {
  double memory_factor = 1;  ///< time of memory-bound kernels
  double gemm_factor = 1;    ///< rate of GEMMs on matrix units
  double send_s = 0;         ///< every pipeline transfer, on top
  double cast_factor = 1;    ///< time of casts to FP8, on top
  double unpack_factor = 1;  ///< time of unpacking weights of 4 bit
  double straggling = 1;     ///< time of everything: 1 + jitter x doublings of the nodes
};

/// Collectives inside one scale-up domain (a node's NVLink, xGMI or PCIe; an NVL72 rack).
struct DomainParameters {
  int64_t gpus = 1;
  double ring_bytes_per_s = 0, half_ring_bytes_per_s = 0, pair_ring_bytes_per_s = 0;
  double pair_bytes_per_s = 0, all_to_all_bytes_per_s = 0, in_switch_bytes_per_s = 0,
         in_switch_bus_cap = 0;
  double mesh_links = 0;
  double low_latency_bytes_per_s = 0, low_latency_base_s = 0, low_latency_hop_s = 0;
  double latency_s = 0, ramp_s = 0, ramp_half_bytes = 0;
  double ring_base_s = 0, hop_s = 0, peer_s = 0, send_s = 0;
};

/// Collectives between domains.
struct FabricParameters {
  double line_efficiency = 0, all_to_all_line_efficiency = 0;
  double low_latency_bytes_per_s = 0, low_latency_base_s = 0, low_latency_hop_s = 0;
  double low_latency_domain_hop_s = 0, low_latency_tree_s = 0;
  double latency_s = 0, ramp_s = 0, ramp_half_bytes = 0, tree_s = 0;
  double ring_base_s = 0, ring_hop_s = 0, peer_s = 0, send_s = 0;
  /// What a fabric out of order adds (collective.cpp): for nodes and ranks, for a ring's step, for
  /// a long all-reduce of more than two domains.
  double node_step_s = 0, ring_step_s = 0, all_reduce_wait_s = 0;
  /// What connections between two nodes pass on together where packets are lost, no matter how fast
  /// the line is; infinite where none are.
  double connections_bytes_per_s = std::numeric_limits<double>::infinity();
};

class GivenCollectives;

/// Everything the cost model takes from the catalog and the job.
struct CostModel::Parameters {
  Device device;
  GemmParameters gemm;
  GroupedParameters grouped;
  AttentionParameters attention;
  MemoryParameters memory;
  OverlapParameters overlap;
  SoftwareParameters software;
  DomainParameters domain;
  FabricParameters fabric;
  std::shared_ptr<const PcieGroups> pcie;         ///< null: nodes say no PCIe tree
  std::shared_ptr<const GivenCollectives> given;  ///< null: nodes are given no algorithms
  HostCosts host;
  /// Share of the in-domain collective's HBM traffic that one paced by the network causes.
  double network_memory_fraction = 1;
  spec::Parallelism parallelism;  ///< tells which groups leave the domain
};

/// Reads and checks them: what CostModel::make does.
Result<CostModel::Parameters> read_parameters(const spec::Job& job);

/// Whether the groups of a kind reach beyond one scale-up domain.
bool leaves_domain(const CostModel::Parameters& parameters, workload::GroupKind kind);

// One operator each; see the files of the same name.
Price price_gemm(const Device& device, const GemmParameters& gemm, const workload::Operator& op);
Price price_grouped(const Device& device, const GroupedParameters& grouped,
                    const GemmParameters& gemm, const workload::Operator& op);
Price price_attention(const Device& device, const AttentionParameters& attention,
                      const GemmParameters& gemm, const MemoryParameters& memory,
                      const workload::Operator& op);
Price price_memory(const Device& device, const MemoryParameters& memory,
                   const workload::Operator& op);
Price price_collective(const Device& device, const DomainParameters& domain,
                       const FabricParameters& fabric, const workload::Operator& op,
                       const plan::GroupPlacement& where, double fullest_pcie_s = 0);
/// Of a collective that takes `time` alone on its links.
struct CollectiveTime;
Price price_of(const Device& device, const CollectiveTime& time);

/// What the operator costs by itself, with the kernels that the catalog describes.
Price price_alone(const CostModel::Parameters& parameters, const workload::Operator& op,
                  const plan::GroupPlacement& where);

/// A product and a collective in one kernel, each alone and what they do to each other (factors).
struct FusedTimes {
  double product_s = 0, collective_s = 0;
  double slow_product = 1, slow_collective = 1;
  double members = 1;
};
double fused_kernel_s(const FusedTimes& times);

/// A collective's time, split so that the report can say what bounds it.
struct CollectiveTime {
  double latency_s = 0, transfer_s = 0;
  bool low_latency = false;  ///< by the low-latency protocol
  double seconds() const { return latency_s + transfer_s; }
};
/// `fullest_pcie_s`: what the fullest link of the nodes' PCIe trees takes, if they say one.
CollectiveTime collective_time(const DomainParameters& domain, const FabricParameters& fabric,
                               const workload::Operator& op, const plan::GroupPlacement& where,
                               double fullest_pcie_s = 0);
/// Bus bandwidth of a ring over `ranks` GPUs of one domain, bytes/s.
double ring_bandwidth(const DomainParameters& domain, double ranks);
/// A collective's time by a given algorithm, or the library's choice where none fits.
CollectiveTime chosen_time(const CostModel::Parameters& parameters, const workload::Operator& op,
                           const plan::GroupPlacement& where);
/// Seconds of the fullest PCIe link for what the collective's ranks send; 0 without a tree.
double fullest_pcie_s(const CostModel::Parameters& parameters, const workload::Operator& op,
                      const plan::GroupPlacement& where);
/// q of gemm.cpp: the share of the machine's multiply-adds that land in the result, best tile.
double tile_share(const GemmParameters& gemm, const workload::Operator& op, double sms);
/// Whether a 16-bit matrix of the product has rows of an odd number of elements: the rate falls to
/// `GemmParameters::odd`.
bool has_odd_rows(const workload::Operator& op);
/// The parameter that is the share of HBM's peak which a memory-bound kernel reaches.
std::string_view memory_share(const workload::Operator& op);
/// The share of its bytes that are not priced by HBM.
double issued_share(const MemoryParameters& memory, const workload::Operator& op);
/// An operator's time with this software relative to the kernels that the catalog describes.
double software_factor(const SoftwareParameters& software, const workload::Operator& op);
bool decodes(const workload::AttentionShape& shape);
/// Whose matrix peak attention's and scans' rates are shares of: 16 bit, FP8 operands among them,
/// but FP32 for FP32.
spec::Precision peak_of_attention(spec::Precision operands);
double work_tiles(const workload::AttentionShape& shape);
/// K of attention.cpp: the keys that a query of a fused attention call meets, on average.
double visited_keys(const workload::Operator& op);
double head_factor(const AttentionParameters& attention, const workload::AttentionShape& shape);
/// What the library's generation, FP8 operands, the software's own kernels, learned sinks and a
/// mask make of a fused call's rate together.
double library_factor(const AttentionParameters& attention, const workload::Operator& op);

/// Compute that scales with the clock against memory that does not: the larger at the clock that
/// the device settles it at decides. `compute_s` is at the reference clock, `fixed_s` comes on top.
Price roofline(const Device& device, double compute_s, double memory_s, double fixed_s);

/// Seconds of the matrix units for `batch` products [m,k] x [k,n] on `sms` of the device's SMs, at
/// the reference clock; no memory, no fixed time. The GEMM model's core, also used under overlap.
double gemm_compute_s(const Device& device, const GemmParameters& gemm,
                      const workload::Operator& op, double sms);

}  // namespace ergometer::cost
