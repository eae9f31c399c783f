#include "plan/network/pcie_load.h"

#include <algorithm>

namespace ergometer::plan {

PcieLoad::PcieLoad(const spec::PcieTree& tree, double gpu_bytes_per_s) : tree_(tree) {
  for (const spec::PcieBridge& it : tree.bridges)
    links_.push_back(
        {.level = it.above < 0 ? Level::kSocket : Level::kUplink, .bytes_per_s = it.bytes_per_s});
  links_.resize(tree.bridges.size() + tree.gpus.size(),
                {.level = Level::kGpu, .bytes_per_s = gpu_bytes_per_s});
}

/// Bridges stand behind those above them: of two the later one is no further up.
void PcieLoad::carry(int from, int to, bool staged, double bytes) {
  const auto above = [&](int bridge) { return tree_.bridges[static_cast<size_t>(bridge)].above; };
  while (from != to || (staged && from >= 0 && above(from) >= 0)) {
    const int sender = from, receiver = to;
    if (sender >= receiver) {
      links_[static_cast<size_t>(sender)].up_bytes += bytes;
      from = above(sender);
    }
    if (receiver >= sender) {
      links_[static_cast<size_t>(receiver)].down_bytes += bytes;
      to = above(receiver);
    }
  }
}

void PcieLoad::send(int gpu, int to_gpu, double bytes) {
  const auto from = static_cast<size_t>(gpu), to = static_cast<size_t>(to_gpu);
  links_[tree_.bridges.size() + from].up_bytes += bytes;
  links_[tree_.bridges.size() + to].down_bytes += bytes;
  carry(tree_.gpus[from], tree_.gpus[to], !tree_.peer_to_peer, bytes);
}

void PcieLoad::leave(int gpu, int nic, double bytes) {
  const auto from = static_cast<size_t>(gpu), to = static_cast<size_t>(nic);
  links_[tree_.bridges.size() + from].up_bytes += bytes;
  carry(tree_.gpus[from], tree_.nics[to], !tree_.gpudirect, bytes);
}

void PcieLoad::arrive(int nic, int gpu, double bytes) {
  const auto from = static_cast<size_t>(nic), to = static_cast<size_t>(gpu);
  links_[tree_.bridges.size() + to].down_bytes += bytes;
  carry(tree_.nics[from], tree_.gpus[to], !tree_.gpudirect, bytes);
}

void PcieLoad::to_host(int gpu, double bytes) {
  const auto from = static_cast<size_t>(gpu);
  links_[tree_.bridges.size() + from].up_bytes += bytes;
  for (size_t at = static_cast<size_t>(tree_.gpus[from]); tree_.bridges[at].above >= 0;
       at = static_cast<size_t>(tree_.bridges[at].above))
    links_[at].up_bytes += bytes;
}

void PcieLoad::from_host(int gpu, double bytes) {
  const auto to = static_cast<size_t>(gpu);
  links_[tree_.bridges.size() + to].down_bytes += bytes;
  for (size_t at = static_cast<size_t>(tree_.gpus[to]); tree_.bridges[at].above >= 0;
       at = static_cast<size_t>(tree_.bridges[at].above))
    links_[at].down_bytes += bytes;
}

double PcieLoad::seconds(double share) const {
  double longest = 0;
  for (const Link& link : links_)
    if (link.bytes() > 0)
      longest = std::max(
          longest, link.bytes() / link.bytes_per_s / (link.level == Level::kSocket ? 1 : share));
  return longest;
}

}  // namespace ergometer::plan
