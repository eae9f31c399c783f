// What it predicts: the time of a collective that runs inside the kernel of a product, beyond what
// the product itself takes there.
//
//   kernel = side by side(product, collective) + min(product, collective) / members       [s]
//   t      = min( kernel, product apart + collective apart ) - product                     [s]
//
// product: the product's kernel with the bytes left out that do not cross memory between the two;
// collective: the collective without a launch latency of its own; apart: each as a kernel of its
// own. Side by side both proceed at the rates that overlap.cpp gives them beside each other, 1 / g
// of the product and 1 / c of the collective, until one is done and the other goes on alone:
//
//   product g <= collective c:   collective + product g (1 - 1 / c);  else the same the other way
//
// The last term is the first piece: tiles stream through two stages, of which the second has
// nothing to do until the first has made one member's part.
//
// A kernel that would take longer than its parts one behind the other is not used: then the two
// take what they take apart, and the host still launches one.
//
// Parameters: none of its own. That a fused kernel moves bytes as fast as the library's collective
// with the same latency, and that it takes as many SMs for it, is assumed.
//
// Worked: product 100 us, collective 60 us, no slowdown, 4 members: 100 + 60 / 4 = 115 us instead
// of 160, of which 15 are the collective's. With g = 1.2 and c = 1.5 the collective is done after
// 90 us, in which 75 us of the product are; 25 more make 115, and 15 for the first piece 130.
//
// How far off: nothing measured in whole jobs. Fused kernels are reported 10 to 20 % faster than
// library calls for all-gather and product of decode's few rows on eight MI300X. Predicted for 16
// to 64 rows of 8192 and a matrix of 28672: 16 to 20 %; for an eighth of that matrix, whose gather
// takes longer than the product, more than is reported: that the gather's latency hides as well as
// its bytes is then the doubtful part.
#include <algorithm>

#include "cost/parameters.h"

namespace ergometer::cost {
namespace {

/// Until both are done, with each slower by its factor while the other runs.
double side_by_side_s(double product_s, double slow_product, double collective_s,
                      double slow_collective) {
  const double product_end_s = product_s * slow_product,
               collective_end_s = collective_s * slow_collective;
  if (product_end_s <= collective_end_s)
    return collective_s + product_end_s * (1 - 1 / slow_collective);
  return product_s + collective_end_s * (1 - 1 / slow_product);
}

}  // namespace

double fused_kernel_s(const FusedTimes& times) {
  const double whole_s = side_by_side_s(times.product_s, times.slow_product, times.collective_s,
                                        times.slow_collective);
  return whole_s + std::min(times.product_s, times.collective_s) / times.members;
}

Price CostModel::price_fused(const workload::Operator& op,
                             const plan::GroupPlacement& where) const {
  workload::Operator alone = op;
  alone.fused = nullptr;
  alone.kernels = 1;
  const double collective_s = price(alone, where).seconds(),
               launch_s = parameters_->device.kernel_latency_s * parameters_->software.straggling;
  const workload::Operator& inside = op.fused->inside;
  const FusedTimes times{.product_s = price(inside, {}).seconds(),
                         .collective_s = std::max(0.0, collective_s - launch_s),
                         .slow_product = compute_slowdown(inside, alone),
                         .slow_collective = collective_slowdown(alone, inside),
                         .members = static_cast<double>(std::max<int64_t>(1, where.size))};
  const double apart_s = collective_s + price(op.fused->apart, {}).seconds();
  return {.fixed_s = std::min(fused_kernel_s(times), apart_s) - times.product_s,
          .clocked_s = 0,
          .limit = Limit::kLink};
}

}  // namespace ergometer::cost
