#include "workload/block/moe.h"

#include <algorithm>
#include <string>

#include "workload/block/graphs.h"
#include "workload/block/linear.h"
#include "workload/block/mlp.h"
#include "workload/expert_loads.h"
#include "workload/matrices.h"
#include "workload/reached_experts.h"

namespace ergometer::workload {
namespace {

// Passes over the (token, expert) table of FP32 scores. Forward: read logits, write probabilities,
// write a one-byte routing map. Backward: read the probabilities' gradient and the probabilities,
// write the logits' gradient.
constexpr double kRoutingForwardBytes = 4 + 4 + 1;
constexpr double kRoutingBackwardBytes = 4 + 4 + 4;

/// Rows on their way to experts and back.
double row_bytes(const BlockWriter& writer, double rows) {
  return writer.shapes().element * rows * static_cast<double>(writer.model().expert_hidden());
}
/// Rows of the residual stream.
double stream_bytes(const BlockWriter& writer, double rows) {
  return writer.shapes().element * rows * static_cast<double>(writer.shapes().hidden);
}

double shard_rows(const BlockWriter& writer) {
  return static_cast<double>(writer.shapes().shard_tokens);
}

bool gathers_tokens(const BlockWriter& writer) {
  return writer.job().training.moe_dispatcher == spec::MoeDispatcher::kAllGather;
}

/// DeepEP's and HybridEP's kernels: a token travels once to every rank that needs it and is copied
/// for its experts there; routing probabilities are part of the exchange.
bool sends_once(const BlockWriter& writer) {
  const spec::MoeDispatcher dispatcher = writer.job().training.moe_dispatcher;
  return dispatcher == spec::MoeDispatcher::kDeepEp || dispatcher == spec::MoeDispatcher::kHybridEp;
}

/// HybridEP copies tokens for their experts inside its exchange (`dispatch_with_permute`,
/// `combine_with_unpermute`, megatron/core/transformer/moe/fused_a2a.py), on the exchange's stream;
/// DeepEP leaves it to a kernel of its own between the exchange and the experts.
bool copies_inside(const BlockWriter& writer) {
  return writer.job().training.moe_dispatcher == spec::MoeDispatcher::kHybridEp &&
         writer.shapes().ep > 1;
}

TokenRouting routing(const BlockWriter& writer) {
  const spec::Experts& experts = writer.model().experts;
  if (scatters_groups(writer.job())) return {experts.count, experts.top_k, 1, 1};
  return {experts.count, experts.top_k, experts.groups, experts.group_top_k};
}

/// How many more tokens a rank of that load meets, where each travels to it once: of a token's k
/// choices one of n ranks gets any with 1 - (1 - load / n)^k.
double met_share(const BlockWriter& writer) {
  const double load = writer.shapes().expert_load;
  if (load == 1) return 1;
  const auto meets = [&](double share) {
    double missed = 1;
    for (int64_t i = 0; i < writer.model().experts.top_k; ++i) missed *= 1 - share;
    return 1 - missed;
  };
  const auto ranks = static_cast<double>(writer.shapes().ep);
  return meets(load / ranks) / meets(1 / ranks);
}

/// Rows that reach a rank, one for every token that any of its experts is to see.
double received_rows(const BlockWriter& writer, const MoeRows& rows) {
  const auto ranks = static_cast<double>(writer.shapes().ep);
  return rows.routed_tokens * expected_members(routing(writer), ranks) * met_share(writer);
}

/// Between the rows as received and the rows as the experts compute them: the whole of it without
/// padding, the same with.
double unfold_bytes(const BlockWriter& writer, const MoeRows& rows) {
  return row_bytes(writer, received_rows(writer, rows) + rows.computed);
}

/// Expert parallelism leaves the rank's tokens whole on every TP rank when there is no sequence
/// parallelism.
bool splits_tokens(const BlockWriter& writer) {
  return writer.shapes().tp > 1 && !writer.shapes().sequence_parallel;
}

/// Tokens on their way between ranks and experts. Backward, the combination leads to the experts
/// and the dispatch away from them; probabilities travel with the dispatch, both ways.
struct Leg {
  bool combines;
  Pass pass;
  void (*beside)(BlockWriter&);  ///< the half of the shared expert that its exchange may hide

  bool backward() const { return pass == Pass::kBackward; }
  std::string named(std::string name) const { return name + (backward() ? "_backward" : ""); }
  std::string copies() const { return named(combines ? "unpermute" : "permute"); }
  std::string exchange() const {
    return combines ? "ep_all_to_all_combine" : "ep_all_to_all_dispatch";
  }
};

void expert_collective(BlockWriter& writer, std::string name, CollectiveKind kind, GroupKind group,
                       double bytes, Pass pass, Stream stream = Stream::kCompute) {
  writer.collective({Module::kMoe, std::move(name), kind, group, bytes, stream}, pass);
}

/// The plain all-to-all, with half of the shared expert beside it when the job overlaps the two.
void expert_all_to_all(BlockWriter& writer, double rows, const Leg& leg) {
  const bool overlaps =
      writer.job().training.moe_shared_overlap && writer.model().experts.shared_ffn > 0;
  const double bytes = row_bytes(writer, rows);
  if (!overlaps)
    return expert_collective(writer, leg.exchange(), CollectiveKind::kAllToAll, GroupKind::kExpert,
                             bytes, leg.pass);
  writer.join(Stream::kExpert, Stream::kCompute);
  expert_collective(writer, leg.exchange(), CollectiveKind::kAllToAll, GroupKind::kExpert, bytes,
                    leg.pass, Stream::kExpert);
  leg.beside(writer);
  writer.join(Stream::kCompute, Stream::kExpert);
}

void token_exchange(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  writer.collective(
      {Module::kMoe, leg.exchange(), CollectiveKind::kAllToAll, GroupKind::kExpert,
       row_bytes(writer, rows.routed_tokens) * std::max(1.0, met_share(writer)), Stream::kCompute,
       routing(writer), copies_inside(writer) ? unfold_bytes(writer, rows) : 0},
      leg.pass);
}

/// The copies between tokens as received and rows as the experts take them, where they are a
/// kernel.
void unfold(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  if (!copies_inside(writer))
    writer.memory({Module::kMoe, leg.copies(), unfold_bytes(writer, rows)}, leg.pass);
}

void probabilities_all_to_all(BlockWriter& writer, const MoeRows& rows, Pass pass) {
  expert_collective(writer, "ep_all_to_all_probs", CollectiveKind::kAllToAll, GroupKind::kExpert,
                    4 * rows.exchanged, pass);
}

/// Rows arrive grouped by sender; the experts want them grouped by expert. Modules of transformers
/// have sorted them so.
void sort_chunks(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  if (rows.experts > 1 && !writer.shapes().modules)
    writer.memory({Module::kMoe, leg.named("sort_chunks"), 2 * row_bytes(writer, rows.computed)},
                  leg.pass);
}

/// Tokens copied to rows of their experts, or summed from them by the combination: one kernel, or
/// several of which most stream.
void reorder(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  const bool modules = writer.shapes().modules, sums = leg.combines;
  const double elements = rows.sent * static_cast<double>(writer.model().expert_hidden());
  const ModuleWork work =
      !modules ? ModuleWork{.moved = row_bytes(writer, rows.routed_tokens + rows.sent)}
      : sums   ? module_unpermute(writer, elements, leg.backward())
               : module_permute(writer, elements, leg.backward());
  const std::string name = modules ? leg.named(sums ? "expert_sum" : "expert_rows") : leg.copies();
  writer.memory({Module::kMoe, name, work.moved, work.kernels}, leg.pass);
}

Linear router(const BlockWriter& writer) {
  Linear linear = make_linear(writer, "router", Module::kMoe, writer.shapes().hidden,
                              writer.model().experts.count);
  linear.rows = shard_rows(writer);
  linear.model_rows = 0;  // by convention routing counts no FLOPs
  linear.fp8 = false;
  return linear;
}

Linear expert_linear(const BlockWriter& writer, const MoeRows& rows, const char* name, int64_t in,
                     int64_t out) {
  Linear linear = make_linear(writer, name, Module::kMoe, in, out);
  linear.rows = rows.computed;
  linear.model_rows = rows.model;
  linear.groups = rows.reached;
  linear.held = rows.experts;
  linear.grouped = writer.job().training.moe_grouped_gemm;
  adapt(writer, linear);
  return linear;
}

/// Transformer Engine's fused grouped MLP for MXFP8: the activation, its gradient and the
/// quantization of both are epilogues of the grouped GEMMs (CuTe DSL). Its kernels take the rows of
/// every expert from the GPU's memory, which is how one graph holds a whole iteration of experts
/// that drop no token.
bool fuses_experts(const BlockWriter& writer, const MoeRows& rows) {
  const spec::Training& training = writer.job().training;
  return captures_everything(training) && writer.shapes().fp8 &&
         training.moe_capacity_factor == 0 && !rows.fixed &&
         training.precision == spec::Precision::kFp8 &&
         training.fp8_recipe == spec::Fp8Recipe::kMxfp8 && training.moe_grouped_gemm;
}

Linear expert_fc1(const BlockWriter& writer, const MoeRows& rows) {
  Linear linear = expert_linear(writer, rows, "expert_fc1", writer.model().expert_hidden(),
                                (writer.model().gated ? 2 : 1) * rows.ffn);
  linear.lora_in_repeats = static_cast<double>(writer.shapes().etp);
  linear.fused_gradient_cast = fuses_experts(writer, rows);
  return linear;
}

Linear expert_fc2(const BlockWriter& writer, const MoeRows& rows) {
  Linear linear =
      expert_linear(writer, rows, "expert_fc2", rows.ffn, writer.model().expert_hidden());
  linear.lora_out_repeats = static_cast<double>(writer.shapes().etp);
  linear.fused_cast = fuses_experts(writer, rows);
  return linear;
}

/// LatentMoE: one narrow projection of every token before the dispatch, one wide one behind the
/// combination; whole on every tensor-parallel rank, on the rank's slice of the sequence.
Linear latent_linear(const BlockWriter& writer, bool down) {
  const int64_t latent = writer.model().experts.latent, hidden = writer.shapes().hidden;
  Linear linear = make_linear(writer, down ? "expert_latent_down" : "expert_latent_up",
                              Module::kMoe, down ? hidden : latent, down ? latent : hidden);
  linear.rows = shard_rows(writer);
  linear.model_rows = linear.rows * writer.shapes().token_share();
  return linear;
}

void expert_latent_forward(BlockWriter& writer, bool down) {
  if (writer.model().experts.latent > 0) linear_forward(writer, latent_linear(writer, down));
}

void expert_latent_backward(BlockWriter& writer, bool down) {
  if (writer.model().experts.latent > 0) linear_backward(writer, latent_linear(writer, down));
}

/// The activation also multiplies every row by its routing probability (FP32).
void expert_activation(BlockWriter& writer, const MoeRows& rows, Pass pass) {
  if (fuses_experts(writer, rows)) return;
  const double elements = rows.computed * static_cast<double>(rows.ffn);
  const bool backward = pass == Pass::kBackward;
  const ModuleWork work = writer.shapes().modules
                              ? module_expert_activation(writer, elements, backward)
                              : activation_work(writer, elements, backward);
  const double probabilities = (backward ? 8 : 4) * rows.computed;
  writer.memory({Module::kMoe, backward ? "expert_activation_backward" : "expert_activation",
                 work.moved + probabilities, work.kernels},
                pass);
}

void route_forward(BlockWriter& writer, const MoeRows& rows) {
  const Shapes& shapes = writer.shapes();
  const double experts = static_cast<double>(writer.model().experts.count);
  linear_forward(writer, router(writer));
  writer.memory(
      {Module::kMoe, "router_topk", kRoutingForwardBytes * shard_rows(writer) * experts, 2});
  if (rows.fixed) return;
  if (writer.job().training.moe_dispatcher == spec::MoeDispatcher::kHybridEp) {
    // A byte for every (token, expert) of the whole group.
    expert_collective(writer, "ep_all_gather_routing_map", CollectiveKind::kAllGather,
                      GroupKind::kExpert,
                      rows.routed_tokens * experts * static_cast<double>(shapes.ep), writer.pass());
    if (!captures_everything(writer.job().training))
      writer.memory({Module::kMoe, "moe_counts_to_host", 4 * experts});
    return;
  }
  const double counts = 4 * experts * static_cast<double>(shapes.ep);
  expert_collective(writer, "ep_all_gather_counts", CollectiveKind::kAllGather, GroupKind::kExpert,
                    counts, writer.pass());
  expert_collective(writer, "etp_all_gather_counts", CollectiveKind::kAllGather,
                    GroupKind::kExpertTensor, counts * static_cast<double>(shapes.etp),
                    writer.pass());
  if (!captures_everything(writer.job().training))
    writer.memory({Module::kMoe, "moe_counts_to_host", 4 * experts});
}

void route_backward(BlockWriter& writer) {
  writer.memory({Module::kMoe, "router_topk_backward",
                 kRoutingBackwardBytes * shard_rows(writer) *
                     static_cast<double>(writer.model().experts.count),
                 2},
                Pass::kBackward);
  linear_backward(writer, router(writer));
  writer.memory({Module::kMoe, "branch_grad_add", 3 * stream_bytes(writer, shard_rows(writer))},
                Pass::kBackward);
}

double gathered_rows(const BlockWriter& writer, const MoeRows& rows) {
  return rows.routed_tokens * static_cast<double>(writer.shapes().ep * writer.shapes().etp);
}

/// All-gather dispatcher: every rank gets every token and keeps the rows for its experts; or,
/// reversed, sums.
void gather_tokens(BlockWriter& writer, const MoeRows& rows, Pass pass) {
  expert_collective(writer, "ep_all_gather", CollectiveKind::kAllGather, GroupKind::kExpert,
                    row_bytes(writer, rows.routed_tokens * static_cast<double>(writer.shapes().ep)),
                    pass);
  expert_collective(writer, "etp_all_gather", CollectiveKind::kAllGather, GroupKind::kExpertTensor,
                    row_bytes(writer, gathered_rows(writer, rows)), pass);
}

void scatter_tokens(BlockWriter& writer, const MoeRows& rows, Pass pass) {
  expert_collective(writer, "etp_reduce_scatter", CollectiveKind::kReduceScatter,
                    GroupKind::kExpertTensor, row_bytes(writer, gathered_rows(writer, rows)), pass);
  expert_collective(writer, "ep_reduce_scatter", CollectiveKind::kReduceScatter, GroupKind::kExpert,
                    row_bytes(writer, rows.routed_tokens * static_cast<double>(writer.shapes().ep)),
                    pass);
}

void to_experts(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  if (gathers_tokens(writer)) {
    gather_tokens(writer, rows, leg.pass);
    return writer.memory({Module::kMoe, leg.copies(), 2 * row_bytes(writer, rows.computed)},
                         leg.pass);
  }
  if (sends_once(writer)) {
    token_exchange(writer, rows, leg);
    return unfold(writer, rows, leg);
  }
  reorder(writer, rows, leg);
  if (!leg.combines) probabilities_all_to_all(writer, rows, leg.pass);
  expert_all_to_all(writer, rows.exchanged, leg);
  expert_collective(writer, "etp_all_gather", CollectiveKind::kAllGather, GroupKind::kExpertTensor,
                    row_bytes(writer, rows.computed), leg.pass);
  sort_chunks(writer, rows, leg);
}

void from_experts(BlockWriter& writer, const MoeRows& rows, const Leg& leg) {
  if (gathers_tokens(writer)) {
    writer.memory({Module::kMoe, leg.copies(),
                   row_bytes(writer, rows.computed + gathered_rows(writer, rows))},
                  leg.pass);
    return scatter_tokens(writer, rows, leg.pass);
  }
  if (sends_once(writer)) {
    unfold(writer, rows, leg);
    return token_exchange(writer, rows, leg);
  }
  sort_chunks(writer, rows, leg);
  expert_collective(writer, "etp_reduce_scatter", CollectiveKind::kReduceScatter,
                    GroupKind::kExpertTensor, row_bytes(writer, rows.computed), leg.pass);
  if (!leg.combines) probabilities_all_to_all(writer, rows, leg.pass);
  expert_all_to_all(writer, rows.exchanged, leg);
  reorder(writer, rows, leg);
}

void experts_backward(BlockWriter& writer, const MoeRows& rows) {
  if (recomputes(writer.job(), "moe_act") && !recomputes(writer.job(), "moe"))
    expert_activation(writer, rows, Pass::kRecompute);
  linear_backward(writer, expert_fc2(writer, rows));
  expert_activation(writer, rows, Pass::kBackward);
  linear_backward(writer, expert_fc1(writer, rows));
}

bool shared_in_sequence(const BlockWriter& writer) {
  return writer.model().experts.shared_ffn > 0 && (!writer.job().training.moe_shared_overlap ||
                                                   gathers_tokens(writer) || sends_once(writer));
}

void whole_tokens(BlockWriter& writer, Pass pass) {
  if (splits_tokens(writer))
    tensor_gather(writer, Module::kMoe, writer.shapes().stream_bytes(), pass);
}

}  // namespace

MoeRows moe_rows(const spec::Job& job, const Shapes& shapes) {
  const spec::Experts& experts = job.model.experts;
  MoeRows rows;
  rows.routed_tokens = static_cast<double>(shapes.tokens) / static_cast<double>(shapes.tp);
  const double choices = rows.routed_tokens * static_cast<double>(experts.top_k);
  rows.sent = expert_rows(job, choices);
  rows.model = choices * kept_share(job, choices) * static_cast<double>(shapes.etp);
  rows.fixed = job.training.pads_experts();
  rows.exchanged = rows.sent * std::max(1.0, shapes.expert_load);
  rows.model *= shapes.expert_load;
  rows.computed = rows.sent * static_cast<double>(shapes.etp) * shapes.expert_load;
  rows.experts = job.expert_slots();
  rows.reached = reached_experts(job, shapes);
  rows.ffn = experts.ffn / shapes.etp;
  return rows;
}

void moe_forward(BlockWriter& writer) {
  const MoeRows rows = moe_rows(writer.job(), writer.shapes());
  if (shared_in_sequence(writer)) {
    shared_first_forward(writer);
    shared_second_forward(writer);
  }
  route_forward(writer, rows);
  expert_latent_forward(writer, true);
  to_experts(writer, rows, {false, writer.pass(), shared_first_forward});
  linear_forward(writer, expert_fc1(writer, rows));
  expert_activation(writer, rows, writer.pass());
  linear_forward(writer, expert_fc2(writer, rows));
  from_experts(writer, rows, {true, writer.pass(), shared_second_forward});
  expert_latent_forward(writer, false);
  whole_tokens(writer, writer.pass());
  if (writer.model().experts.shared_ffn > 0)
    writer.memory({Module::kMoe, "shared_add", 3 * stream_bytes(writer, shard_rows(writer))});
}

void moe_backward(BlockWriter& writer) {
  const MoeRows rows = moe_rows(writer.job(), writer.shapes());
  if (recomputes(writer.job(), "moe")) {
    BlockWriter again = writer.recomputing();
    moe_forward(again);
  }
  expert_latent_backward(writer, false);
  to_experts(writer, rows, {true, Pass::kBackward, shared_second_backward});
  experts_backward(writer, rows);
  from_experts(writer, rows, {false, Pass::kBackward, shared_first_backward});
  expert_latent_backward(writer, true);
  whole_tokens(writer, Pass::kBackward);
  route_backward(writer);
  if (writer.model().experts.shared_ffn == 0) return;
  if (shared_in_sequence(writer)) {
    shared_second_backward(writer);
    shared_first_backward(writer);
  }
  writer.memory({Module::kMoe, "branch_grad_add", 3 * stream_bytes(writer, shard_rows(writer))},
                Pass::kBackward);
}

}  // namespace ergometer::workload
