// What of two clusters belongs to a factor: told apart, and put together anew.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "compare/factors.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/node_groups.h"

namespace ergometer::compare {
namespace {

using Cluster = spec::Cluster;

struct Owner {
  char letter;
  base::ParameterSet& (*of)(Cluster&);
};
constexpr std::array kOwners = std::to_array<Owner>({
    {'g', [](Cluster& c) -> base::ParameterSet& { return c.node.gpu.parameters; }},
    {'n', [](Cluster& c) -> base::ParameterSet& { return c.node.parameters; }},
    {'f', [](Cluster& c) -> base::ParameterSet& { return c.fabric.parameters; }},
});

const base::ParameterSet& set_of(const Owner& owner, const Cluster& cluster) {
  return owner.of(const_cast<Cluster&>(cluster));
}

std::string parameter_text(const base::Parameter* parameter) {
  if (parameter == nullptr) return "none";
  return parameter->unit == "B" ? base::format_binary_bytes(parameter->value)
                                : base::format_si(parameter->value, parameter->unit);
}

/// What is said of both when their three digits are the same: all digits.
Difference parameter_difference(const std::string& name, const base::Parameter* a,
                                const base::Parameter* b) {
  if (name.starts_with(spec::kGivenAlgorithms))
    return {name, a == nullptr ? "none" : a->source, b == nullptr ? "none" : b->source};
  Difference difference{name, parameter_text(a), parameter_text(b)};
  if (difference.a != difference.b || a == nullptr || b == nullptr) return difference;
  const std::string unit = a->unit.empty() ? "" : ' ' + a->unit;
  return {name, base::shortest(a->value) + unit, base::shortest(b->value) + unit};
}

void add_parameters(const Factor& factor, const Owner& owner, const Cluster& a, const Cluster& b,
                    std::vector<Difference>& found) {
  const base::ParameterSet &left = set_of(owner, a), &right = set_of(owner, b);
  base::ParameterSet both = left;
  for (const auto& [name, parameter] : right.all()) both.set(name, parameter);
  for (const auto& [name, unused] : both.all()) {
    const base::Parameter *x = left.find(name), *y = right.find(name);
    const bool same = x != nullptr && y != nullptr && x->value == y->value;
    if (!same && factor.parameters(owner.letter, name))
      found.push_back(parameter_difference(name, x, y));
  }
  // Of PCIe trees rates tell more than which bridge hangs on which.
  std::ranges::stable_partition(found, [&](const Difference& it) {
    const base::Parameter* of = both.find(it.name);
    return of == nullptr || !it.name.starts_with("pcie.") || !of->unit.empty();
  });
}

bool is_whole_machine(const Factor& factor) { return factor.id == "unlike_nodes"; }

/// What differs of the factor's part of two clusters, each of one kind of node.
std::vector<Difference> plain_differences(const Factor& factor, const Cluster& a,
                                          const Cluster& b) {
  std::vector<Difference> found;
  for (const ClusterField& field : factor.fields) {
    Difference difference{std::string(field.name), field.text(a), field.text(b)};
    if (difference.a != difference.b) found.push_back(std::move(difference));
  }
  if (factor.parameters != nullptr)
    for (const Owner& owner : kOwners) add_parameters(factor, owner, a, b, found);
  return found;
}

/// The cluster as if all of its nodes were those of a group.
Cluster on_group(const Cluster& cluster, size_t group) {
  Cluster plain = cluster;
  plain.node = spec::node_of_group(cluster, group);
  return plain;
}

bool same_machine(const Cluster& a, const Cluster& b) {
  if (a.groups.size() != b.groups.size()) return false;
  for (size_t group = 0; group < spec::group_count(a); ++group) {
    if (spec::is_mixed(a) && a.groups[group].nodes != b.groups[group].nodes) return false;
    for (const Factor& factor : factors())
      if (!plain_differences(factor, on_group(a, group), on_group(b, group)).empty()) return false;
  }
  return true;
}

/// "2 x hgx-a100-80gb, 2 x hgx-h100".
std::string machine_text(const Cluster& cluster) {
  if (!spec::is_mixed(cluster)) return cluster.node.name;
  std::string text;
  for (const spec::NodeGroup& group : cluster.groups)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", group.nodes, group.node.name);
  return text;
}

}  // namespace

std::vector<Difference> cluster_differences(const Factor& factor, const Cluster& a,
                                            const Cluster& b) {
  if (!spec::is_mixed(a) && !spec::is_mixed(b)) return plain_differences(factor, a, b);
  if (!is_whole_machine(factor) || same_machine(a, b)) return {};
  return {{"nodes", machine_text(a), machine_text(b)}};
}

void take_from(const Factor& factor, const Cluster& from, Cluster& to) {
  if (spec::is_mixed(from) || spec::is_mixed(to)) {
    if (is_whole_machine(factor)) to = from;
    return;
  }
  for (const ClusterField& field : factor.fields) field.take(to, from);
  if (factor.parameters == nullptr) return;
  for (const Owner& owner : kOwners) {
    base::ParameterSet mixed;
    for (const auto& [name, parameter] : owner.of(to).all())
      if (!factor.parameters(owner.letter, name)) mixed.set(name, parameter);
    for (const auto& [name, parameter] : set_of(owner, from).all())
      if (factor.parameters(owner.letter, name)) mixed.set(name, parameter);
    owner.of(to) = std::move(mixed);
  }
  spec::copy_fields(to.node.gpu);
}

std::string fault_of(const Cluster& cluster) {
  const spec::Node& node = cluster.node;
  if (cluster.domain_gpus % node.gpus != 0)
    return fmt::format("a domain of {} GPUs does not hold whole nodes of {}", cluster.domain_gpus,
                       node.gpus);
  std::vector<bool> served(static_cast<size_t>(node.gpus), node.nics.empty());
  for (const spec::Nic& nic : node.nics)
    for (const int gpu : nic.gpus) {
      if (gpu >= node.gpus) return fmt::format("a NIC serves GPU {} of {}", gpu, node.gpus);
      served[static_cast<size_t>(gpu)] = true;
    }
  if (base::contains(served, false)) return "a GPU has no NIC";
  return "";
}

}  // namespace ergometer::compare
