#include "report/summary/job_json.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/collection.h"
#include "base/json_writer.h"
#include "spec/cluster/boards_limit.h"
#include "spec/job/circuits.h"
#include "spec/job/compression.h"
#include "spec/job/host_link.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"
#include "spec/job/overrides.h"
#include "spec/settings/setting_values.h"
#include "workload/parameters.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

int64_t moe_layers(const spec::Model& model) {
  return std::ranges::count_if(model.layers, [](const spec::Layer& l) { return l.moe; });
}

void write_experts(JsonWriter& json, const spec::Model& model) {
  const spec::Experts& e = model.experts;
  json.key("experts").begin_object();
  json.member("count", e.count).member("top_k", e.top_k).member("ffn", e.ffn);
  json.member("shared_ffn", e.shared_ffn).member("layers", moe_layers(model));
  json.end_object();
}

void write_vision(JsonWriter& json, const spec::Model& model) {
  const spec::Vision& vision = *model.vision;
  json.key("vision").begin_object();
  json.member("parameters", workload::count_parameters(model).vision)
      .member("layers", vision.tower.layer_count())
      .member("hidden", vision.tower.hidden)
      .member("ffn", vision.tower.ffn)
      .member("heads", vision.tower.heads);
  json.member("tile_tokens", vision.tile_tokens).member("decoder_tokens_per_tile", vision.tokens());
  json.end_object();
}

void write_model(JsonWriter& json, const spec::Model& model) {
  const workload::ParameterCount count = workload::count_parameters(model);
  json.key("model").begin_object();
  json.member("name", model.name)
      .member("architecture", model.architecture)
      .member("source", model.source);
  json.member("parameters", count.total).member("active_parameters", count.active);
  json.member("embedding_parameters", count.embedding).member("mtp_parameters", count.mtp);
  json.member("layers", model.layer_count())
      .member("hidden", model.hidden)
      .member("ffn", model.ffn);
  json.member("heads", model.heads)
      .member("kv_heads", model.kv_heads)
      .member("head_dim", model.head_dim);
  json.member("vocab", model.vocab).member("tied_embeddings", model.tied_embeddings);
  json.member("mtp_layers", model.mtp_layers);
  if (model.experts.count > 0) write_experts(json, model);
  if (model.vision != nullptr) write_vision(json, model);
  json.list("unknown_keys", model.unknown_keys, base::kOneLine);
  json.end_object();
}

/// What a network's links join, in which phase of a step where circuits change within it.
std::vector<std::pair<std::string_view, spec::Dimension>> phased_dimensions(const spec::Job& job) {
  const spec::CircuitPhases phases = spec::circuit_phases(job);
  std::vector<std::pair<std::string_view, spec::Dimension>> rows;
  const auto add = [&](std::string_view phase, int64_t onward) {
    for (spec::Dimension& it :
         spec::dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp, onward))
      rows.emplace_back(phase, std::move(it));
  };
  add(phases.change() ? "passes" : "", phases.passes);
  if (phases.change()) add("end", phases.end);
  return rows;
}

/// How a network without a tree of switches is wired, or into which planes one with is divided.
void write_topology(JsonWriter& json, const spec::Job& job) {
  const spec::Fabric& fabric = job.cluster.fabric;
  const spec::Planes& planes = fabric.planes;
  if (planes.count > 1)
    json.member("planes", planes.count)
        .member("planes_down", planes.down)
        .member("spray", planes.spray);
  for (const auto& [name, as] :
       {std::pair("distance.round_trip", "round_trip_s"), std::pair("distance.loss", "packet_loss"),
        std::pair("distance.connections", "connections")})
    if (const base::Parameter* known = fabric.parameters.find(name)) json.member(as, known->value);
  if (spec::has_tiers(fabric.kind)) return;
  const bool optical = fabric.kind == spec::FabricKind::kOptical;
  if (optical)
    json.member("reconfigure", spec::to_word(fabric.topology.circuits.when))
        .member("reconfiguration_s", fabric.topology.circuits.reconfiguration_s);
  else if (fabric.kind == spec::FabricKind::kTorus)
    json.member("wraparound", fabric.topology.wraparound);
  else
    json.member("routing", spec::to_word(fabric.topology.routing));
  json.rows("dimensions", phased_dimensions(job), [&](const auto& row) {
    const auto& [phase, it] = row;
    json.member("name", it.name).member("size", it.size).member("nodes", it.unit);
    if (optical) json.member("links", it.links);
    json.member("link_bytes_per_s", it.link_bytes_per_s);
    if (!phase.empty()) json.member("phase", phase);
  });
}

void write_pcie(JsonWriter& json, const spec::Node& node) {
  const std::optional<spec::PcieTree> tree = spec::pcie_tree(node);
  if (!tree) return;
  json.key("pcie").begin_object();
  json.member("sockets", static_cast<int64_t>(tree->sockets()))
      .member("switches", static_cast<int64_t>(tree->switches()))
      .member("peer_to_peer", tree->peer_to_peer)
      .member("gpudirect", tree->gpudirect)
      .member("host_bytes_per_s", spec::host_bytes_per_s(node));
  json.end_object();
}

/// Whether nothing that a GPU draws for was measured or fitted.
bool power_is_assumed(const spec::Gpu& gpu) {
  const auto is_assumed = [&](const char* name) {
    const base::Parameter* found = gpu.parameters.find(name);
    return found != nullptr && found->grade == base::Grade::kAssumed;
  };
  return is_assumed("power.constant") && is_assumed("power.leakage") &&
         is_assumed("power.active") && is_assumed("power.tensor_fp16");
}

void write_cluster(JsonWriter& json, const spec::Job& job) {
  const spec::Cluster& cluster = job.cluster;
  const spec::Node& node = cluster.node;
  json.key("cluster").begin_object();
  json.member("name", cluster.name).member("source", cluster.source);
  json.member("gpus", job.gpus)
      .member("nodes", job.nodes())
      .member("gpus_per_node", static_cast<int64_t>(node.gpus));
  json.member("domain_gpus", cluster.domain_gpus);
  json.member("node", node.name).member("cpu", node.cpu);
  json.member("gpu", node.gpu.name).member("gpu_vendor", node.gpu.vendor);
  json.member("gpu_memory_bytes", node.gpu.memory_bytes)
      .member("gpu_clock_hz", node.gpu.sustained_clock_hz);
  if (cluster.groups.empty() && power_is_assumed(node.gpu)) json.member("gpu_power_assumed", true);
  json.member("intra_link", to_word(node.intra))
      .member("intra_bytes_per_s", node.intra_bytes_per_s);
  json.member("nics_per_node", static_cast<int64_t>(node.nics.size()));
  json.member("nic_bytes_per_s_per_node", base::sum(node.nics, &spec::Nic::bytes_per_s));
  write_pcie(json, node);
  json.member("fabric", to_word(cluster.fabric.kind));
  write_topology(json, job);
  if (!cluster.groups.empty()) {
    json.rows("groups", cluster.groups, [&](const spec::NodeGroup& group) {
      json.member("node", group.node.name).member("nodes", group.nodes);
      json.member("gpu", group.node.gpu.name)
          .member("gpu_vendor", group.node.gpu.vendor)
          .member("gpu_memory_bytes", group.node.gpu.memory_bytes);
      if (power_is_assumed(group.node.gpu)) json.member("gpu_power_assumed", true);
    });
  }
  json.end_object();
}

void write_parallelism(JsonWriter& json, const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  json.key("parallelism").begin_object();
  json.member("tp", p.tp)
      .member("cp", p.cp)
      .member("pp", p.pp)
      .member("vpp", p.vpp)
      .member("dp", p.dp);
  json.member("ep", p.ep).member("etp", p.etp == 0 ? p.tp : p.etp);
  json.member("sequence_parallel", p.sequence_parallel).member("cp_comm_type", to_word(p.cp_comm));
  json.member("schedule", to_word(p.schedule)).member("microbatch_group", p.microbatch_group);
  json.member("vocabulary_parallel", to_word(p.vocabulary));
  if (p.trains_apart() || p.recovery_steps > 0)
    json.member("stage_training", to_word(p.stage_training))
        .member("recovery_steps", p.recovery_steps);
  json.member("zero", p.zero_stage)
      .member("fsdp", p.fsdp)
      .member("fsdp_shard_size", p.fsdp_shard_size);
  json.member("first_stage_layers", p.first_stage_layers)
      .member("last_stage_layers", p.last_stage_layers);
  json.member("embedding_counts_as_layer", p.embedding_counts_as_layer);
  json.member("loss_counts_as_layer", p.loss_counts_as_layer);
  json.list("stage_layers", p.stage_layers, base::kOneLine);
  if (p.layers_by_speed) json.member("layers_by_speed", true);
  if (p.batches_by_speed) {
    json.member("batches_by_speed", true);
    json.list("group_micro_batches", p.group_micro_batches, base::kOneLine);
  }
  if (!p.rank_map.empty()) json.list("rank_map", p.rank_map, base::kOneLine);
  json.end_object();
}

void write_overlap(JsonWriter& json, const spec::Training& t) {
  json.member("overlap_grad_reduce", t.overlap_grad_reduce)
      .member("overlap_param_gather", t.overlap_param_gather);
  json.member("tp_comm_overlap", t.overlap_tp).member("overlap_p2p", t.overlap_p2p);
  json.member("batch_p2p_sync", t.batch_p2p_sync).member("bucket_elements", t.bucket_elements);
  if (!t.fuse.empty()) json.list("fuse", t.fuse);
}

void write_compression(JsonWriter& json, const spec::Job& job) {
  const spec::Compression borders = spec::activation_compression(job);
  const spec::Compression gradients = spec::gradient_compression(job);
  if (!borders.none()) json.member("compress_activations", spec::compression_text(borders));
  if (!gradients.none()) json.member("compress_gradients", spec::compression_text(gradients));
}

void write_moe(JsonWriter& json, const spec::Training& t) {
  json.member("moe_dispatcher", to_word(t.moe_dispatcher))
      .member("moe_grouped_gemm", t.moe_grouped_gemm);
  json.member("moe_flex_backend", flex_backend(t.moe_dispatcher))
      .member("overlap_expert_parallel", t.overlap_expert_parallel);
  json.member("moe_capacity_factor", t.moe_capacity_factor);
  if (t.moe_capacity_factor > 0) json.member("moe_pad_to_capacity", t.moe_pad_to_capacity);
  json.member("moe_shared_overlap", t.moe_shared_overlap);
  if (!t.moe_routing.is_even()) json.member("moe_routing", t.moe_routing.text);
  if (t.moe_placement != spec::ExpertPlacement::kInOrder)
    json.member("moe_expert_placement", to_word(t.moe_placement));
  if (t.moe_redundant_experts > 0) json.member("moe_redundant_experts", t.moe_redundant_experts);
}

/// What is as usual is left out.
void write_sequences(JsonWriter& json, const spec::Training& t) {
  const spec::Training usual;
  if (!t.sequence_lengths.is_even() && !t.sequence_lengths.has_images())
    json.member("sequence_lengths", t.sequence_lengths.text);
  if (t.sequence_batching != usual.sequence_batching)
    json.member("sequence_batching", to_word(t.sequence_batching));
  if (t.sequence_order != usual.sequence_order)
    json.member("sequence_order", to_word(t.sequence_order));
  if (t.sequence_seed != usual.sequence_seed) json.member("shuffle", t.sequence_seed);
}

void write_images(JsonWriter& json, const spec::Training& t) {
  json.member("images_per_sample", t.images_per_sample)
      .member("tiles_per_image", t.tiles_per_image)
      .member("image_tokens", t.tokens_per_image);
  if (t.sequence_lengths.images_left_out > 0)
    json.member("images_left_out", t.sequence_lengths.images_left_out);
  json.list("freeze", t.freeze, base::kOneLine);
  if (!t.sequence_lengths.has_images()) return;
  json.member("samples", t.sequence_lengths.text)
      .member("sample_packing", to_word(t.sample_packing))
      .member("packing_rounds", t.packing_rounds)
      .member("pack_tiles", t.pack_tiles);
}

void write_training(JsonWriter& json, const spec::Job& job) {
  const spec::Training& t = job.training;
  json.key("training").begin_object();
  json.member("mode", to_word(t.mode)).member("framework", to_word(t.framework));
  json.member("software", job.software.name);
  json.member("micro_batch_size", t.micro_batch).member("global_batch_size", t.global_batch);
  if (t.least_batch) json.member("least_batch", true);
  json.member("micro_batches", job.micro_batches()).member("seq_length", t.seq_length);
  write_sequences(json, t);
  if (job.model.vision != nullptr) write_images(json, t);
  json.member("generate_tokens", t.generate_tokens).member("precision", to_word(t.precision));
  if (t.precision == spec::Precision::kFp32 || !t.tf32) json.member("tf32", t.tf32);
  if (t.precision == spec::Precision::kFp8) json.member("fp8_recipe", to_word(t.fp8_recipe));
  if (t.precision == spec::Precision::kFp8 || t.precision == spec::Precision::kNvfp4)
    json.member("fp8_parameters", t.fp8_parameters);
  json.member("fp8_attention", t.fp8_attention).member("gradients_fp32", t.gradients_fp32);
  json.member("recompute", to_word(t.recompute))
      .member("recompute_method", to_word(t.recompute_method));
  json.member("recompute_num_layers", t.recompute_layers);
  if (!t.recompute_stage_layers.empty())
    json.list("recompute_stage_layers", t.recompute_stage_layers, base::kOneLine);
  json.list("recompute_modules", t.recompute_modules, base::kOneLine);
  write_overlap(json, t);
  write_compression(json, job);
  json.member("attention", to_word(t.attention))
      .member("fused_cross_entropy", t.fused_cross_entropy);
  if (t.linear_cross_entropy) json.member("linear_cross_entropy", true);
  if (t.optimizer_offload) json.member("optimizer_offload", true);
  if (t.offloaded_layers > 0) json.member("cpu_offloading_num_layers", t.offloaded_layers);
  if (!t.reduce_every_micro_batch) json.member("reduce_every_micro_batch", false);
  json.member("grad_accumulation_fusion", t.grad_accumulation_fusion)
      .member("fused_rope", t.fused_rope);
  if (job.model.experts.count > 0) write_moe(json, t);
  json.member("lora_rank", t.lora_rank);
  json.list("lora_targets", t.lora_targets, base::kOneLine);
  if (!t.lora_layers.empty()) json.list("lora_layers", t.lora_layers, base::kOneLine);
  if (t.quantize != spec::FrozenWeights::k16Bit) json.member("quantize", to_word(t.quantize));
  if (!t.master_weights) json.member("master_weights", false);
  if (t.moments != spec::Moments::kFp32) json.member("optimizer_moments", to_word(t.moments));
  if (t.master_remainders) json.member("use_precision_aware_optimizer", true);
  if (t.packed_mean_length > 0) json.member("packed_mean_length", t.packed_mean_length);
  json.member("vocab_multiple", t.vocab_multiple).member("padded_vocab", job.padded_vocab());
  json.member("flops", spec::setting_value("flops", job)).member("cuda_graphs", t.cuda_graphs);
  json.list("cuda_graph_scope", t.cuda_graph_scope, base::kOneLine);
  json.end_object();
}

/// What was not asked for is 0, and null here: the GPU's or the cooling's own.
void write_given(JsonWriter& json, const char* name, double value) {
  json.key(name);
  value > 0 ? json.value(value) : json.null();
}

void write_overrides(JsonWriter& json, const std::vector<spec::Override>& overrides) {
  json.rows("overrides", overrides, [&](const spec::Override& o) {
    json.key("node");
    o.node < 0 ? json.null() : json.value(o.node);
    json.key("gpu");
    o.gpu < 0 ? json.null() : json.value(o.gpu);
    json.member("what", spec::to_word(o.kind)).member("value", o.value).member("text", o.text);
  });
}

void write_smoothing(JsonWriter& json, const spec::Conditions& c) {
  json.key("power_smoothing");
  if (c.smoothing_floor == 0) return void(json.null());
  json.begin_object().member("floor", c.smoothing_floor);
  write_given(json, "up_w_per_s", c.smoothing_up_w_per_s);
  write_given(json, "down_w_per_s", c.smoothing_down_w_per_s);
  json.member("hysteresis_s", c.smoothing_hysteresis_s).end_object();
}

void write_run_phases(JsonWriter& json, const spec::RunPhases& run) {
  if (!run.given()) return;
  json.key("run_phases").begin_object();
  write_given(json, "steps", run.steps);
  write_given(json, "length_s", run.length_s);
  write_given(json, "eval_every", run.eval_every);
  write_given(json, "eval_from", run.eval_from);
  write_given(json, "eval_batches", run.eval_batches);
  write_given(json, "eval_pause_s", run.eval_pause_s);
  json.member("pause_s", run.pause_s).end_object();
}

void write_conditions(JsonWriter& json, const spec::Job& job) {
  const spec::Conditions& c = job.conditions;
  json.key("conditions").begin_object();
  json.member("clocks", spec::setting_value("clocks", job));
  write_given(json, "power_cap_w", c.power_cap_w);
  if (spec::cap_is_boards_limit(job)) json.member("power_cap_is_board_limit", true);
  write_given(json, "lock_clock_mhz", c.lock_clock_hz / 1e6);
  json.member("cooling", to_word(c.cooling));
  json.key("inlet_c");
  c.has_inlet ? json.value(c.inlet_c) : json.null();
  write_given(json, "fan", c.fan);
  json.member("seed", c.seed).member("operand_activity", c.operand_activity);
  write_given(json, "duration_s", c.duration_s);
  write_given(json, "measured_step", static_cast<double>(c.measured_step));
  write_given(json, "start_c", c.start_c);
  json.member("sensor", to_word(c.sensor));
  write_run_phases(json, c.run);
  write_given(json, "cluster_cap_w", c.cluster_cap_w);
  json.member("pue", c.pue);
  write_smoothing(json, c);
  write_overrides(json, c.overrides);
  json.end_object();
}

}  // namespace

std::string job_json(const spec::Job& job) {
  JsonWriter json;
  json.begin_object();
  write_model(json, job.model);
  write_cluster(json, job);
  write_parallelism(json, job);
  write_training(json, job);
  json.key("recipe").begin_object(base::kOneLine);
  json.member("name", job.recipe.name).member("title", job.recipe.title);
  json.member("source", job.recipe.source).end_object();
  write_conditions(json, job);
  json.end_object();
  return json.take();
}

std::string_view to_word(spec::IntraKind kind) {
  switch (kind) {
    case spec::IntraKind::kNvlinkSwitch: return "nvlink switch";
    case spec::IntraKind::kNvlinkMesh: return "nvlink mesh";
    case spec::IntraKind::kXgmiMesh: return "xgmi mesh";
    case spec::IntraKind::kPcie: return "pcie";
  }
  ERGOMETER_CHECK(false, "unknown link");
  return {};
}

std::string_view to_word(spec::FabricKind kind) {
  switch (kind) {
    case spec::FabricKind::kRailOptimized: return "rail-optimised";
    case spec::FabricKind::kFatTree: return "fat tree";
    case spec::FabricKind::kSingleSwitch: return "single switch";
    case spec::FabricKind::kRailOnly:
    case spec::FabricKind::kDragonfly:
    case spec::FabricKind::kTorus:
    case spec::FabricKind::kHyperX:
    case spec::FabricKind::kOptical: return spec::to_word(kind);
  }
  ERGOMETER_CHECK(false, "unknown fabric");
  return {};
}

}  // namespace ergometer::report
