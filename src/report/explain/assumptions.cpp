#include "report/explain/assumptions.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "report/explain/explain.h"
#include "report/format.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/host_link.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"

namespace ergometer::report {
namespace {

using run::Assumption;

void add_settings(const spec::Job& job, std::vector<Assumption>& all) {
  for (const Explanation& group : explain_settings(job).inputs)
    for (const Explanation& setting : group.inputs)
      all.push_back({group.name, setting.name, setting.text, setting.source, {}});
}

std::string value_of(const base::Parameter& parameter) {
  // Energies of a byte or an operation are smaller than any prefix in use.
  constexpr double kSmall = 1e-6;
  if (parameter.unit.empty()) return fmt::format("{:.6g}", parameter.value);
  if (parameter.unit != "s" && parameter.value != 0 && std::abs(parameter.value) < kSmall)
    return fmt::format("{:.4g} {}", parameter.value, parameter.unit);
  return format_quantity(parameter.value, parameter.unit);
}

bool is_of_other_cooling(std::string_view name, std::string_view cooling) {
  constexpr std::string_view kCooling = "cooling.";
  return name.starts_with(kCooling) &&
         !name.substr(kCooling.size()).starts_with(fmt::format("{}.", cooling));
}

void add_parameters(const std::string& group, const base::ParameterSet& parameters,
                    std::string_view cooling, std::vector<Assumption>& all) {
  for (const auto& [name, parameter] : parameters.all())
    // Of a PCIe tree rates; its places are no numbers to doubt.
    if (!is_of_other_cooling(name, cooling) &&
        (!name.starts_with("pcie.") || !parameter.unit.empty()))
      all.push_back(
          {group, name,
           name.starts_with(spec::kGivenAlgorithms) ? "an MSCCL file" : value_of(parameter),
           parameter.source, std::string(base::to_string(parameter.grade))});
}

void add_offload(const spec::Job& job, std::vector<Assumption>& all) {
  if (!job.offloads_activations()) return;
  all.push_back(
      {"host", "activation_transfers",
       fmt::format("{:.1f} GB/s", spec::host_bytes_per_s(job.cluster) / 1e9),
       fmt::format(
           "the activations of {} layers travel to the host and back beside "
           "compute, at host_link x host.link_share{}",
           job.training.offloaded_layers,
           spec::tree_sets_host_rate(job.cluster.node) ? ", a share that the PCIe tree tells" : ""),
       std::string(base::to_string(base::Grade::kAssumed))});
}

}  // namespace

std::vector<Assumption> assumptions(const spec::Job& job) {
  std::vector<Assumption> all;
  add_settings(job, all);
  if (!job.model.source.empty())
    all.push_back({"model", "architecture", job.model.architecture, job.model.source, {}});
  const std::string_view cooling = to_word(job.conditions.cooling);
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group) {
    const spec::Node& node = spec::node_of_group(job.cluster, group);
    const std::string number = spec::is_mixed(job.cluster) ? fmt::format("{}", group) : "";
    add_parameters("gpu" + number, node.gpu.parameters, cooling, all);
    add_parameters("node" + number, node.parameters, cooling, all);
  }
  add_parameters("fabric", job.cluster.fabric.parameters, cooling, all);
  add_parameters("software", job.software.parameters, cooling, all);
  add_offload(job, all);
  return all;
}

}  // namespace ergometer::report
