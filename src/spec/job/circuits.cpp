#include "spec/job/circuits.h"

#include <algorithm>

namespace ergometer::spec {
namespace {

bool divides_links(const Fabric& fabric, int64_t nodes, int64_t stages) {
  return fabric.topology.circuits.degree > 1 && stages > 1 && nodes > stages && nodes % stages == 0;
}

/// Whether groups of so many ranks, those of one `stride` apart, send over the network.
bool leaves_domains(const Job& job, int64_t ranks, int64_t stride) {
  const bool anywhere = !job.parallelism.rank_map.empty();
  return ranks > 1 && (anywhere || job.cluster.domain_gpus % (ranks * stride) != 0);
}

/// What stages send within themselves over the network: beside their passes, behind these as
/// gradients, and behind the optimizer as parameters.
struct WithinStages {
  bool passes = false, gradients = false, parameters = false;
};

WithinStages sent_within_stages(const Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t replicas = p.cp * p.dp, expert_tensor = p.etp > 0 ? p.etp : p.tp;
  const bool data = leaves_domains(job, replicas, p.tp);
  const bool reduces = data && !p.shards_gradients();
  const bool gathers = data && !p.shards_parameters() && p.zero_stage >= 1;
  WithinStages sent;
  sent.passes = leaves_domains(job, p.tp, 1) || leaves_domains(job, p.cp, p.tp) ||
                leaves_domains(job, p.ep, expert_tensor) || leaves_domains(job, expert_tensor, 1) ||
                (data && p.shards_gradients()) || (reduces && job.training.overlap_grad_reduce) ||
                (gathers && job.training.overlap_param_gather);
  sent.gradients = reduces && !job.training.overlap_grad_reduce;
  sent.parameters = gathers && !job.training.overlap_param_gather;
  return sent;
}

bool sums_embeddings(const Job& job) {
  const Parallelism& p = job.parallelism;
  return (job.model.tied_embeddings || job.model.mtp_layers > 0) && !p.divides_vocabulary() &&
         p.stage_of(p.parts() - 1) != 0;
}

}  // namespace

std::vector<Dimension> dimensions_of(const Fabric& fabric, int64_t nodes, int64_t stages,
                                     int64_t onward) {
  if (fabric.kind != FabricKind::kOptical) return fabric.topology.dimensions;
  const auto& [degree, rate, when, seconds] = fabric.topology.circuits;
  if (!divides_links(fabric, nodes, stages)) return {{"circuit", nodes, 1, 1, rate, degree}};
  const int64_t step = nodes / stages, to_stages = onward < 0 ? degree / 2 : onward;
  std::vector<Dimension> lines = {{"ring", step, 1, 1, rate, degree - to_stages},
                                  {"stage", stages, step, 1, rate, to_stages}};
  std::erase_if(lines, [](const Dimension& line) { return line.links == 0; });
  return lines;
}

std::vector<Dimension> dimensions_of(const Job& job) {
  return dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp);
}

CircuitPhases circuit_phases(const Job& job) {
  const Circuits& circuits = job.cluster.fabric.topology.circuits;
  if (circuits.when != Reconfigure::kPhase || !job.trains() || job.parallelism.trains_apart() ||
      !divides_links(job.cluster.fabric, job.nodes(), job.parallelism.pp))
    return {};
  const WithinStages sent = sent_within_stages(job);
  if (!sent.gradients && !sent.parameters) return {};
  const int64_t half = circuits.degree / 2;
  const CircuitPhases phases{.passes = sent.passes ? half : circuits.degree,
                             .end = sent.gradients && sums_embeddings(job) ? half : 1,
                             .end_reduces = sent.gradients,
                             .end_gathers = sent.parameters,
                             .within_passes = sent.passes};
  return phases.change() ? phases : CircuitPhases{};
}

}  // namespace ergometer::spec
