#include "plan/network/pcie_load.h"

#include <algorithm>

#include "base/collection.h"

namespace ergometer::plan {

PcieLoad::PcieLoad(const spec::PcieTree& tree, double gpu_bytes_per_s) : tree_(tree) {
  for (const spec::PcieBridge& it : tree.bridges)
    links_.push_back(
        {.level = it.above < 0 ? Level::kSocket : Level::kUplink, .bytes_per_s = it.bytes_per_s});
  links_.resize(tree.bridges.size() + tree.gpus.size(),
                {.level = Level::kGpu, .bytes_per_s = gpu_bytes_per_s});
}

int PcieLoad::root_of(int bridge) const {
  while (tree_.bridges[static_cast<size_t>(bridge)].above >= 0)
    bridge = tree_.bridges[static_cast<size_t>(bridge)].above;
  return bridge;
}

void PcieLoad::carry(int from, int to, bool staged, double bytes) {
  const int top = root_of(from), other_top = root_of(to);
  std::vector<int> above;  // the sender's bridges, itself among them
  for (int at = from; at >= 0; at = tree_.bridges[static_cast<size_t>(at)].above)
    above.push_back(at);
  // Where the message turns: -1 beyond the root complexes.
  int turn = top != other_top ? -1 : top;
  if (turn >= 0 && !staged) {
    turn = to;
    while (!base::contains(above, turn)) turn = tree_.bridges[static_cast<size_t>(turn)].above;
  }
  const auto above_of = [&](int at) { return tree_.bridges[static_cast<size_t>(at)].above; };
  for (int at = from; at != turn; at = above_of(at))
    links_[static_cast<size_t>(at)].up_bytes += bytes;
  for (int at = to; at != turn; at = above_of(at))
    links_[static_cast<size_t>(at)].down_bytes += bytes;
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

double PcieLoad::seconds(double share) const {
  double longest = 0;
  for (const Link& link : links_)
    if (link.bytes() > 0)
      longest = std::max(
          longest, link.bytes() / link.bytes_per_s / (link.level == Level::kSocket ? 1 : share));
  return longest;
}

}  // namespace ergometer::plan
