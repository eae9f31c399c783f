#pragma once

#include <vector>

#include "spec/job/pcie_tree.h"

namespace ergometer::plan {

/// Bytes on every link of a node's PCIe tree, each direction by itself, as messages are put on it.
/// A message climbs to the first bridge that is above both its ends and goes down from there; one
/// that is staged in the host's memory climbs to the root complex first, even between GPUs of one
/// switch, and on from one socket to another. What one end's NIC itself carries is not counted.
class PcieLoad {
 public:
  /// `gpu_bytes_per_s`: line rate of a GPU's own link, one direction.
  PcieLoad(const spec::PcieTree& tree, double gpu_bytes_per_s);

  void send(int gpu, int to_gpu, double bytes);
  void leave(int gpu, int nic, double bytes);
  void arrive(int nic, int gpu, double bytes);
  /// Copies between a GPU and the host's memory, at its own socket.
  void to_host(int gpu, double bytes);
  void from_host(int gpu, double bytes);

  enum class Level { kGpu, kUplink, kSocket };
  struct Link {
    Level level = Level::kGpu;
    double bytes_per_s = 0;
    double up_bytes = 0, down_bytes = 0;
    double bytes() const { return up_bytes > down_bytes ? up_bytes : down_bytes; }
  };
  /// The links upward from bridges, in their order, then those of GPUs.
  const std::vector<Link>& links() const { return links_; }

  /// How long the fullest link takes at `share` of its line rate; a socket's link takes what its
  /// rate says.
  double seconds(double share) const;

 private:
  void carry(int from, int to, bool staged, double bytes);

  const spec::PcieTree& tree_;
  std::vector<Link> links_;
};

}  // namespace ergometer::plan
