#include "search/shared_pipeline.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace ergometer::search {
namespace {

using Kind = PipelineScript::Kind;
using Step = PipelineScript::Step;

constexpr double kNever = std::numeric_limits<double>::infinity();
enum Stream : size_t { kCompute, kLaneForward, kLaneBackward, kGradients };
constexpr size_t kPrograms = 3;  ///< streams that go through the script
constexpr size_t kStreams = 4;
/// Each of `LinkDemand`'s links, out and in.
constexpr size_t kWays = 4;
/// `BatchCost::set` writes less where a slot does not sync the host.
constexpr double kSyncsHost = -1e29;

/// What is at work on a stream.
struct Work {
  bool active = false;
  double left_s = 0;  ///< alone
  double rate = 1;
  std::array<double, kWays> demand{};
};

struct Stage {
  std::vector<const Step*> program;
  std::vector<double> launched_s;      ///< by step, as far as the host has come
  std::array<size_t, kPrograms> at{};  ///< each stream's place in the program: all before is over
  std::array<Work, kStreams> work;
  size_t host = 0;
  bool host_waits = false;  ///< for the slot before its place to start
  double host_s = 0;
  const BatchCost* slot = nullptr;  ///< the one at work
  std::span<const Piece> pieces;    ///< of it, from the one at work on; empty: it is one
  double slot_s = 0;                ///< how long it takes alone
  double busy = 1;                  ///< share of that for which it does not wait for its host
  double now = 0, next = 0;
};

/// Stages take turns by the time of their next event, so that what is sent is known in time.
class Player {
 public:
  Player(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
         std::span<const TransferCost> next, const PipelineDemands& demands, size_t lane)
      : costs_(costs),
        links_(next),
        demands_(demands),
        lane_(lane),
        chunks_(static_cast<size_t>(script.shape.chunks)),
        stages_(static_cast<size_t>(script.shape.stages)),
        sent_(static_cast<size_t>(script.messages) + 1) {
    for (const Step& step : script.steps)
      stages_[static_cast<size_t>(step.stage)].program.push_back(&step);
    for (Stage& stage : stages_) stage.launched_s.assign(stage.program.size(), kNever);
  }

  void run(std::vector<double>& ends) {
    for (;;) {
      const auto first =
          std::min_element(stages_.begin(), stages_.end(),
                           [](const Stage& a, const Stage& b) { return a.next < b.next; });
      if (first->next == kNever) break;
      advance(static_cast<size_t>(first - stages_.begin()));
    }
    ends.clear();
    for (const Stage& stage : stages_) {
      for (const size_t at : stage.at)
        ERGOMETER_CHECK(at == stage.program.size(), "a stage waits for what is never sent");
      ends.push_back(stage.now);
    }
  }

 private:
  double of(const Batch& batch) const { return batch[lane_]; }
  const BatchCost& slot_cost(size_t s, const Step& step) const {
    return (*costs_[s * chunks_ + static_cast<size_t>(step.chunk)])[static_cast<size_t>(step.slot)];
  }
  /// The stage whose link to the following one the transfer takes.
  size_t link_of(size_t s, const Step& step) const {
    const bool to_next = (step.kind == Kind::kSend) == step.forward;
    return to_next ? s : (s + stages_.size() - 1) % stages_.size();
  }

  void advance(size_t s) {
    Stage& stage = stages_[s];
    const double interval_s = stage.next - stage.now;
    stage.now = stage.next;
    for (Work& work : stage.work)
      if (work.active) work.left_s -= interval_s * work.rate;
    // What a rounding error away from its end is over.
    constexpr double kRounding = 1e-12;
    for (size_t stream = kStreams; stream-- > 0;)
      if (stage.work[stream].active && stage.work[stream].left_s <= kRounding * (1 + stage.now))
        finish(stage, stream);
    for (bool moved = true; moved;) {
      moved = launch(s);
      for (size_t stream = 0; stream < kPrograms; ++stream)
        while (step(s, stream)) moved = true;
    }
    set_rates(stage);
    find_next(stage);
  }

  void finish(Stage& stage, size_t stream) {
    Work& work = stage.work[stream];
    work.active = false;
    if (stream == kGradients) return;
    if (stream == kCompute) {
      if (!stage.pieces.empty()) scatter(stage);
      if (!stage.pieces.empty()) {
        work.left_s = stage.pieces.front().share[lane_] * stage.slot_s;
        work.active = true;
        return;
      }
      stage.slot = nullptr;
    }
    ++stage.at[stream];
  }

  /// The gradients of a piece that is over join those that are still being sent.
  void scatter(Stage& stage) {
    const double sent_s = stage.pieces.front().sent_s[lane_];
    stage.pieces = stage.pieces.subspan(1);
    Work& work = stage.work[kGradients];
    work.left_s = (work.active ? work.left_s : 0) + sent_s;
    work.active = true;
    for (size_t way = 0; way < kWays; ++way) work.demand[way] = demands_.gradients.share[way / 2];
  }

  /// The host goes on launching as far as nothing holds it up.
  bool launch(size_t s) {
    Stage& stage = stages_[s];
    const size_t first = stage.host;
    for (; stage.host < stage.program.size() && !stage.host_waits; ++stage.host) {
      const Step& it = *stage.program[stage.host];
      if (it.kind == Kind::kSync) {
        if (stage.at[kCompute] < stage.host) break;
        stage.host_s = std::max(stage.host_s, stage.now);
      }
      stage.launched_s[stage.host] = stage.host_s;
      if (it.kind == Kind::kRun) {
        const BatchCost& cost = slot_cost(s, it);
        stage.host_waits = of(cost.ht) > kSyncsHost;
        if (!stage.host_waits) stage.host_s += of(cost.hh);
      } else if (it.kind == Kind::kSend || it.kind == Kind::kReceive) {
        stage.host_s += links_[link_of(s, it)].host_s;
      }
    }
    return stage.host != first;
  }

  /// Moves a stream over the step at its place, or starts that; false if it has to wait or is at
  /// work.
  bool step(size_t s, size_t stream) {
    Stage& stage = stages_[s];
    size_t& at = stage.at[stream];
    if (stage.work[stream].active || at == stage.program.size()) return false;
    const Step& it = *stage.program[at];
    const bool own_lane = stream != kCompute && stream == 1u + it.lane;
    switch (it.kind) {
      case Kind::kRun:
        if (stream == kCompute) return start_slot(stage, s, it);
        break;
      case Kind::kLaneFollows:
        if (own_lane && stage.at[kCompute] < at) return false;
        break;
      case Kind::kFollowLane:
        if (stream == kCompute && stage.at[1u + it.lane] < at) return false;
        break;
      case Kind::kSend:
      case Kind::kReceive:
        if (own_lane) return start_transfer(stage, s, it, stream);
        break;
      case Kind::kSync: break;
    }
    ++at;
    return true;
  }

  bool start_slot(Stage& stage, size_t s, const Step& it) {
    const double h = stage.launched_s[stage.at[kCompute]];
    if (h == kNever) return false;
    const BatchCost& cost = slot_cost(s, it);
    stage.slot_s = std::max(of(cost.tt), h + of(cost.th) - stage.now);
    stage.busy = stage.slot_s > 0 ? of(cost.tt) / stage.slot_s : 1;
    if (stage.host_waits && stage.host == stage.at[kCompute] + 1) {
      stage.host_s = std::max(stage.now + of(cost.ht), h + of(cost.hh));
      stage.host_waits = false;
    }
    stage.slot = &cost;
    stage.pieces = cost.pieces;
    stage.work[kCompute].left_s =
        stage.slot_s * (stage.pieces.empty() ? 1 : stage.pieces.front().share[lane_]);
    return stage.work[kCompute].active = true;
  }

  bool start_transfer(Stage& stage, size_t s, const Step& it, size_t stream) {
    const bool sends = it.kind == Kind::kSend;
    const auto message = static_cast<size_t>(it.message);
    if (stage.launched_s[stage.at[stream]] > stage.now) return false;
    if (!sends && !sent_[message]) return false;
    const size_t link = link_of(s, it);
    Work& work = stage.work[stream];
    work.left_s = links_[link].send_s;
    for (size_t way = 0; way < kWays; ++way)
      work.demand[way] = (way % 2 == 0) == sends ? demands_.transfers[link].share[way / 2] : 0;
    if (sends) {
      sent_[message] = true;
      // Who waits for it looks up.
      Stage& other = stages_[it.forward ? (s + 1) % stages_.size()
                                        : (s + stages_.size() - 1) % stages_.size()];
      other.next = stage.now;
    }
    return work.active = true;
  }

  void set_rates(Stage& stage) const {
    size_t transfers = 0;
    for (size_t stream = kLaneForward; stream <= kLaneBackward; ++stream)
      transfers += stage.work[stream].active ? 1 : 0;
    const bool sends_gradients = stage.work[kGradients].active;
    const bool computes = stage.work[kCompute].active;
    // Of a slot's time beside others: while it waits for its host neither loses anything.
    double busy = 0;
    if (computes) {
      const double slower = static_cast<double>(transfers) * (of(stage.slot->slow_transfer) - 1) +
                            (sends_gradients ? of(stage.slot->slow_data) - 1 : 0);
      busy = stage.busy * (1 + slower);
      stage.work[kCompute].rate = 1 / std::max(1.0, busy);
    }
    for (size_t stream = kLaneForward; stream < kStreams; ++stream) {
      Work& work = stage.work[stream];
      if (!work.active) continue;
      const double beside = !computes              ? 1
                            : stream == kGradients ? of(stage.slot->slows_data)
                                                   : of(stage.slot->slows_transfer);
      const double slower = 1 + std::min(1.0, busy) * (beside - 1);
      work.rate =
          (transfers + (sends_gradients ? 1 : 0) > 1 ? link_share(stage, work) : 1) / slower;
    }
  }

  static double link_share(const Stage& stage, const Work& work) {
    double share = 1;
    for (size_t way = 0; way < kWays; ++way) {
      const double own = work.demand[way];
      if (own <= 0) continue;
      std::array<double, kStreams> demands{};
      size_t count = 0;
      for (size_t stream = kLaneForward; stream < kStreams; ++stream)
        if (stage.work[stream].active && stage.work[stream].demand[way] > 0)
          demands[count++] = stage.work[stream].demand[way];
      if (count > 1)
        share = std::min(share, engine::fair_share(own, std::span(demands).first(count), 1) / own);
    }
    return share;
  }

  static void find_next(Stage& stage) {
    stage.next = kNever;
    for (const Work& work : stage.work)
      if (work.active) stage.next = std::min(stage.next, stage.now + work.left_s / work.rate);
    for (size_t lane = kLaneForward; lane <= kLaneBackward; ++lane) {
      if (stage.work[lane].active || stage.at[lane] == stage.program.size()) continue;
      const double launched_s = stage.launched_s[stage.at[lane]];
      if (launched_s > stage.now) stage.next = std::min(stage.next, launched_s);
    }
  }

  std::span<const ChunkCosts* const> costs_;
  std::span<const TransferCost> links_;
  const PipelineDemands& demands_;
  size_t lane_, chunks_;
  std::vector<Stage> stages_;
  std::vector<char> sent_;
};

}  // namespace

void play_sharing(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
                  std::span<const TransferCost> next, const PipelineDemands& demands, size_t lane,
                  std::vector<double>& ends) {
  Player(script, costs, next, demands, lane).run(ends);
}

}  // namespace ergometer::search
