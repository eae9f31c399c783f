#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "spec/job/host_link.h"
#include "workload/block/layer.h"

// Activations that wait on the host (Megatron-Core's cpu_offloading, Transformer Engine's
// get_cpu_offload_context; torchtune and TRL offload all layers in the same way). The layers to be
// offloaded go one after the other on a stream of their own, each behind so many layers' compute
// that the last is gone when the forward ends; compute waits for a copy at the end of its window,
// when its buffer is needed again. The backward brings them back in the same rhythm. So with N of
// the L layers offloaded a copy has the time of L / N layers, which is written here as every layer
// carrying an L-th of what the first N keep beside it:
//   a layer's pass takes max(compute, bytes that the first N layers keep / L / rate of the link).
// Worked: 1 GB kept by each, half of the layers, 25 GB/s: 20 ms beside every layer, each way.
// Left out: the first copy starts behind the first layer, the last ends before the head; HBM that
// copies read (25 GB/s of 3,350); that layers under way are in GPU memory too.
namespace ergometer::workload {

namespace {

void copy_beside(const spec::Job& job, const Shapes& shapes, Workload& workload, Pass pass,
                 std::string_view name, double bytes, std::vector<Item>& list) {
  Operator copy;
  copy.pass = pass;
  copy.module = Module::kData;
  copy.name = name;
  copy.kernels = 0;
  copy.host_wait_s = bytes / spec::host_bytes_per_s(job.cluster);
  (pass == Pass::kForward ? copy.to_host_bytes : copy.from_host_bytes) = bytes;
  std::vector<Item> beside;
  BlockWriter writer(job, shapes, workload, beside, pass);
  writer.join(Stream::kHostCopies, Stream::kCompute);
  writer.add(std::move(copy), Stream::kHostCopies);
  list.insert(list.begin(), beside.begin(), beside.end());
  BlockWriter(job, shapes, workload, list, pass).join(Stream::kCompute, Stream::kHostCopies);
}

}  // namespace

void copy_activations(const spec::Job& job, const Shapes& shapes, Workload& workload) {
  if (!job.offloads_activations()) return;
  const std::vector<int>& layers = workload.layer_blocks;
  const auto first = std::min(layers.size(), static_cast<size_t>(job.training.offloaded_layers));
  double bytes = 0;
  for (size_t i = 0; i < first; ++i)
    bytes += workload.blocks[static_cast<size_t>(layers[i])].activations.kept;
  bytes /= static_cast<double>(layers.size());
  for (const int block : std::set<int>(layers.begin(), layers.end())) {
    Block& layer = workload.blocks[static_cast<size_t>(block)];
    copy_beside(job, shapes, workload, Pass::kForward, kActivationsOut, bytes, layer.forward);
    if (!layer.backward.empty())
      copy_beside(job, shapes, workload, Pass::kBackward, kActivationsIn, bytes, layer.backward);
  }
}

}  // namespace ergometer::workload
