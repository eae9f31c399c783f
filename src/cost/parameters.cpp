#include "cost/parameters.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/collection.h"
#include "cost/given_collectives.h"
#include "cost/lossy_tcp.h"
#include "spec/job/matrix_peak.h"
#include "spec/job/node_groups.h"
#include "workload/block/graphs.h"

namespace ergometer::cost {
namespace {

using base::ParameterSet;
using spec::Precision;

/// Takes parameters out of one entry of the catalog and keeps the first one that is missing.
class Reader {
 public:
  Reader(const ParameterSet& set, std::string entry, std::string_view prefix = "")
      : set_(set), entry_(std::move(entry)), prefix_(prefix) {}

  double need(std::string_view name) {
    const base::Parameter* found = set_.find(prefix_ + std::string(name));
    if (found == nullptr && missing_.empty()) missing_ = name;
    return found == nullptr ? 1 : found->value;
  }
  double or_else(std::string_view name, double fallback) const {
    return set_.value_or(prefix_ + std::string(name), fallback);
  }
  /// Nothing, or one message that names the entry and the parameter.
  Result<void> finish() const {
    if (missing_.empty()) return {};
    return input_error(entry_ + ": parameter " + prefix_ + missing_ +
                       " is missing; give it, or name a catalog entry that has it");
  }

 private:
  const ParameterSet& set_;
  std::string entry_, prefix_, missing_;
};

/// `blocks`: FP8 with a scale for every block of elements.
GemmParameters read_gemm(Reader& r, bool blocks) {
  GemmParameters p;
  p.efficiency = r.need("gemm.efficiency");
  p.fp8_efficiency = r.or_else("gemm.fp8_efficiency", p.efficiency);
  p.fp4_efficiency = r.or_else("gemm.fp4_efficiency", p.fp8_efficiency);
  if (blocks) p.fp8_efficiency *= r.or_else("gemm.block_scaling", 1);
  p.k_ramp = r.need("gemm.k_ramp");
  p.wgrad = r.need("gemm.wgrad");
  p.tile_m = static_cast<int64_t>(r.need("gemm.tile_m"));
  p.tile_n = static_cast<int64_t>(r.need("gemm.tile_n"));
  p.tile_step = r.need("gemm.tile_step");
  p.quantization = r.need("gemm.quantization");
  p.fixed_s = r.need("gemm.fixed");
  p.memory_efficiency = r.need("gemm.memory_efficiency");
  p.odd = r.or_else("gemm.odd", 1);
  return p;
}

GroupedParameters read_grouped(Reader& r) {
  return {r.need("grouped.efficiency"), r.need("grouped.m_ramp"), r.need("grouped.k_ramp"),
          r.need("grouped.wgrad"), r.need("grouped.dgrad")};
}

/// Rate of the job's kernel generation relative to the best fused one.
double attention_generation(const Reader& r, spec::AttentionBackend backend) {
  if (backend == spec::AttentionBackend::kFlash2) return r.or_else("attention.fa2", 1);
  if (backend == spec::AttentionBackend::kFlash1) return r.or_else("attention.fa1", 1);
  return 1;
}

AttentionParameters read_attention(Reader& r, spec::AttentionBackend backend) {
  AttentionParameters p;
  p.forward = r.need("attention.forward");
  p.backward = r.need("attention.backward");
  p.length_ramp = r.need("attention.length_ramp");
  p.tile_ramp = r.need("attention.tile_ramp");
  p.backward_tile_ramp = r.need("attention.backward_tile_ramp");
  p.fixed_s = r.need("attention.fixed");
  p.latent_forward = r.need("attention.latent_forward");
  p.latent_backward = r.need("attention.latent_backward");
  p.small_head = r.need("attention.small_head");
  // Slow enough that the exponentials of narrow heads do not bind.
  if (backend == spec::AttentionBackend::kFlash1) p.small_head = 1;
  p.fp8 = r.or_else("attention.fp8", 1);
  p.generation = attention_generation(r, backend);
  return p;
}

MemoryParameters read_memory(Reader& r) {
  return {r.need("memory.efficiency"),        r.need("memory.cross_entropy"),
          r.need("memory.permute"),           r.need("memory.ramp"),
          r.or_else("mamba.efficiency", 0.3), r.or_else("memory.issue", 0)};
}

OverlapParameters read_overlap(Reader& r) {
  return {r.need("overlap.collective_sms"), r.need("overlap.send_sms"),
          r.need("overlap.memory_share"), r.need("overlap.collective_slowdown")};
}

/// LoRA on Llama 2 7B takes LitGPT 79 ms more a micro batch with NF4 weights on an A100 of 40 GB
/// (tests/validation/truth/oom_outcomes.csv, litgpt-011 and 012): twice 6.48 billion weights, 2.56
/// bytes each, 33.2 GB at 420 GB/s, where a kernel that only reads and writes has 0.728 of 1,555.
/// Fitted to this pair; on Phi 1.5 it would be 1.6 (the host hides part).
constexpr double kUnpackFactor = 2.7;

SoftwareParameters read_software(Reader& r, const spec::Job& job) {
  const double doublings = std::log2(static_cast<double>(job.nodes()));
  const double gemm_factor = r.need("kernels.gemm_factor");  // of products on matrix units
  const bool idle = spec::leaves_matrix_units(job.cluster.node.gpu, job.training);
  return {r.need("kernels.memory_factor"),
          idle ? 1 : gemm_factor,
          r.need("p2p.fixed"),
          r.or_else("kernels.cast_factor", 1),
          r.or_else("kernels.unpack_factor", kUnpackFactor),
          1 + r.need("scale.jitter") * doublings};
}

/// A graph of the whole step is launched once, and nothing of it calls a library or runs Python.
HostCosts read_host(Reader& r, const spec::Job& job, double straggling) {
  HostCosts host;
  host.captured_launch_s = r.need("host.graph_launch");
  if (workload::captures_everything(job.training)) {
    host.launch_s = host.inner_launch_s = host.collective_launch_s = host.captured_launch_s;
    return host;
  }
  host.launch_s = r.need("host.launch");
  host.inner_launch_s = r.or_else("host.kernel", host.launch_s);
  host.collective_launch_s = r.need("host.collective");
  host.backward_launch = r.or_else("host.backward", 1);
  host.checkpoint_s = r.or_else("host.checkpoint", 0);
  host.expert_cast_s = r.or_else("host.expert_cast", 0);
  host.tensor_collective_s =
      r.or_else("host.collective_rank", 0) * static_cast<double>(job.parallelism.tp);
  if (job.parallelism.tp <= job.cluster.domain_gpus)
    host.tensor_collective_s *= r.or_else("host.collective_near", 1);
  // Every collective waits for the slowest host, too; a slower CPU takes longer for all of it.
  const double factor = straggling * job.cluster.node.parameters.value_or("host.factor", 1);
  for (double* seconds : {&host.launch_s, &host.inner_launch_s, &host.expert_cast_s,
                          &host.checkpoint_s, &host.collective_launch_s, &host.tensor_collective_s})
    *seconds *= factor;
  return host;
}

/// Peaks at the reference clock. Without a matrix mode for FP32 the vector units do such products.
Device read_device(const spec::Gpu& gpu, const spec::Training& training, Reader& r) {
  Device device;
  device.sms = static_cast<double>(gpu.sms);
  device.memory_bytes_per_s = gpu.memory_bytes_per_s;
  device.kernel_latency_s = r.need("kernel.latency");
  const double slowed = gpu.sustained_clock_hz / gpu.boost_clock_hz;
  const double fp16 = r.need("peak_fp16");
  const auto set = [&](Precision precision, double peak) {
    device.flops_per_s[static_cast<size_t>(precision)] =
        peak * spec::clocked_share(gpu, training, precision);
  };
  set(Precision::kFp16, fp16);
  set(Precision::kBf16, r.or_else("peak_bf16", fp16));
  set(Precision::kFp8, r.or_else("peak_fp8", fp16));
  set(Precision::kNvfp4, r.or_else("peak_fp4", r.or_else("peak_fp8", fp16)));
  const double vector = r.or_else("peak_vector", 0);
  set(Precision::kFp32, r.need(spec::matrix_peak(gpu, training, Precision::kFp32)));
  device.vector_flops_per_s = vector > 0 ? vector * slowed : device.rate(Precision::kFp32);
  return device;
}

/// Tables of one link may stand at a node whose links are slower: nothing runs above line rate.
void cap_at_line_rate(DomainParameters& p, double line) {
  for (double* rate : {&p.ring_bytes_per_s, &p.half_ring_bytes_per_s, &p.pair_ring_bytes_per_s,
                       &p.pair_bytes_per_s, &p.all_to_all_bytes_per_s, &p.in_switch_bytes_per_s,
                       &p.low_latency_bytes_per_s})
    *rate = std::min(*rate, line);
}

/// Where the tree says what GPUs share, rates are those of a pair that shares nothing.
void leave_sharing_to_tree(DomainParameters& p) {
  p.ring_bytes_per_s = p.half_ring_bytes_per_s = p.all_to_all_bytes_per_s = p.pair_ring_bytes_per_s;
}

DomainParameters read_domain(Reader& r, int64_t gpus) {
  DomainParameters p;
  p.gpus = gpus;
  p.ring_bytes_per_s = r.need("ring_bandwidth");
  p.half_ring_bytes_per_s = r.or_else("half_ring_bandwidth", p.ring_bytes_per_s);
  p.pair_ring_bytes_per_s = r.or_else("pair_ring_bandwidth", p.half_ring_bytes_per_s);
  p.pair_bytes_per_s = r.need("pair_bandwidth");
  p.all_to_all_bytes_per_s = r.need("all_to_all_bandwidth");
  p.in_switch_bytes_per_s = r.or_else("in_switch_bandwidth", 0);
  p.in_switch_bus_cap = r.or_else("in_switch_bus_cap", 0);
  p.mesh_links = r.or_else("mesh_links", 0);
  p.low_latency_bytes_per_s = r.need("low_latency_bandwidth");
  p.low_latency_base_s = r.need("low_latency_base");
  p.low_latency_hop_s = r.need("low_latency_hop");
  p.latency_s = r.need("latency");
  p.ramp_s = r.need("ramp");
  p.ramp_half_bytes = r.need("ramp_half_size");
  p.ring_base_s = r.need("ring_base");
  p.hop_s = r.need("domain_hop_latency");
  p.peer_s = r.need("peer_latency");
  p.send_s = r.need("send_latency");
  return p;
}

FabricParameters read_fabric(Reader& r) {
  FabricParameters p;
  p.line_efficiency = r.need("line_efficiency");
  p.all_to_all_line_efficiency = r.or_else("all_to_all_line_efficiency", p.line_efficiency);
  p.low_latency_bytes_per_s = r.need("low_latency_bandwidth");
  p.low_latency_base_s = r.need("low_latency_base");
  p.low_latency_hop_s = r.need("low_latency_hop");
  p.low_latency_domain_hop_s = r.need("low_latency_domain_hop");
  p.low_latency_tree_s = r.need("low_latency_tree_latency");
  p.latency_s = r.need("latency");
  p.ramp_s = r.need("ramp");
  p.ramp_half_bytes = r.need("ramp_half_size");
  p.tree_s = r.need("tree_latency");
  p.ring_base_s = r.need("ring_base");
  p.ring_hop_s = r.need("ring_hop_latency");
  p.peer_s = r.need("peer_latency");
  p.send_s = r.need("send_latency");
  p.node_step_s = r.or_else("node_step", 0);
  p.ring_step_s = r.or_else("ring_step", 0);
  p.all_reduce_wait_s = r.or_else("all_reduce_wait", 0);
  return p;
}

/// Nodes far from each other: every hop takes half a round trip longer, and connections that lose
/// packets pass on no more than TCP's congestion avoidance lets them.
void add_distance(const base::ParameterSet& fabric, FabricParameters& p) {
  const double round_trip_s = fabric.value_or("distance.round_trip", 0);
  for (double* hop_s :
       {&p.low_latency_hop_s, &p.low_latency_tree_s, &p.tree_s, &p.ring_hop_s, &p.send_s})
    *hop_s += round_trip_s / 2;
  const double loss = fabric.value_or("distance.loss", 0);
  if (loss > 0)
    p.connections_bytes_per_s =
        fabric.value_or("distance.connections", 1) * lossy_tcp_bytes_per_s(round_trip_s, loss);
}

/// One GPU's NIC rate over its in-domain rate: how much slower a network-paced collective runs
/// through HBM. Beyond what a node's GPUs pass on to each other cards make no collective faster,
/// and none louder.
double network_memory_fraction(const spec::Node& node, const DomainParameters& domain,
                               const FabricParameters& fabric) {
  const double nics = base::sum(node.nics, &spec::Nic::bytes_per_s);
  if (node.gpus <= 1 || domain.ring_bytes_per_s <= 0) return 1;
  return std::min(nics * fabric.line_efficiency / domain.ring_bytes_per_s, 1.0) / node.gpus;
}

/// A precision whose peak the GPU does not state cannot be priced.
Result<void> check_precision(const spec::Gpu& gpu, const spec::Training& training) {
  const Precision precision = training.precision;
  const auto lacks = [&](std::string_view name) { return !gpu.parameters.has(name); };
  if (precision == Precision::kFp8 && (lacks("peak_fp8") || lacks("gemm.fp8_efficiency"))) {
    return input_error("precision = fp8: " + gpu.name +
                       " has no FP8 matrix peak; use bf16 or fp16");
  }
  // The matrix units that multiply FP4 are those that apply MXFP8's scales of 32 elements.
  if (precision == Precision::kFp8 && training.fp8_recipe == spec::Fp8Recipe::kMxfp8 &&
      lacks("peak_fp4")) {
    return input_error("fp8_recipe = mxfp8: " + gpu.name +
                       " has no matrix units for blocks of 32; use blockwise or tensorwise");
  }
  if (precision == Precision::kNvfp4 && lacks("peak_fp4")) {
    return input_error("precision = nvfp4: " + gpu.name +
                       " has no FP4 matrix peak; use fp8 or bf16");
  }
  if (precision == Precision::kBf16 && lacks("peak_bf16")) {
    return input_error("precision = bf16: " + gpu.name + " has no BF16 matrix peak; use fp16");
  }
  return {};
}

}  // namespace

bool leaves_domain(const CostModel::Parameters& parameters, workload::GroupKind kind) {
  using workload::GroupKind;
  const spec::Parallelism& p = parameters.parallelism;
  const int64_t etp = p.etp > 0 ? p.etp : p.tp;
  int64_t extent = p.tp * p.cp * p.dp * p.pp;  // ranks from the first member to the last
  if (kind == GroupKind::kTensor) extent = p.tp;
  if (kind == GroupKind::kExpertTensor) extent = etp;
  if (kind == GroupKind::kContext) extent = p.tp * p.cp;
  if (kind == GroupKind::kExpert) extent = etp * p.ep;
  const bool of_a_copy = kind == GroupKind::kShard || kind == GroupKind::kExpertData;
  if (of_a_copy && p.fsdp_shard_size > 0)
    extent = p.tp * p.fsdp_shard_size;
  else if (of_a_copy || kind == GroupKind::kData || kind == GroupKind::kReplica)
    extent = p.tp * p.cp * p.dp;
  return extent > parameters.domain.gpus;
}

Result<CostModel::Parameters> read_parameters(const spec::Job& job) {
  const spec::Node& node = job.cluster.node;
  const spec::Gpu& gpu = node.gpu;
  CostModel::Parameters p;
  p.parallelism = job.parallelism;
  Reader kernels(gpu.parameters, "GPU " + gpu.name);
  p.device = read_device(gpu, job.training, kernels);
  const spec::Conditions& c = job.conditions;
  if (c.clock_slowdown > 0)
    p.device.slowdown = c.clock_slowdown;
  else if (c.lock_clock_hz > 0)
    p.device.slowdown = std::max(1.0, gpu.sustained_clock_hz / c.lock_clock_hz);
  const spec::Fp8Recipe recipe = job.training.fp8_recipe;
  const bool blocks = job.training.precision == Precision::kFp8 &&
                      (recipe == spec::Fp8Recipe::kBlockwise || recipe == spec::Fp8Recipe::kMxfp8);
  p.gemm = read_gemm(kernels, blocks);
  p.grouped = read_grouped(kernels);
  p.attention = read_attention(kernels, job.training.attention);
  p.attention.rate = job.software.parameters.value_or("attention.rate", 1);
  p.attention.sinks = job.software.parameters.value_or("attention.sinks", 1);
  p.attention.masked = job.software.parameters.value_or("attention.masked", 1);
  p.memory = read_memory(kernels);
  p.overlap = read_overlap(kernels);
  ERGOMETER_TRY(kernels.finish());
  if (!job.software.name.empty()) {  // without: kernels alone, as a microbenchmark runs them
    Reader software(job.software.parameters, "software profile " + job.software.name);
    p.software = read_software(software, job);
    p.host = read_host(software, job, p.software.straggling);
    ERGOMETER_TRY(software.finish());
  }
  ERGOMETER_TRY(check_precision(gpu, job.training));

  p.domain.gpus = std::max<int64_t>(1, job.cluster.domain_gpus);
  if (p.domain.gpus > 1 && job.gpus > 1) {
    Reader inside(node.parameters, "node " + node.name, "collective.");
    p.domain = read_domain(inside, p.domain.gpus);
    if (node.intra_bytes_per_s > 0) cap_at_line_rate(p.domain, node.intra_bytes_per_s);
    if (job.software.parameters.value_or("collectives.in_switch", 0) <= 0)
      p.domain.in_switch_bytes_per_s = 0;
    ERGOMETER_TRY(inside.finish());
  }
  p.pcie = PcieGroups::make(job);
  if (p.pcie != nullptr && job.gpus > 1 && node.intra == spec::IntraKind::kPcie)
    leave_sharing_to_tree(p.domain);
  if (job.gpus > p.domain.gpus) {
    Reader between(job.cluster.fabric.parameters, "fabric of " + job.cluster.name, "collective.");
    p.fabric = read_fabric(between);
    add_distance(job.cluster.fabric.parameters, p.fabric);
    ERGOMETER_TRY(between.finish());
    p.network_memory_fraction = network_memory_fraction(node, p.domain, p.fabric);
  }
  p.given = GivenCollectives::make(job, p.domain, p.fabric);
  return p;
}

Result<CostModel> CostModel::make(const spec::Job& job) {
  ERGOMETER_TRY(spec::refuse_groups(job.cluster, "prices"));
  ERGOMETER_ASSIGN(auto parameters, read_parameters(job));
  return CostModel(std::make_shared<const Parameters>(std::move(parameters)));
}

}  // namespace ergometer::cost
