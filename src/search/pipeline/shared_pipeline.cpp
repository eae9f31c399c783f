#include "search/pipeline/shared_pipeline.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "engine/links/fair_share.h"

namespace ergometer::search {
namespace {

using Kind = PipelineScript::Kind;
using Step = PipelineScript::Step;

constexpr double kNever = std::numeric_limits<double>::infinity();
enum PlayStream : size_t { kCompute, kLaneForward, kLaneBackward, kGradientStream };
constexpr size_t kPrograms = 3;  ///< streams that go through the script
constexpr size_t kStreams = 4;
/// Of the domain's links and the cards, out and in; of the network's lines each direction.
constexpr size_t kEnds = 2 * LinkDemand::kLines;
constexpr size_t kWays = kEnds + 2 * LinkDemand::kMostLines;
/// `BatchCost::set` writes less where a slot does not sync the host.
constexpr double kSyncsHost = -1e29;

/// What is at work on a stream.
struct Work {
  bool active = false;
  bool sends = false, forward = false;  ///< of a transfer
  double left_s = 0;                    ///< alone
  double longer = 1;                    ///< than that it takes
};

/// What is at work on the links of a stage: of each lane one of four transfers or none, and
/// gradients.
constexpr size_t kMixes = size_t{5} * 5 * 2;

struct Stage {
  const PipelineScript::Program* program = nullptr;
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
  double now = 0;
  /// Shares of the links by mix, each found when it is first met.
  uint64_t known_mixes = 0;
  std::array<std::array<double, kStreams>, kMixes> shares;

  size_t size() const { return program->steps.size(); }
  void go_to(size_t stream, size_t place) {
    at[stream] = static_cast<size_t>(program->places[stream][place]);
  }
  void reset(const PipelineScript::Program& of) {
    program = &of;
    launched_s.assign(of.steps.size(), kNever);
    for (size_t stream = 0; stream < kPrograms; ++stream) go_to(stream, 0);
    work = {};
    host = 0;
    host_waits = false;
    host_s = now = slot_s = 0;
    slot = nullptr;
    pieces = {};
    known_mixes = 0;
  }
};

/// What is kept from one play to the next so as not to allocate it anew.
struct Room {
  std::vector<Stage> stages;
  std::vector<double> next;  ///< by stage: its next event
  std::vector<char> sent;    ///< by message
};

/// Stages take turns by the time of their next event, so that what is sent is known in time.
class SharedPlayer {
 public:
  SharedPlayer(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
               std::span<const TransferCost> next, const PipelineDemands& demands, size_t lane,
               Room& room)
      : costs_(costs),
        links_(next),
        demands_(demands),
        lane_(lane),
        chunks_(static_cast<size_t>(script.shape.chunks)),
        room_(room) {
    const size_t count = script.programs.size();
    if (room.stages.size() < count) room.stages.resize(count);
    stages_ = std::span(room.stages).first(count);
    for (size_t s = 0; s < count; ++s) stages_[s].reset(script.programs[s]);
    room.next.assign(count, 0);
    room.sent.assign(static_cast<size_t>(script.messages) + 1, 0);
  }

  void run(std::vector<double>& ends) {
    const std::vector<double>& next = room_.next;
    for (;;) {
      const auto first = std::ranges::min_element(next);
      if (*first == kNever) break;
      advance(static_cast<size_t>(first - next.begin()), *first);
    }
    ends.clear();
    for (const Stage& stage : stages_) {
      for (const size_t at : stage.at)
        ERGOMETER_CHECK(at == stage.size(), "a stage waits for what is never sent");
      ends.push_back(stage.now);
    }
  }

 private:
  double of(const Batch& batch) const { return batch[lane_]; }
  const BatchCost& slot_cost(size_t s, const Step& step) const {
    return (*costs_[s * chunks_ + static_cast<size_t>(step.chunk)])[static_cast<size_t>(step.slot)];
  }
  size_t before(size_t s) const { return s == 0 ? stages_.size() - 1 : s - 1; }
  size_t behind(size_t s) const { return s + 1 == stages_.size() ? 0 : s + 1; }
  /// The stage whose link to the following one a transfer takes.
  size_t link_of(size_t s, bool sends, bool forward) const {
    return sends == forward ? s : before(s);
  }

  void advance(size_t s, double now) {
    Stage& stage = stages_[s];
    const double interval_s = now - stage.now;
    stage.now = now;
    for (Work& work : stage.work)
      if (work.active) work.left_s -= interval_s / work.longer;
    // What a rounding error away from its end is over.
    constexpr double kRounding = 1e-12;
    for (size_t stream = kStreams; stream-- > 0;)
      if (stage.work[stream].active && stage.work[stream].left_s <= kRounding * (1 + now))
        finish(stage, stream);
    for (bool again = true; again;) {
      const bool launched = launch(s);
      bool computes = false, transfers = false;
      while (step_compute(stage, s)) computes = true;
      for (size_t stream = kLaneForward; stream <= kLaneBackward; ++stream)
        while (step_lane(stage, s, stream)) transfers = true;
      // The compute stream may wait for a lane, and the host for the compute stream.
      again = transfers || ((computes || launched) && stage.host < stage.size());
    }
    set_paces(stage, s);
    find_next(stage, room_.next[s]);
  }

  void finish(Stage& stage, size_t stream) {
    Work& work = stage.work[stream];
    work.active = false;
    if (stream == kGradientStream) return;
    if (stream == kCompute) {
      if (!stage.pieces.empty()) scatter(stage);
      if (!stage.pieces.empty()) {
        work.left_s = stage.pieces.front().share[lane_] * stage.slot_s;
        work.active = true;
        return;
      }
      stage.slot = nullptr;
    }
    stage.go_to(stream, stage.at[stream] + 1);
  }

  /// The gradients of a piece that is over join those that are still being sent.
  void scatter(Stage& stage) {
    const double sent_s = stage.pieces.front().sent_s[lane_];
    stage.pieces = stage.pieces.subspan(1);
    Work& work = stage.work[kGradientStream];
    work.left_s = (work.active ? work.left_s : 0) + sent_s;
    work.active = true;
  }

  /// The host goes on launching as far as nothing holds it up.
  bool launch(size_t s) {
    Stage& stage = stages_[s];
    const size_t first = stage.host;
    for (; stage.host < stage.size() && !stage.host_waits; ++stage.host) {
      const Step& it = stage.program->steps[stage.host];
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
        stage.host_s += links_[link_of(s, it.kind == Kind::kSend, it.forward)].host_s;
      }
    }
    return stage.host != first;
  }

  /// Moves a stream over the step at its place, or starts that; false if it has to wait or is at
  /// work.
  bool step_compute(Stage& stage, size_t s) {
    const size_t at = stage.at[kCompute];
    if (stage.work[kCompute].active || at == stage.size()) return false;
    const Step& it = stage.program->steps[at];
    if (it.kind == Kind::kRun) return start_slot(stage, s, it);
    if (stage.at[1u + it.lane] < at) return false;
    stage.go_to(kCompute, at + 1);
    return true;
  }
  bool step_lane(Stage& stage, size_t s, size_t stream) {
    const size_t at = stage.at[stream];
    if (stage.work[stream].active || at == stage.size()) return false;
    const Step& it = stage.program->steps[at];
    if (it.kind != Kind::kLaneFollows) return start_transfer(stage, s, it, stream);
    if (stage.at[kCompute] < at) return false;
    stage.go_to(stream, at + 1);
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

  static bool waits_for(const Stage& stage, int32_t message) {
    for (size_t stream = kLaneForward; stream <= kLaneBackward; ++stream) {
      const size_t at = stage.at[stream];
      if (stage.work[stream].active || at == stage.size()) continue;
      const Step& it = stage.program->steps[at];
      if (it.kind == Kind::kReceive && it.message == message) return true;
    }
    return false;
  }

  bool start_transfer(Stage& stage, size_t s, const Step& it, size_t stream) {
    const bool sends = it.kind == Kind::kSend;
    const auto message = static_cast<size_t>(it.message);
    if (stage.launched_s[stage.at[stream]] > stage.now) return false;
    if (!sends && room_.sent[message] == 0) return false;
    Work& work = stage.work[stream];
    work.left_s = links_[link_of(s, sends, it.forward)].message(it.forward).send_s;
    work.sends = sends;
    work.forward = it.forward;
    if (sends) {
      room_.sent[message] = 1;
      const size_t to = it.forward ? behind(s) : before(s);
      if (waits_for(stages_[to], it.message)) room_.next[to] = stage.now;
    }
    return work.active = true;
  }

  void set_paces(Stage& stage, size_t s) const {
    const bool forward = stage.work[kLaneForward].active;
    const bool backward = stage.work[kLaneBackward].active;
    const bool gradients = stage.work[kGradientStream].active;
    const size_t transfers = (forward ? 1u : 0u) + (backward ? 1u : 0u);
    const bool computes = stage.work[kCompute].active;
    // Of a slot's time beside others: while it waits for its host neither loses anything.
    double busy = 0;
    if (computes) {
      const double slower = static_cast<double>(transfers) * (of(stage.slot->slow_transfer) - 1) +
                            (gradients ? of(stage.slot->slow_data) - 1 : 0);
      busy = stage.busy * (1 + slower);
      stage.work[kCompute].longer = std::max(1.0, busy);
    }
    if (transfers == 0 && !gradients) return;
    const bool shared = transfers + (gradients ? 1 : 0) > 1;
    const std::array<double, kStreams>* shares = shared ? &shares_of(stage, s) : nullptr;
    for (size_t stream = kLaneForward; stream < kStreams; ++stream) {
      Work& work = stage.work[stream];
      if (!work.active) continue;
      const double beside = !computes                   ? 1
                            : stream == kGradientStream ? of(stage.slot->slows_data)
                                                        : of(stage.slot->slows_transfer);
      const double slower = 1 + std::min(1.0, busy) * (beside - 1);
      work.longer = shared ? slower / (*shares)[stream] : slower;
    }
  }

  /// What each stream at work on the links gets of what it asks for.
  const std::array<double, kStreams>& shares_of(Stage& stage, size_t s) const {
    const auto state = [](const Work& work) {
      return work.active ? 1u + (work.sends ? 1u : 0u) + (work.forward ? 2u : 0u) : 0u;
    };
    const size_t mix =
        (state(stage.work[kLaneForward]) * 5 + state(stage.work[kLaneBackward])) * 2 +
        (stage.work[kGradientStream].active ? 1 : 0);
    std::array<double, kStreams>& found = stage.shares[mix];
    if ((stage.known_mixes >> mix & 1) != 0) return found;
    stage.known_mixes |= uint64_t{1} << mix;
    std::array<std::array<double, kStreams>, kWays> demand{};
    for (size_t stream = kLaneForward; stream < kStreams; ++stream) {
      const Work& work = stage.work[stream];
      if (!work.active) continue;
      const bool collective = stream == kGradientStream;
      const LinkDemand& asks =
          collective
              ? demands_.gradients
              : demands_.transfers[link_of(s, work.sends, work.forward)][work.forward ? 0 : 1];
      for (size_t way = 0; way < kWays; ++way) {
        const bool of_ends = way < kEnds || demands_.lines_are_of_ends;
        if (collective || !of_ends || (way % 2 == 0) == work.sends)
          demand[way][stream] = asks.share[way < kEnds ? way / 2 : way - LinkDemand::kLines];
      }
    }
    for (size_t stream = kLaneForward; stream < kStreams; ++stream) {
      found[stream] = 1;
      for (const std::array<double, kStreams>& of_way : demand) {
        const double own = of_way[stream];
        if (own <= 0) continue;
        std::array<double, kStreams> demands{};
        size_t count = 0;
        for (size_t other = kLaneForward; other < kStreams; ++other)
          if (of_way[other] > 0) demands[count++] = of_way[other];
        if (count > 1)
          found[stream] = std::min(
              found[stream], engine::fair_share(own, std::span(demands).first(count), 1) / own);
      }
    }
    return found;
  }

  static void find_next(const Stage& stage, double& next) {
    next = kNever;
    for (const Work& work : stage.work)
      if (work.active) next = std::min(next, stage.now + work.left_s * work.longer);
    for (size_t lane = kLaneForward; lane <= kLaneBackward; ++lane) {
      if (stage.work[lane].active || stage.at[lane] == stage.size()) continue;
      const double launched_s = stage.launched_s[stage.at[lane]];
      if (launched_s > stage.now) next = std::min(next, launched_s);
    }
  }

  std::span<const ChunkCosts* const> costs_;
  std::span<const TransferCost> links_;
  const PipelineDemands& demands_;
  size_t lane_, chunks_;
  Room& room_;
  std::span<Stage> stages_;
};

}  // namespace

void play_sharing(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
                  std::span<const TransferCost> next, const PipelineDemands& demands, size_t lane,
                  std::vector<double>& ends) {
  thread_local Room room;
  SharedPlayer(script, costs, next, demands, lane, room).run(ends);
}

}  // namespace ergometer::search
