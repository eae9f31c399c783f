#include "search/pipeline/pipeline.h"

#include <algorithm>

#include "base/widths.h"

/// Before a loop over lanes: lest it is unrolled before it can be vectorised.
#define ERGOMETER_LANES _Pragma("GCC unroll 1")

namespace ergometer::search {
namespace {

using Kind = PipelineScript::Kind;
using Step = PipelineScript::Step;

ERGOMETER_INLINE double larger(double a, double b) { return a > b ? a : b; }
ERGOMETER_INLINE double smaller(double a, double b) { return a < b ? a : b; }

/// The clocks of one stage.
struct StageClocks {
  Batch t{}, h{};
  std::array<Batch, 2> lanes{};
  /// By lane, the last message of a kind: when it began and is over, and its direction.
  struct Messages {
    std::array<Batch, 2> from{}, to{};
    std::array<bool, 2> forward{};
  };
  Messages leaving, arriving;
  /// Gradients still to be sent at the moment `left_at`, in seconds that they take alone.
  Batch left{}, left_at{};
  /// When the last transfers that left, or arrived, beside them did so: both directions at once
  /// cost them no more than one.
  std::array<Batch, 2> shared_from{}, shared_to{};
};

ERGOMETER_INLINE void run(const BatchCost& cost, StageClocks& clocks) {
  Batch t = clocks.t, h = clocks.h;
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    const double before = t[i];
    t[i] = larger(before + cost.tt[i], h[i] + cost.th[i]);
    h[i] = larger(before + cost.ht[i], h[i] + cost.hh[i]);
  }
  clocks.t = t;
  clocks.h = h;
}

/// What a slot and gradients do to each other, as in `BatchCost`.
struct BesideData {
  Batch slow, slows, lost, sent;
};

/// Work of `alone_s` beside gradients: what both lose while both are at work.
ERGOMETER_INLINE void work_beside(const Batch& alone_s, const BesideData& cost, Batch& now,
                                  Batch& left) {
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    const double beside_s = smaller(alone_s[i] * cost.slow[i], left[i] * cost.slows[i]);
    now[i] += alone_s[i] + beside_s * cost.lost[i];
    left[i] -= beside_s * cost.sent[i];
  }
}

constexpr double kShortest = 1e-12;  ///< of a slot, s

/// Of a slot that takes `slot_s` with what it waits for its host, when it loses nothing to
/// gradients nor they to it. A lane that does not wait keeps its very numbers.
ERGOMETER_INLINE void wait_for_host(const BatchCost& cost, const Batch& slot_s,
                                    BesideData& beside) {
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    const double busy = cost.slow_data[i] * (cost.tt[i] / larger(slot_s[i], kShortest));
    const bool waits = slot_s[i] > cost.tt[i];
    const double slow = larger(1, busy);
    const double slows = 1 + smaller(1, busy) * (cost.slows_data[i] - 1);
    beside.slow[i] = waits ? slow : beside.slow[i];
    beside.slows[i] = waits ? slows : beside.slows[i];
    beside.lost[i] = waits ? 1 - 1 / slow : beside.lost[i];
    beside.sent[i] = waits ? 1 / slows : beside.sent[i];
  }
}

/// A slot beside the gradients that former ones left; it leaves some itself.
ERGOMETER_INLINE void run_scattering(const BatchCost& cost, StageClocks& clocks) {
  Batch t = clocks.t, h = clocks.h, left = clocks.left, slot_s, alone_s;
  BesideData beside{cost.slow_data, cost.slows_data, cost.lost_data, cost.sent_data};
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    slot_s[i] = larger(cost.tt[i], h[i] + cost.th[i] - t[i]);
    h[i] = larger(t[i] + cost.ht[i], h[i] + cost.hh[i]);
    left[i] = larger(0, left[i] - larger(0, t[i] - clocks.left_at[i]));
  }
  int64_t some_wait = 0;
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) some_wait |= slot_s[i] > cost.tt[i] ? 1 : 0;
  if (some_wait != 0) wait_for_host(cost, slot_s, beside);
  if (cost.pieces.empty()) work_beside(slot_s, beside, t, left);
  for (const Piece& piece : cost.pieces) {
    ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) alone_s[i] = piece.share[i] * slot_s[i];
    work_beside(alone_s, beside, t, left);
    ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) left[i] += piece.sent_s[i];
  }
  clocks.t = clocks.left_at = t;
  clocks.h = h;
  clocks.left = left;
}

ERGOMETER_INLINE void raise(const Batch& other, Batch& clock) {
  ERGOMETER_LANES for (int i = 0; i < kLanes; ++i) clock[i] = larger(clock[i], other[i]);
}

/// A message that began at `began` and takes `send_s` alone, and the last one on the other lane,
/// from `from` to `until`, with which it shares a link: while both are on their way each loses so
/// much of the time. `own`, `theirs`: when the lanes are free again.
ERGOMETER_INLINE void share_link(const Batch& began, double send_s, double slower,
                                 const Batch& from, Batch& until, Batch& own, Batch& theirs) {
  if (slower <= 0) return;
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    const double both_s = smaller(until[i], began[i] + send_s) - larger(from[i], began[i]);
    const double longer_s = larger(0, both_s) * slower;
    own[i] += longer_s;
    const double later = until[i] + longer_s;
    theirs[i] = theirs[i] <= until[i] ? later : theirs[i];
    until[i] = later;
  }
}

/// A message that begins at `began` and would be over at `own` beside the last ones that left and
/// arrived on the other lane; with that its lane is free again.
template <bool kArrives>
ERGOMETER_INLINE void share_links(const TransferCost::Message& cost, bool forward, size_t lane,
                                  const Batch& began, Batch& own, StageClocks& clocks) {
  const size_t other = 1 - lane, end = forward == kArrives ? 1 : 0;  // of its link: this stage
  StageClocks::Messages& alike = kArrives ? clocks.arriving : clocks.leaving;
  StageClocks::Messages& opposite = kArrives ? clocks.leaving : clocks.arriving;
  const bool follows = opposite.forward[other] == forward;
  const double slow_met = follows ? cost.slow_followed[end] : cost.slow_met;
  Batch theirs = clocks.lanes[other];
  share_link(began, cost.send_s, cost.slow_shared[end] - 1, alike.from[other], alike.to[other], own,
             theirs);
  share_link(began, cost.send_s, slow_met - 1, opposite.from[other], opposite.to[other], own,
             theirs);
  clocks.lanes[lane] = own;
  clocks.lanes[other] = theirs;
  alike.from[lane] = began;
  alike.to[lane] = own;
  alike.forward[lane] = forward;
}

/// A transfer on one of a stage's lanes. Beside one on the other lane with which it shares a link
/// both go at the pace of sharing; so do gradients that are left when it starts. Works on copies,
/// which the compiler knows to be apart.
template <bool kScatters, bool kArrives>
ERGOMETER_INLINE void transfer(const TransferCost::Message& cost, double host_s, bool forward,
                               size_t lane, Batch& sent_at, StageClocks& clocks) {
  const double slow_share = 1 - 1 / cost.slow_data, slows_share = 1 - 1 / cost.slows_data;
  const size_t way = kArrives ? 1 : 0;
  Batch own = clocks.lanes[lane], h = clocks.h, began;
  Batch message = sent_at, left = clocks.left;
  const Batch left_at = clocks.left_at;
  Batch from = clocks.shared_from[way], to = clocks.shared_to[way];
  const Batch other_from = clocks.shared_from[1 - way], other_to = clocks.shared_to[1 - way];
  ERGOMETER_LANES for (size_t i = 0; i < kLanes; ++i) {
    double start = larger(own[i], h[i]);
    if (kArrives) start = larger(start, message[i]);
    if (!kArrives) message[i] = start;
    double more = 0;
    if (kScatters) {
      const double until_s = larger(0, left[i] + left_at[i] - start);
      const double beside =
          smaller(cost.send_s * cost.slow_data, (left[i] > 0 ? until_s : 0) * cost.slows_data);
      more = beside * slow_share;
      // Both directions at once cost the gradients no more than one.
      const double end_s = start + beside;
      const double both = larger(0, smaller(end_s, other_to[i]) - larger(start, other_from[i]));
      left[i] += larger(0, beside - both) * slows_share;
      from[i] = start > to[i] ? start : smaller(from[i], start);
      to[i] = larger(to[i], end_s);
    }
    began[i] = start;
    own[i] = start + cost.send_s + more;
    h[i] += host_s;
  }
  share_links<kArrives>(cost, forward, lane, began, own, clocks);
  clocks.h = h;
  if (!kArrives) sent_at = message;
  if (!kScatters) return;
  clocks.left = left;
  clocks.shared_from[way] = from;
  clocks.shared_to[way] = to;
}

template <bool kScatters>
ERGOMETER_INLINE void play_steps(std::span<const Step> steps, size_t stage_count,
                                 size_t chunk_count, const ChunkCosts* const* costs,
                                 const TransferCost* links, StageClocks* stages, Batch* messages) {
  for (const Step& step : steps) {
    const auto s = static_cast<size_t>(step.stage);
    StageClocks& clocks = stages[s];
    Batch& lane = clocks.lanes[step.lane];
    // A forward transfer leaves for the next stage and arrives from the one before.
    const bool to_next = (step.kind == Kind::kSend) == step.forward;
    const TransferCost& link = links[to_next ? s : (s + stage_count - 1) % stage_count];
    const TransferCost::Message& cost = link.message(step.forward);
    Batch& message = messages[step.message];
    switch (step.kind) {
      case Kind::kRun: {
        const BatchCost& slot =
            (*costs[s * chunk_count +
                    static_cast<size_t>(step.chunk)])[static_cast<size_t>(step.slot)];
        if (kScatters)
          run_scattering(slot, clocks);
        else
          run(slot, clocks);
        break;
      }
      case Kind::kLaneFollows: raise(clocks.t, lane); break;
      case Kind::kFollowLane: raise(lane, clocks.t); break;
      case Kind::kSend:
        transfer<kScatters, false>(cost, link.host_s, step.forward, step.lane, message, clocks);
        break;
      case Kind::kReceive:
        transfer<kScatters, true>(cost, link.host_s, step.forward, step.lane, message, clocks);
        break;
      case Kind::kSync: raise(clocks.t, clocks.h); break;
    }
  }
}

ERGOMETER_WIDTHS void play_alone(std::span<const Step> steps, size_t stage_count,
                                 size_t chunk_count, const ChunkCosts* const* costs,
                                 const TransferCost* links, StageClocks* stages, Batch* messages) {
  play_steps<false>(steps, stage_count, chunk_count, costs, links, stages, messages);
}

ERGOMETER_WIDTHS void play_scattering(std::span<const Step> steps, size_t stage_count,
                                      size_t chunk_count, const ChunkCosts* const* costs,
                                      const TransferCost* links, StageClocks* stages,
                                      Batch* messages) {
  play_steps<true>(steps, stage_count, chunk_count, costs, links, stages, messages);
}

}  // namespace

void BatchCost::set(int lane, const MaxPlus& cost) {
  // Where nothing syncs the host `ht` is never; a large negative number keeps sums finite.
  constexpr double kLongAgo = -1e30;
  const auto i = static_cast<size_t>(lane);
  tt[i] = cost.tt;
  th[i] = std::max(cost.th, kLongAgo);
  ht[i] = std::max(cost.ht, kLongAgo);
  hh[i] = cost.hh;
}

void BatchCost::set_beside_data(int lane, double slow, double slows) {
  const auto i = static_cast<size_t>(lane);
  slow_data[i] = std::max(1.0, slow);
  slows_data[i] = slows;
  lost_data[i] = 1 - 1 / slow_data[i];
  sent_data[i] = 1 / slows;
}

void play(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
          std::span<const TransferCost> next, bool scatters, std::vector<Batch>& ends) {
  thread_local std::vector<StageClocks> stages;
  thread_local std::vector<Batch> messages;
  const auto count = static_cast<size_t>(script.shape.stages);
  stages.assign(count, StageClocks{});
  messages.resize(static_cast<size_t>(script.messages) + 1);
  (scatters ? play_scattering : play_alone)(script.steps, count,
                                            static_cast<size_t>(script.shape.chunks), costs.data(),
                                            next.data(), stages.data(), messages.data());
  ends.resize(count);
  for (size_t s = 0; s < count; ++s) {
    const StageClocks& clocks = stages[s];
    for (size_t i = 0; i < kLanes; ++i)
      ends[s][i] = larger(clocks.t[i], clocks.left_at[i] + clocks.left[i]);
    for (const Batch& lane : clocks.lanes) raise(lane, ends[s]);
  }
}

}  // namespace ergometer::search
