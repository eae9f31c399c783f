#include <algorithm>
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
// carrying N / L of its own bytes beside it:
//   a layer's pass takes max(compute, N / L x kept bytes / rate of the link).
// Worked: 1 GB kept, half of the layers, 25 GB/s: 20 ms beside every layer, each way.
// Left out: the first copy starts behind the first layer, the last ends before the head; HBM that
// copies read (25 GB/s of 3,350).
namespace ergometer::workload {

namespace {

void copy_beside(const spec::Job& job, const Shapes& shapes, Workload& workload, Pass pass,
                 std::string_view name, double seconds, std::vector<Item>& list) {
  Operator copy;
  copy.pass = pass;
  copy.module = Module::kData;
  copy.name = name;
  copy.kernels = 0;
  copy.host_wait_s = seconds;
  std::vector<Item> beside;
  BlockWriter writer(job, shapes, workload, beside, pass);
  writer.join(Stream::kHostCopies, Stream::kCompute);
  writer.add(std::move(copy), Stream::kHostCopies);
  list.insert(list.begin(), beside.begin(), beside.end());
  BlockWriter(job, shapes, workload, list, pass).join(Stream::kCompute, Stream::kHostCopies);
}

}  // namespace

void copy_activations(const spec::Job& job, const Shapes& shapes, Workload& workload,
                      Block& block) {
  if (job.training.offloaded_layers == 0 || !shapes.training) return;
  const double layers = static_cast<double>(job.model.layer_count());
  const double share = std::min(1.0, static_cast<double>(job.training.offloaded_layers) / layers);
  const double seconds = share * block.activations.kept / spec::host_bytes_per_s(job.cluster.node);
  copy_beside(job, shapes, workload, Pass::kForward, kActivationsOut, seconds, block.forward);
  copy_beside(job, shapes, workload, Pass::kBackward, kActivationsIn, seconds, block.backward);
}

}  // namespace ergometer::workload
