#include "report/explain/explain_price.h"

#include <fmt/format.h>

#include <utility>

#include "cost/given_collectives.h"
#include "cost/network_load.h"
#include "cost/parameters.h"
#include "cost/pcie_groups.h"
#include "plan/step_end.h"
#include "report/explain/collective_formulas.h"
#include "report/format.h"
#include "spec/job/host_link.h"
#include "spec/job/matrix_peak.h"

// The formulas of src/cost, one by one, each specialised to the operator at hand: what does not
// enter is not shown. explain_price_test.cpp works them out again from what is printed.

namespace ergometer::report {
namespace {

using plan::GroupPlacement;
using spec::Precision;
using workload::CollectiveKind;
using workload::GemmLayout;
using workload::Operator;
using workload::OperatorKind;

constexpr std::string_view kShape = "this rank's share of the shape";

std::string limit_word(cost::Limit limit) {
  switch (limit) {
    case cost::Limit::kCompute: return "compute bound";
    case cost::Limit::kMemory: return "memory bound";
    case cost::Limit::kLatency: return "latency bound";
    case cost::Limit::kLink: return "link bound";
  }
  return {};
}

/// Builds the node of one operator.
class PriceNode {
 public:
  PriceNode(const spec::Job& job, const Operator& op, const GroupPlacement& where,
            const cost::CostModel& model, bool with_parameters)
      : job_(job),
        gpu_(job.cluster.node.gpu),
        op_(op),
        where_(where),
        model_(model),
        terms_(model.terms(op, where)),
        price_(model.price(op, where)),
        with_parameters_(with_parameters),
        node_(number_node({}, price_.seconds(), "s", {},
                          is_wait() ? "" : limit_word(price_.limit))) {}

  Explanation take() {
    if (op_.fused) return inside_product();
    if (is_wait()) {
      wait();
      return std::move(node_);
    }
    switch (op_.kind) {
      case OperatorKind::kGemm: gemm(); break;
      case OperatorKind::kGroupedGemm: grouped(); break;
      case OperatorKind::kAttention: attention(); break;
      case OperatorKind::kMemory: memory(); break;
      case OperatorKind::kCollective: collective(); break;
    }
    software();
    return std::move(node_);
  }

 private:
  /// No kernel runs, whatever the GPU: nothing of it bounds the time.
  bool is_wait() const { return op_.host_wait_s > 0 && op_.kernels == 0; }

  /// A collective inside the kernel of a product: what the kernel takes beyond the product.
  Explanation inside_product() {
    node_.formula =
        "kernel - product inside; kernel: the product and the collective side by side, each slowed "
        "by the other, + the shorter of the two / members; or both apart, where that is less";
    const auto price = [&](std::string name, const Operator& op, const GroupPlacement& where,
                           std::string formula = {}) {
      node_.inputs.push_back(
          number_node(std::move(name), model_.price(op, where).seconds(), "s", std::move(formula)));
    };
    price("product inside", op_.fused->inside, {},
          op_.fused->inside.name + " without the bytes that other members send or get");
    price("product apart", op_.fused->apart, {});
    Operator alone = op_;
    alone.fused = nullptr;
    alone.kernels = 1;
    price("collective apart", alone, where_);
    count("members", where_.size);
    return std::move(node_);
  }

  /// The software generation comes on top of what the kernels and links alone would take.
  void software() {
    const bool send = op_.group == workload::GroupKind::kPipeline && where_.size > 1;
    if (terms_.software_factor != 1) {
      node_.formula = fmt::format("software x ({})", node_.formula);
      input("software", terms_.software_factor, "",
            job_.software.name +
                ": relative to the catalog's kernels, and "
                "stragglers among the nodes");
      const bool gemm = op_.kind == OperatorKind::kGemm || op_.kind == OperatorKind::kGroupedGemm;
      const bool on_matrix_units = !spec::leaves_matrix_units(job_.cluster.node.gpu, job_.training);
      for (const char* name :
           {gemm                            ? (on_matrix_units ? "kernels.gemm_factor" : "")
            : op_.name.ends_with("_unpack") ? "kernels.unpack_factor"
                                            : "kernels.memory_factor",
            op_.name.ends_with("_fp8_cast") ? "kernels.cast_factor" : "", "scale.jitter"})
        parameter(job_.software.parameters, name, job_.software.name + ": ");
    }
    if (send) {
      node_.formula += " + p2p.fixed";
      input("p2p.fixed", job_.software.parameters.value_or("p2p.fixed", 0), "s",
            job_.software.name);
    }
  }

  void wait() {
    if (op_.name == workload::kActivationsOut || op_.name == workload::kActivationsIn) {
      node_.formula =
          "bytes that the offloaded layers keep / layers / (host_link x host.link_share)";
      gpu_parameters({"host_link"});
      if (spec::tree_sets_host_rate(job_.cluster.node)) {
        node_.formula =
            "bytes that the offloaded layers keep / layers / what the PCIe tree leaves the worst "
            "placed GPU";
        return input("to the host", spec::host_bytes_per_s(job_.cluster.node), "B/s",
                     "0.8 x min(host_link, uplink / GPUs below it), all copying at once");
      }
      return parameter(job_.cluster.node.parameters, "host.link_share", "in the node: ");
    }
    if (op_.name == plan::kReconfiguration) {
      node_.formula = op_.module == workload::Module::kPipeline
                          ? "reconfiguration_time of the fabric, for the circuits of the passes; "
                            "hidden until a stage first sends"
                      : op_.module == workload::Module::kData
                          ? "reconfiguration_time of the fabric, for the circuits of the step's "
                            "end, when the stage's last transfer is done"
                          : "reconfiguration_time of the fabric";
      return parameter(job_.cluster.fabric.parameters, "circuits.reconfiguration_time",
                       "between nodes: ");
    }
    // Every other wait is the step's own.
    struct Wait {
      std::string_view op, parameter, formula;
    };
    constexpr Wait kWaits[] = {
        {"host_slices", "host.shard_slice", "host.shard_slice x replicas x weight matrices"},
        {"host_allocator", "allocator.rate",
         "bytes of whole-sequence tensors that find no memory / allocator.rate"},
        {"data_wait", "data.micro_batch", "data.micro_batch"},
        {"host_adam", "optimizer.host_rate",
         "the longer of parameters of the node's GPUs / optimizer.host_rate, 5e9 per s without it, "
         "and bytes each way / to the host"},
        {"", "step.fixed", "step.fixed"}};
    for (const Wait& wait : kWaits) {
      if (!wait.op.empty() && op_.name != wait.op) continue;
      node_.formula = wait.formula;
      if (op_.to_host_bytes > 0) {
        input("bytes each way", op_.to_host_bytes, "B",
              "gradients there, parameters back, in 16 bit, at the same time");
        input("to the host", spec::host_bytes_per_s(job_.cluster), "B/s",
              "what all GPUs of a node that copy at once leave one");
      }
      return parameter(job_.software.parameters, wait.parameter, job_.software.name + ": ");
    }
  }

  void input(std::string name, double value, std::string_view unit, std::string source = {}) {
    node_.inputs.push_back(number_node(std::move(name), value, unit, {}, std::move(source)));
  }

  void count(const char* name, int64_t value, std::string_view source = kShape) {
    node_.inputs.push_back(
        {name, std::to_string(value), static_cast<double>(value), {}, std::string(source), {}});
  }
  void bytes() { input("bytes", op_.bytes, "B", "HBM traffic, read and written"); }
  void launches() { count("kernels", op_.kernels, "launches of this operator"); }
  void multiprocessors() { count("SMs", gpu_.sms, gpu_.name); }

  void parameter(const base::ParameterSet& set, std::string_view name, std::string_view where) {
    const base::Parameter* found = set.find(name);
    if (!with_parameters_ || found == nullptr) return;
    input(std::string(name), found->value, found->unit, fmt::format("{}{}", where, credit(*found)));
  }
  void gpu_parameters(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) parameter(gpu_.parameters, name, "");
  }
  void inside(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      parameter(job_.cluster.node.parameters, fmt::format("collective.{}", name), "in the node: ");
  }
  void between(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      parameter(job_.cluster.fabric.parameters, fmt::format("collective.{}", name),
                "between nodes: ");
  }

  /// The data sheet's peak that stands for a precision, by its name in the catalog.
  std::string_view peak(Precision precision) const {
    return spec::matrix_peak(gpu_, job_.training, precision);
  }
  bool follows_clock(Precision precision) const {
    return !spec::multiplies_at_boost(gpu_, job_.training, precision);
  }
  static std::string_view efficiency(Precision precision) {
    if (precision == Precision::kNvfp4) return "gemm.fp4_efficiency";
    return precision == Precision::kFp8 ? "gemm.fp8_efficiency" : "gemm.efficiency";
  }
  std::string clocked_peak(Precision precision) const {
    if (!follows_clock(precision)) return std::string(peak(precision));
    return fmt::format("{} x sustained_clock / boost_clock", peak(precision));
  }
  void device_parameters(Precision precision) {
    const std::string of = gpu_.name + ": ";
    parameter(gpu_.parameters, peak(precision), of);
    if (follows_clock(precision))
      for (const std::string_view name : {"sustained_clock", "boost_clock"})
        parameter(gpu_.parameters, name, of);
    parameter(gpu_.parameters, "memory_bandwidth", of);
    gpu_parameters({"kernel.latency"});
  }

  void matrix_shape() {
    count("m", op_.m);
    count("n", op_.n);
    count("k", op_.k);
    count("groups", op_.groups);
    launches();
    bytes();
  }

  void gemm() {
    const bool fp8 = op_.precision == Precision::kFp8 || op_.precision == Precision::kNvfp4;
    const bool weights = op_.layout == GemmLayout::kNt;
    const bool odd = cost::has_odd_rows(op_);
    node_.formula = fmt::format(
        "gemm.fixed + kernels x kernel.latency + max(2 groups m n k / rate, bytes / "
        "(gemm.memory_efficiency x memory_bandwidth)); rate = {} x {} x tiles^gemm.quantization x "
        "k / (k + gemm.k_ramp{}){}{}",
        clocked_peak(op_.precision), efficiency(op_.precision),
        fp8 ? fmt::format(" x {} / {}", peak(op_.precision), peak(Precision::kBf16)) : "",
        weights ? " x gemm.wgrad" : "", odd ? " x gemm.odd" : "");
    matrix_shape();
    input("tiles", terms_.tile_share, "",
          fmt::format("share of {} SMs' multiply-adds that land in the result, with the best "
                      "of the tiles from gemm.tile_m x gemm.tile_n down, each halving "
                      "gemm.tile_step slower; its exponent to the nearest 1/1024",
                      gpu_.sms));
    device_parameters(op_.precision);
    if (fp8) parameter(gpu_.parameters, peak(Precision::kBf16), gpu_.name + ": ");
    gpu_parameters({"gemm.fixed", "gemm.memory_efficiency", efficiency(op_.precision),
                    "gemm.quantization", "gemm.k_ramp", "gemm.wgrad", "gemm.tile_m", "gemm.tile_n",
                    "gemm.tile_step"});
    if (odd) gpu_parameters({"gemm.odd"});
  }

  void grouped() {
    const bool fp8 = op_.precision == Precision::kFp8 || op_.precision == Precision::kNvfp4;
    const bool weights = op_.layout == GemmLayout::kNt;
    const char* rows = weights ? "k" : "m";
    const char* depth = weights ? "n" : "k";
    node_.formula = fmt::format(
        "kernels x kernel.latency + max(2 groups m n k / rate, bytes / (gemm.memory_efficiency x "
        "memory_bandwidth)); rate = {} x grouped.efficiency{}{} x {} / ({} + grouped.m_ramp) x {} "
        "/ ({} + grouped.k_ramp)",
        clocked_peak(op_.precision),
        fp8 ? fmt::format(" x {} / gemm.efficiency", efficiency(op_.precision)) : "",
        weights                         ? " x grouped.wgrad"
        : op_.layout == GemmLayout::kNn ? " x grouped.dgrad"
                                        : "",
        rows, rows, depth, depth);
    matrix_shape();
    device_parameters(op_.precision);
    gpu_parameters({"gemm.memory_efficiency", "grouped.efficiency", "grouped.m_ramp",
                    "grouped.k_ramp", "grouped.wgrad", "grouped.dgrad"});
    if (fp8) gpu_parameters({efficiency(op_.precision), "gemm.efficiency"});
  }

  void attention() {
    const workload::AttentionShape& shape = op_.attention;
    count("batch", shape.batch);
    count("heads", shape.heads);
    count("kv_heads", shape.kv_heads);
    count("q_length", shape.q_length);
    count("kv_length", shape.kv_length);
    count("qk_dim", shape.qk_dim);
    if (shape.v_dim != shape.qk_dim) count("v_dim", shape.v_dim);
    launches();
    input("FLOP", op_.flops, "FLOP");
    bytes();
    if (terms_.decodes) return decoding();
    if (!shape.fused) return unfused();
    fused();
  }

  void decoding() {
    node_.formula =
        "memory.ramp + kernels x kernel.latency + bytes / (memory.efficiency x memory_bandwidth)";
    parameter(gpu_.parameters, "memory_bandwidth", gpu_.name + ": ");
    gpu_parameters({"kernel.latency", "memory.ramp", "memory.efficiency"});
  }

  void unfused() {
    node_.formula =
        "kernels x (gemm.fixed + kernel.latency) + max(products, bytes / (gemm.memory_efficiency x "
        "memory_bandwidth))";
    input("products", price_.clocked_s, "s",
          "the batched products at a GEMM's rate for their shape; 0 where "
          "the bytes take longer");
    device_parameters(op_.precision);
    gpu_parameters({"gemm.fixed", "gemm.memory_efficiency", "gemm.efficiency", "gemm.quantization",
                    "gemm.k_ramp", "gemm.tile_m", "gemm.tile_n", "gemm.tile_step"});
  }

  void fused() {
    const bool backward = op_.attention.backward;
    node_.formula = fmt::format(
        "attention.fixed + kernels x kernel.latency + max(FLOP / rate, bytes / (memory.efficiency "
        "x memory_bandwidth)); rate = {} x {} x {}width x keys / (keys + attention.length_ramp) x "
        "tiles / (tiles + {} x SMs)",
        clocked_peak(cost::peak_of_attention(op_.precision)),
        backward ? "attention.backward" : "attention.forward",
        terms_.library_factor != 1 ? "library x " : "",
        backward ? "attention.backward_tile_ramp" : "attention.tile_ramp");
    input("tiles", terms_.work_tiles, "", "batch x heads x q_length / 128, rounded up");
    input("keys", terms_.visited_keys, "", "that a query meets, on average");
    const bool latent = op_.attention.qk_dim != op_.attention.v_dim;
    input("width", terms_.head_factor, "",
          latent ? fmt::format("attention.latent_{}", backward ? "backward" : "forward")
                 : "1 from heads of 128 up, attention.small_head at 64 and below, a line between");
    library();
    multiprocessors();
    device_parameters(cost::peak_of_attention(op_.precision));
    gpu_parameters({"attention.fixed", "memory.efficiency", "attention.forward",
                    "attention.backward", "attention.length_ramp", "attention.tile_ramp",
                    "attention.backward_tile_ramp"});
    if (latent)
      gpu_parameters({"attention.latent_forward", "attention.latent_backward"});
    else
      gpu_parameters({"attention.small_head"});
  }

  /// What `library` is the product of.
  void library() {
    if (terms_.library_factor == 1) return;
    const auto backend = job_.training.attention;
    const char* const generation = backend == spec::AttentionBackend::kFlash1   ? "attention.fa1"
                                   : backend == spec::AttentionBackend::kFlash2 ? "attention.fa2"
                                                                                : "";
    std::vector<std::string> parts;
    const auto part = [&](const base::ParameterSet& set, const char* name, bool applies,
                          std::string_view where) {
      if (!applies || set.find(name) == nullptr) return;
      parts.push_back(name);
      parameter(set, name, where);
    };
    const bool narrow = op_.precision == spec::Precision::kFp8;
    part(gpu_.parameters, generation, !narrow && *generation != '\0', "");
    part(gpu_.parameters, "attention.fp8", narrow, "");
    const std::string of = job_.software.name + ": ";
    part(job_.software.parameters, "attention.rate", true, of);
    part(job_.software.parameters, "attention.sinks", op_.attention.sinks, of);
    part(job_.software.parameters, "attention.masked", op_.attention.masked, of);
    input("library", terms_.library_factor, "", fmt::format("{}", fmt::join(parts, " x ")));
  }

  void memory() {
    node_.formula =
        fmt::format("kernels x (memory.ramp + kernel.latency) + bytes / ({} x memory_bandwidth)",
                    terms_.memory_share);
    launches();
    bytes();
    parameter(gpu_.parameters, "memory_bandwidth", gpu_.name + ": ");
    gpu_parameters({"kernel.latency", "memory.ramp", terms_.memory_share});
    if (terms_.issued_share > 0) issued();
  }

  void issued() {
    node_.formula = fmt::format(
        "kernels x (memory.ramp + kernel.latency) + (bytes - issued) / ({} x "
        "memory_bandwidth) + issued / (memory.issue x SMs)",
        terms_.memory_share);
    input("issued", terms_.issued_share * op_.bytes, "B",
          "of kernels that what the SMs issue binds");
    multiprocessors();
    gpu_parameters({"memory.issue"});
  }

  void collective() {
    input("buffer", op_.comm_bytes, "B");
    count("ranks", where_.size, "on " + counted(where_.nodes, "node"));
    if (where_.size <= 1) {
      node_.formula = "nothing: the only rank of its group has nobody to talk to";
      return;
    }
    count("nodes", where_.nodes, "scale-up domains that the group spans");
    if (op_.leaving != 1)
      input("leaving", op_.leaving, "",
            "what leaves a domain, over what of an exchange of all with "
            "all would: only ranks with copies of an expert send to "
            "each other");
    if (where_.nic_bytes_per_s > 0)
      input("nic", where_.nic_bytes_per_s, "B/s",
            "line rate of the network cards for one group on a node");
    network();
    distance();
    if (given()) return;
    node_.formula = fmt::format("kernel.latency + latency + transfer, by the {} protocol",
                                terms_.low_latency ? "low-latency" : "high-bandwidth");
    const CollectiveFormulas formulas = collective_formulas(job_, op_, where_, terms_.low_latency);
    node_.inputs.push_back(number_node("latency", terms_.latency_s, "s", formulas.latency));
    node_.inputs.push_back(number_node("transfer", terms_.transfer_s, "s", formulas.transfer));
    if (op_.bytes > 0) {
      node_.formula += " + copies / (memory.permute x memory_bandwidth) x kernels.memory_factor";
      input("copies", op_.bytes, "B", "HBM traffic of reordering tokens");
      gpu_parameters({"memory.permute"});
    }
    pcie();
    bandwidth();
    gpu_parameters({"kernel.latency"});
    collective_parameters();
  }

  /// By an algorithm that the node's file gives; false: by none.
  bool given() {
    const auto found = cost::given_time(job_, op_, where_);
    if (!found || !*found) return false;
    const cost::GivenTime& it = **found;
    node_.formula = fmt::format(
        "kernel.latency + start + hops + first loop + (loops - 1) x further loop, by {} ({}), "
        "the {} protocol{}",
        it.name, it.file, it.protocol,
        op_.bytes > 0 ? ", + copies / (memory.permute x memory_bandwidth)" : "");
    input("start", it.time.latency_s - it.hops_s, "s",
          "of the collective and, of the Simple protocol, its ramp");
    input("hops", it.hops_s, "s", "one behind the other on the longest way");
    input("first loop", it.first_s, "s", "its transfers, played step by step on the links");
    input("loops", it.loops, "", "so that no chunk is larger than a slot of its connection");
    input("chunk", it.chunk_bytes, "B", "of a loop");
    input("further loop", it.further_s, "s", "behind the one before it");
    const double moves_s = it.first_s + (it.loops - 1) * it.further_s;
    if (it.time.transfer_s > moves_s)
      input("PCIe", it.time.transfer_s, "s",
            "the loops together take at least this: the fullest link of the node's PCIe tree");
    if (op_.bytes > 0) input("copies", op_.bytes, "B", "HBM traffic of reordering tokens");
    gpu_parameters({"kernel.latency"});
    collective_parameters();
    return true;
  }

  /// Of the node's PCIe tree, the link that everybody's bytes fill first.
  void pcie() {
    const auto& groups = model_.pcie();
    if (groups == nullptr || !groups->carries(where_) || terms_.transfer_s <= 0) return;
    const cost::Traffic sent = cost::traffic(op_, where_);
    const double bytes = sent.intra_bytes + sent.nic_bytes;
    const double seconds = groups->s_per_byte(op_) * bytes;
    held_by_pcie_ = seconds >= terms_.transfer_s;
    input("PCIe", seconds, "s",
          fmt::format("the transfer takes at least this: {:.4g} B that every rank sends x {:.4g} s "
                      "a GB of the fullest PCIe link, which gives {:.2g} of its line rate, that "
                      "between sockets all of it",
                      bytes, groups->s_per_byte(op_) * 1e9, cost::kPcieShare));
  }

  /// Of the fabric, what holds the cards up or adds to the latency.
  void network() {
    const plan::FabricLoad load = cost::network_load(job_, op_, where_);
    const plan::LinkLoad* link = load.fullest();
    if (link != nullptr && link->slowdown > 1)
      input("fabric", link->slowdown, "",
            fmt::format("nic is divided by it: the fullest {} link carries {:.4g} bytes for "
                        "each that a node sends",
                        link->link, link->bytes));
    const double hop_s = job_.cluster.fabric.topology.hop_s;
    if (hop_s > 0 && load.hops_beyond_first() > 0)
      input("hops beyond the first", load.hops_beyond_first(), "",
            "each adds the fabric's hop_latency to the latency, in a ring "
            "to every step");
    const double rails = op_.collective == CollectiveKind::kAllToAll ? where_.exchange_crosses_rails
                                                                     : where_.ring_crosses_rails;
    if (rails > 0)
      input("to other rails", rails, "",
            "share of what leaves a node that first goes to the GPU there "
            "whose rail leads on: no switch joins rails");
  }

  /// Of nodes far from each other.
  void distance() {
    const base::ParameterSet& fabric = job_.cluster.fabric.parameters;
    const double round_trip_s = fabric.value_or("distance.round_trip", 0);
    if (round_trip_s <= 0 || where_.nodes <= 1) return;
    input("round_trip", round_trip_s, "s",
          "between nodes; half of it adds to the latency of every send, hop and level of a tree");
    if (!fabric.has("distance.loss")) return;
    input("loss", fabric.at("distance.loss"), "",
          "of packets: nic x line_efficiency is at most connections x 1448 B / round_trip x "
          "sqrt(3/2) / sqrt(loss)");
    input("connections", fabric.value_or("distance.connections", 1), "", "of two ranks");
  }

  /// What moves a gather, a scatter or an all-reduce; the others' formulas name their own.
  void bandwidth() {
    if (op_.collective == CollectiveKind::kSendRecv || op_.collective == CollectiveKind::kAllToAll)
      return;
    const auto ranks = static_cast<double>(where_.size);
    const double bytes = (op_.collective == CollectiveKind::kAllReduce ? 2 : 1) * (ranks - 1) /
                         ranks * op_.comm_bytes;
    if (terms_.transfer_s <= 0) return;
    const std::string_view inside =
        "the ring's for that many ranks, or the switch's where it reduces and is quicker";
    input("bandwidth", bytes / terms_.transfer_s, "B/s",
          held_by_pcie_        ? "what the fullest PCIe link leaves"
          : terms_.low_latency ? "collective.low_latency_bandwidth"
          : where_.nodes <= 1  ? std::string(inside)
                               : fmt::format("the lesser of the ring's for {} ranks in a node "
                                              "and nic x collective.line_efficiency",
                                             where_.size / where_.nodes));
  }

  void collective_parameters() {
    inside({"ring_bandwidth", "half_ring_bandwidth", "pair_ring_bandwidth", "pair_bandwidth",
            "mesh_links", "all_to_all_bandwidth", "in_switch_bandwidth", "in_switch_bus_cap",
            "low_latency_bandwidth", "low_latency_base", "low_latency_hop", "latency", "ramp",
            "ramp_half_size", "ring_base", "domain_hop_latency", "peer_latency", "send_latency"});
    if (where_.nodes <= 1) return;
    between({"line_efficiency", "all_to_all_line_efficiency", "low_latency_bandwidth",
             "low_latency_base", "low_latency_hop", "low_latency_domain_hop",
             "low_latency_tree_latency", "latency", "ramp", "ramp_half_size", "tree_latency",
             "ring_base", "ring_hop_latency", "peer_latency", "send_latency"});
  }

  const spec::Job& job_;
  const spec::Gpu& gpu_;
  const Operator& op_;
  const GroupPlacement& where_;
  const cost::CostModel& model_;
  cost::Terms terms_;
  cost::Price price_;
  bool with_parameters_;
  bool held_by_pcie_ = false;
  Explanation node_;
};

}  // namespace

Explanation explain_price(const spec::Job& job, const Operator& op, const GroupPlacement& where,
                          const cost::CostModel& model, bool with_parameters) {
  return PriceNode(job, op, where, model, with_parameters).take();
}

}  // namespace ergometer::report
