// A token chooses k of a layer's E experts, independently of other tokens. With even routing each
// of t tokens misses an expert with 1 - k/E, and so many are reached by any:
//
//   E (1 - (1 - k/E)^t)
//
// t: tokens of all ranks that exchange them; a rank has its share of the E, and L k/E in place of
// k/E where its load is L times an even share. Copies of experts count as experts of their own. The
// nearest whole number is all of them from ln(2 E) rows an expert on (6.2 of 256), hence in
// training of usual size.
//
// Worked: top 8 of 128. One token reaches 8; 16 tokens 128 (1 - 0.9375^16) = 82.4, 82; 83 tokens
// (5.2 rows an expert) 127.4, 127; 100 tokens 127.8, 128.
//
// Range: experts of a rank that are equally wanted. Of unequally wanted ones fewer are reached.
#include "workload/reached_experts.h"

#include <algorithm>
#include <cmath>

#include "base/exponential.h"

namespace ergometer::workload {

int64_t reached_experts(const spec::Job& job, const Shapes& shapes) {
  const int64_t here = job.expert_slots();
  const double chosen = shapes.expert_load * static_cast<double>(job.model.experts.top_k) /
                        static_cast<double>(here * shapes.ep);
  if (job.training.pads_experts() || chosen >= 1) return here;
  const double tokens =
      static_cast<double>(shapes.tokens * shapes.ep * shapes.etp) / static_cast<double>(shapes.tp);
  const double reached = static_cast<double>(here) * (1 - base::power(1 - chosen, tokens));
  return std::max<int64_t>(1, std::llround(reached));
}

double held_matrices(const spec::Job& job, const Shapes& shapes, const Operator& gemm) {
  if (!gemm.name.starts_with("expert_fc")) return 1;
  const auto here = static_cast<double>(job.expert_slots());
  if (gemm.kind == OperatorKind::kGroupedGemm) return here;
  return here / static_cast<double>(reached_experts(job, shapes));
}

}  // namespace ergometer::workload
