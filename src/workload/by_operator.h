#pragma once

#include "workload/shapes.h"
#include "workload/workload.h"

namespace ergometer::workload {

/// Of one product of a layer's forward that a framework may run as several, in running order.
struct Repeated {
  double share = 1;  ///< of its output's columns that are computed again, 0 to 1
  int products = 0;  ///< how many products it counts for
};

/// Selective recomputation by operator keeps every second matrix product, the first first:
/// queries, keys, values, projection, gate, up and down of gated models are products of their own,
/// as PyTorch's model definitions have them. `before` are counted already; `name` as in
/// Operator::name. Experts' products are all repeated and not counted. Source: torchtitan's policy
/// of selective_ac_option "op" (torchtitan/models/llama3/infra/parallelize.py), recalled.
///
///   repeated(llama, "qkv", 0)  // keys alone: {kv_heads / (heads + 2 kv_heads), 3}
Repeated repeated(const spec::Model& model, std::string_view name, int before);

/// Leaves of `block.recompute`, a whole forward, what recomputation by operator runs again: neither
/// attention's core and its transfers nor reduce-scatters, whose outputs stay.
void drop_kept_operators(const spec::Job& job, Workload& workload, Block& block);

/// Bytes that stay of a layer beside its input: the outputs of the kept products and of attention.
double kept_by_operator(const spec::Job& job, const Shapes& shapes, const Workload& workload,
                        const Block& block);

}  // namespace ergometer::workload
