#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.h"
#include "spec/job/cluster.h"

namespace ergometer::compare {

/// Causes of one kind change one behind the other where there are too many to try every order.
enum class FactorKind : uint8_t { kWork, kMachine, kLinks, kSurroundings, kLayout, kTechnique };

/// One field of a cluster, as a word that is the same exactly when the values are.
struct ClusterField {
  std::string_view name;
  std::string (*text)(const spec::Cluster&);
  void (*take)(spec::Cluster& to, const spec::Cluster& from);
};

/// A thing that two jobs may differ in: settings, and what of the machine belongs to them. Every
/// setting and every number of a cluster belongs to exactly one factor; what has no effect on time
/// or energy (names, `flops`) to none.
struct Factor {
  std::string_view id, title;
  FactorKind kind = FactorKind::kTechnique;
  std::vector<ClusterField> fields = {};
  /// Whether a parameter of the cluster belongs here. `owner`: 'g' GPU, 'n' node, 'f' fabric.
  bool (*parameters)(char owner, std::string_view name) = nullptr;
  std::vector<std::string_view> settings = {};  ///< those that name it in `spec::setting_table()`
};

/// All there are, in the order in which equals are listed.
const std::vector<Factor>& factors();

/// What of the factor's part of the machine differs. Where either cluster has unlike nodes, the
/// whole machine is the part of one factor, "unlike_nodes": what of two kinds of GPU would belong
/// together is nobody's to say.
std::vector<Difference> cluster_differences(const Factor& factor, const spec::Cluster& a,
                                            const spec::Cluster& b);
/// Gives `to` the factor's part of `from`.
void take_from(const Factor& factor, const spec::Cluster& from, spec::Cluster& to);
/// Why a cluster made of parts of two cannot be; empty: it can.
std::string fault_of(const spec::Cluster& cluster);

}  // namespace ergometer::compare
