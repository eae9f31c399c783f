#pragma once

#include <memory>
#include <vector>

#include "cost/pcie_groups.h"
#include "engine/outcome/link_load.h"

namespace ergometer::engine {

/// What the fullest links of nodes' PCIe trees carry, those upward from switches and those between
/// sockets; of unlike nodes, those of the kind where they are fullest.
class PcieUse {
 public:
  explicit PcieUse(const EngineInput& input);

  /// An operator that a role's ranks run so many times, sending so many bytes each.
  void add(size_t role, size_t op, double times, const cost::Traffic& sent);
  void write(double step_s, std::vector<run::Link>& links);

 private:
  /// Nodes of one kind that say a tree; the roles of one after the other are added up.
  struct Kind {
    size_t group = 0;
    std::shared_ptr<const cost::PcieGroups> groups;
    std::vector<bool> has_role = {};
    size_t node = 0;
    std::vector<plan::PcieLoad::Link> here = {};
  };
  struct Fullest {
    const char* kind;
    LinkLoad load = {};
    double bytes_per_s = 0;  ///< its line rate
  };
  void add(Kind& kind, size_t role, size_t op, double times, const cost::Traffic& sent);
  void close_node(Kind& kind);
  Fullest& of(plan::PcieLoad::Level level) {
    return level == plan::PcieLoad::Level::kSocket ? socket_ : uplink_;
  }
  bool has_switches() const;
  bool has_sockets() const;

  const EngineInput& input_;
  size_t roles_on_node_;
  std::vector<Kind> kinds_;
  Fullest uplink_{"uplink"}, socket_{"socket"};
};

/// What a job does on the link upward from a bridge of the fullest node's PCIe tree.
struct PcieLinkUse {
  double busy_s = 0;  ///< of a step, that operators with bytes on it take
  /// Of the time that it takes, what the link is full meanwhile; in the mean by time.
  double load = 0;
};

/// Bridge by bridge, of nodes that are alike; none where they say no tree.
std::vector<PcieLinkUse> pcie_use(const EngineInput& input);

}  // namespace ergometer::engine
