#include "swarm/play.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "base/collection.h"
#include "base/random.h"
#include "base/text.h"

namespace ergometer::swarm {
namespace {

constexpr int kNobody = -1;
constexpr double kNewest = 0.2;  ///< weight of the newest measurement
constexpr double kWorthMoving = 1.05;

enum class What : uint8_t { kArrived, kDone, kLeaves, kComes, kReady };

struct Event {
  double t = 0;
  uint64_t number = 0;  ///< of equal times the earlier one first
  What what = What::kDone;
  int peer = kNobody;
  uint32_t life = 0;  ///< of the peer; of an earlier one it is void
  int batch = kNobody;
  bool operator>(const Event& other) const {
    return t != other.t ? t > other.t : number > other.number;
  }
};

struct Peer {
  size_t kind = 0, stage = 0;
  bool present = true, ready = true, busy = false;
  uint32_t life = 0;
  uint64_t draws = 0;
  double passed_s = 0;  ///< work that it was given this step, at its own speed
  double forward_s = 0, backward_s = 0, message_s = 0;  ///< as measured; 0: not yet
  double line_up_s = 0, line_down_s = 0;                ///< when they are free
  double since_s = 0;
  int64_t incoming = 0, held = 0;  ///< micro batches on their way to it; whose activations it has
  int source = kNobody;            ///< who sends it its stage's state
  int64_t serving = 0;             ///< peers that it sends its stage's state to
  std::deque<int> forwards = {}, backwards = {};
};

struct Batch {
  std::vector<int> holder;  ///< by stage: who has its activations
  size_t stage = 0, turn = 0;
  bool forward = true;
  int at = kNobody;
  int gradient_of = kNobody;  ///< who can send the gradient that its next backward needs
};

void measure(double& value, double seconds) {
  value = value <= 0 ? seconds : value + kNewest * (seconds - value);
}

class Simulation {
 public:
  Simulation(const Pipeline& pipeline, const PlayOptions& options) : p_(pipeline), o_(options) {
    out_.stages.resize(p_.stages.size());
    out_.kinds.resize(p_.kinds.size());
    out_.most_held.assign(p_.kinds.size(), std::vector<int64_t>(p_.stages.size()));
    waiting_.resize(p_.stages.size());
    members_.resize(p_.stages.size());
    per_s_.resize(p_.stages.size());
    for (size_t kind = 0; kind < p_.kinds.size(); ++kind)
      for (int64_t i = 0; i < p_.kinds[kind].count; ++i) add_peer(kind);
    next_balance_s_ = o_.rebalance_s;
  }

  Result<Outcome> run() {
    if (peers_.size() < p_.stages.size())
      return input_error("{} peers for {} stages; allowed: at least one a stage", peers_.size(),
                         p_.stages.size());
    for (int64_t step = 0; step < o_.steps; ++step) {
      const double begin_s = now_;
      ERGOMETER_TRY(run_step());
      end_step();
      out_.step_s.push_back(now_ - begin_s);
      if (o_.rebalance_s > 0 && now_ >= next_balance_s_) rebalance();
    }
    out_.total_s = now_;
    out_.redone = forwards_ - o_.steps * p_.micro_batches * std::ssize(p_.stages);
    return std::move(out_);
  }

 private:
  Peer& peer(int number) { return peers_[static_cast<size_t>(number)]; }
  const Peer& peer(int number) const { return peers_[static_cast<size_t>(number)]; }
  Batch& batch(int number) { return batches_[static_cast<size_t>(number)]; }
  const PeerKind& kind_of(const Peer& it) const { return p_.kinds[it.kind]; }
  const StageWork& work(const Peer& it) const { return p_.work[it.kind][it.stage]; }

  // Who is where.

  /// That a peer of the stage sends, of a micro batch.
  int messages(size_t stage) const {
    return (stage > 0 ? 1 : 0) + (stage + 1 < p_.stages.size() ? 1 : 0);
  }

  /// Seconds that a peer of that kind needs for a micro batch, of its GPU or of its line.
  double pace_s(size_t kind, size_t stage) const {
    const double message_s = p_.border_bytes / rate_between(p_.kinds[kind], p_.kinds[kind]);
    return std::max(p_.work[kind][stage].batch_s(), messages(stage) * message_s);
  }

  double per_s(const Peer& it, size_t stage) const { return 1 / pace_s(it.kind, stage); }

  void sum_speed(size_t stage) {
    per_s_[stage] = base::sum(members_[stage], [&](int it) { return per_s(peer(it), stage); });
  }
  void leave_stage(int number) {
    std::erase(members_[peer(number).stage], number);
    sum_speed(peer(number).stage);
  }
  void enter_stage(int number, size_t stage) {
    std::vector<int>& members = members_[stage];
    members.insert(std::ranges::upper_bound(members, number), number);
    peer(number).stage = stage;
    sum_speed(stage);
  }
  size_t slowest_stage() const {
    return static_cast<size_t>(std::ranges::min_element(per_s_) - per_s_.begin());
  }

  void add_peer(size_t kind) {
    const auto number = static_cast<int>(peers_.size());
    peers_.push_back({.kind = kind});
    enter_stage(number, slowest_stage());
    plan_leave(number);
  }

  double drawn(int number, double mean_s) {
    Peer& it = peer(number);
    const base::Random random(o_.seed, static_cast<uint64_t>(number), "swarm peer");
    return -mean_s * std::log(1 - random.uniform(it.draws++));
  }

  void plan_leave(int number) {
    const double stays_s = kind_of(peer(number)).stays_s;
    if (stays_s > 0) push(now_ + drawn(number, stays_s), What::kLeaves, number);
  }

  /// What of a peer's line is for each of its messages and for each peer that it sends its state.
  static double line_share(const Peer& sender) {
    return 1 / static_cast<double>(1 + sender.serving);
  }

  /// Fetches a stage's state from whoever of it sends fastest, or from where checkpoints lie. The
  /// sender's line is shared evenly between its messages and those that fetch.
  void settle(int number, size_t stage) {
    Peer& it = peer(number);
    leave_stage(number);
    it.ready = false;
    double rate = 0;
    for (const int other : members_[stage]) {
      const Peer& from = peer(other);
      if (!from.ready) continue;
      const double share = 1 / static_cast<double>(2 + from.serving);
      const double its_rate = share * rate_between(kind_of(from), kind_of(it));
      if (its_rate <= rate) continue;
      rate = its_rate;
      it.source = other;
    }
    enter_stage(number, stage);
    if (it.source != kNobody)
      ++peer(it.source).serving;
    else
      rate = kind_of(it).downlink_bytes_per_s;
    push(now_ + p_.stages[stage].state / rate, What::kReady, number);
  }

  /// It has its state, or wants it no more.
  void end_fetch(Peer& it) {
    if (it.source == kNobody) return;
    --peer(it.source).serving;
    it.source = kNobody;
  }

  /// What it holds is lost; its life ends, for events that are on their way to it.
  void drop(int number) {
    account(number);
    Peer& it = peer(number);
    it.ready = it.busy = false;
    end_fetch(it);
    ++it.life;
    it.incoming = it.held = 0;
    it.line_up_s = it.line_down_s = 0;
    it.forwards.clear();
    it.backwards.clear();
    it.forward_s = it.backward_s = it.message_s = 0;
    for (Batch& one : batches_) {
      for (int& holder : one.holder)
        if (holder == number) holder = kNobody;
      if (one.gradient_of == number) one.gradient_of = kNobody;
    }
  }

  void again(int number) {
    for (size_t i = 0; i < batches_.size(); ++i) {
      if (batches_[i].at != number) continue;
      const bool forward = batches_[i].forward;
      forward ? ask_forward(static_cast<int>(i), batches_[i].stage)
              : ask_backward(static_cast<int>(i), batches_[i].stage);
    }
  }

  void leaves(int number) {
    drop(number);
    Peer& it = peer(number);
    it.present = false;
    leave_stage(number);
    ++out_.left;
    const double away_s = kind_of(it).away_s;
    if (away_s > 0) push(now_ + drawn(number, away_s), What::kComes, number);
    if (members_[it.stage].empty()) fill(it.stage);
    again(number);
  }

  /// A stage without peers gets one of the stage that has most.
  void fill(size_t stage) {
    const auto most = std::ranges::max_element(members_, {}, &std::vector<int>::size);
    if (most->size() < 2) return;
    const int number = most->front();
    drop(number);
    settle(number, stage);
    plan_leave(number);
    ++out_.moved;
    again(number);
  }

  void comes(int number) {
    Peer& it = peer(number);
    it.since_s = now_;
    const size_t stage = slowest_stage();
    it.present = true;
    ++out_.joined;
    settle(number, stage);
    plan_leave(number);
  }

  void becomes_ready(int number) {
    account(number);
    Peer& it = peer(number);
    end_fetch(it);
    it.ready = true;
    it.passed_s = std::numeric_limits<double>::infinity();
    for (const int other : members_[it.stage])
      if (other != number && peer(other).ready)
        it.passed_s = std::min(it.passed_s, peer(other).passed_s);
    if (std::isinf(it.passed_s)) it.passed_s = 0;
    const std::deque<int> waited = std::exchange(waiting_[it.stage], {});
    for (const int number_of_batch : waited)
      ask_forward(number_of_batch, batch(number_of_batch).stage);
    inject();
  }

  /// One peer goes from a stage that can spare it to the slowest, if that makes the slowest faster.
  void rebalance() {
    next_balance_s_ = now_ + o_.rebalance_s;
    const size_t slowest = slowest_stage();
    double best = kWorthMoving * per_s_[slowest];
    int who = kNobody;
    for (size_t i = 0; i < peers_.size(); ++i) {
      const Peer& it = peers_[i];
      if (!it.present || !it.ready || it.stage == slowest || members_[it.stage].size() < 2)
        continue;
      const double least =
          std::min(per_s_[it.stage] - per_s(it, it.stage), per_s_[slowest] + per_s(it, slowest));
      if (least <= best) continue;
      best = least;
      who = static_cast<int>(i);
    }
    if (who == kNobody) return;
    drop(who);
    settle(who, slowest);
    plan_leave(who);
    ++out_.moved;
  }

  // Micro batches.

  /// Seconds that a peer takes for a micro batch, measured: of its GPU or of its line.
  double measured(const Peer& it) const {
    const double gpu_s = it.forward_s + (it.backward_s > 0 ? it.backward_s : 2 * it.forward_s);
    return std::max(gpu_s, messages(it.stage) * it.message_s);
  }

  int route(size_t stage) {
    double sum = 0, known = 0;
    for (const int number : members_[stage])
      if (const Peer& it = peer(number); it.forward_s > 0) sum += measured(it), ++known;
    const double mean = known > 0 ? sum / known : 1;
    const auto cost = [&](const Peer& it) { return it.forward_s > 0 ? measured(it) : mean; };
    int best = kNobody;
    for (const int number : members_[stage]) {
      const Peer& it = peer(number);
      if (!it.ready) continue;
      if (best == kNobody || it.passed_s + cost(it) < peer(best).passed_s + cost(peer(best)))
        best = number;
    }
    if (best != kNobody) peer(best).passed_s += cost(peer(best));
    return best;
  }

  /// A peer sends one message after the other; those that arrive together share its downlink.
  void send(int from, int to, int number) {
    Peer& there = peer(to);
    if (from == to || from == kNobody) return deliver(to, number);
    account(to);
    ++there.incoming;
    Peer& here = peer(from);
    const double rate = line_share(here) * rate_between(kind_of(here), kind_of(there));
    const double message_s = p_.border_bytes / rate;
    const double begin_s = std::max(now_, here.line_up_s);
    there.line_down_s = std::max(begin_s, there.line_down_s) +
                        p_.border_bytes / kind_of(there).downlink_bytes_per_s;
    const double end_s = std::max(begin_s + message_s, there.line_down_s);
    here.line_up_s = end_s;
    measure(here.message_s, message_s);
    push(end_s + kind_of(here).latency_s + kind_of(there).latency_s, What::kArrived, to, number);
  }

  /// The forward of a stage, or of the nearest before it whose output is still there.
  void ask_forward(int number, size_t stage) {
    Batch& it = batch(number);
    while (stage > 0 && it.holder[stage - 1] == kNobody) --stage;
    it.forward = true;
    it.stage = stage;
    it.at = route(stage);
    if (it.at == kNobody) return waiting_[stage].push_back(number);
    ++forwards_;
    send(stage == 0 ? kNobody : it.holder[stage - 1], it.at, number);
  }

  /// The backward of a stage. Where its activations are lost, the forward again; where the gradient
  /// behind it is lost too, that of all stages behind it.
  void ask_backward(int number, size_t stage) {
    Batch& it = batch(number);
    it.forward = false;
    it.stage = stage;
    it.at = it.holder[stage];
    const size_t last = p_.stages.size() - 1;
    const bool has_gradient = stage == last || it.gradient_of != kNobody;
    if (it.at != kNobody && has_gradient)
      return send(stage == last ? kNobody : it.gradient_of, it.at, number);
    it.turn = has_gradient ? stage : last;
    ask_forward(number, it.at == kNobody ? stage : stage + 1);
  }

  void start(int number) {
    Peer& it = peer(number);
    if (!it.ready || it.busy) return;
    const bool backward = !it.backwards.empty();
    std::deque<int>& queue = backward ? it.backwards : it.forwards;
    if (queue.empty()) return;
    account(number);
    it.busy = true;
    const int next = queue.front();
    queue.pop_front();
    push(now_ + (backward ? work(it).backward_s : work(it).forward_s), What::kDone, number, next);
  }

  void arrived(int to, int number) {
    account(to);
    --peer(to).incoming;
    deliver(to, number);
  }

  void deliver(int to, int number) {
    Peer& it = peer(to);
    (batch(number).forward ? it.forwards : it.backwards).push_back(number);
    start(to);
  }

  void done(int by, int number) {
    account(by);
    Peer& it = peer(by);
    it.busy = false;
    Batch& one = batch(number);
    const size_t stage = one.stage;
    if (one.forward) {
      measure(it.forward_s, work(it).forward_s);
      one.holder[stage] = by;
      int64_t& most = out_.most_held[it.kind][stage];
      most = std::max(most, ++it.held);
      stage == one.turn ? ask_backward(number, stage) : ask_forward(number, stage + 1);
    } else {
      measure(it.backward_s, work(it).backward_s);
      ++out_.stages[stage].micro_batches;
      ++out_.kinds[it.kind].micro_batches;
      one.holder[stage] = one.at = kNobody;
      --it.held;
      one.gradient_of = by;
      if (stage > 0) {
        ask_backward(number, stage - 1);
      } else {
        ++through_;
        inject();
      }
    }
    start(by);
  }

  void inject() {
    const auto ready = std::ranges::count_if(peers_, &Peer::ready);
    while (std::ssize(batches_) < p_.micro_batches &&
           std::ssize(batches_) - through_ < o_.in_flight * ready) {
      Batch added{.holder = std::vector<int>(p_.stages.size(), kNobody)};
      added.turn = p_.stages.size() - 1;
      batches_.push_back(std::move(added));
      ask_forward(static_cast<int>(batches_.size()) - 1, 0);
    }
  }

  // Time.

  void push(double t, What what, int number, int of_batch = kNobody) {
    events_.push({t, pushed_++, what, number, peer(number).life, of_batch});
  }

  /// Where its time went since it was last asked.
  void account(int number) {
    Peer& it = peer(number);
    const double seconds = now_ - it.since_s;
    it.since_s = now_;
    if (!it.present || seconds <= 0) return;
    add(it, seconds, it.busy ? seconds : 0,
        !it.busy && (it.incoming > 0 || !it.ready) ? seconds : 0);
  }
  void add(const Peer& it, double present_s, double busy_s, double network_s) {
    for (Share* share : {&out_.stages[it.stage], &out_.kinds[it.kind]}) {
      share->present_s += present_s;
      share->busy_s += busy_s;
      share->network_s += network_s;
    }
  }

  void handle(const Event& event) {
    switch (event.what) {
      case What::kArrived: return arrived(event.peer, event.batch);
      case What::kDone: return done(event.peer, event.batch);
      case What::kLeaves: return leaves(event.peer);
      case What::kComes: return comes(event.peer);
      case What::kReady: return becomes_ready(event.peer);
    }
  }

  Result<void> run_step() {
    constexpr double kLongest = 3e9;  // a century
    // Times that each peer leaves, and each forward is begun, in a step that does not end.
    constexpr int64_t kHopeless = 100;
    const double begin_s = now_;
    batches_.clear();
    through_ = 0;
    for (Peer& it : peers_) it.passed_s = 0;
    const int64_t left = out_.left, forwards = forwards_;
    inject();
    while (through_ < p_.micro_batches) {
      if (events_.empty() || now_ > kLongest)
        return input_error("step {}: a stage has lost its last peer, and none is to come",
                           out_.step_s.size() + 1);
      if (out_.left - left > kHopeless * std::ssize(peers_) ||
          forwards_ - forwards > kHopeless * p_.micro_batches * std::ssize(p_.stages))
        return input_error(
            "step {}: peers leave more quickly than it goes on: {} left and {} forwards were begun "
            "in {}; longer stays, faster lines or smaller messages would help",
            out_.step_s.size() + 1, out_.left - left, forwards_ - forwards,
            base::format_seconds(now_ - begin_s));
      const Event event = events_.top();
      events_.pop();
      if (event.life != peer(event.peer).life) continue;
      now_ = std::max(now_, event.t);
      handle(event);
    }
    return {};
  }

  /// A ring's seconds over the stage's ready peers, paced by its slowest line.
  double reduction_s(size_t stage) const {
    double line = std::numeric_limits<double>::infinity(), latency_s = 0, n = 0;
    std::vector<const PeerKind*> ring;
    for (const int it : members_[stage])
      if (peer(it).ready) ring.push_back(&kind_of(peer(it)));
    n = static_cast<double>(ring.size());
    if (n < 2) return 0;
    for (size_t i = 0; i < ring.size(); ++i) {
      const PeerKind& next = *ring[(i + 1) % ring.size()];
      line = std::min(line, rate_between(*ring[i], next));
      latency_s = std::max(latency_s, ring[i]->latency_s + next.latency_s);
    }
    const double rounds = p_.gathers_gradients ? n - 1 : 2 * (n - 1);
    const double part = p_.stages[stage].gradients / (p_.gathers_gradients ? 1 : n);
    return rounds * (part / line + latency_s);
  }

  /// First and last stage send each other a tied embedding's gradients, peer by peer; the slowest
  /// pair's seconds.
  double tied_s() const {
    double longest_s = 0;
    if (p_.tied_bytes <= 0 || p_.stages.size() < 2) return 0;
    for (const int first : members_.front()) {
      for (const int last : members_.back()) {
        if (!peer(first).ready || !peer(last).ready) continue;
        const PeerKind &one = kind_of(peer(first)), &other = kind_of(peer(last));
        const double rate = std::min(rate_between(one, other), rate_between(other, one));
        longest_s = std::max(longest_s, p_.tied_bytes / rate + one.latency_s + other.latency_s);
      }
    }
    return longest_s;
  }

  void end_step() {
    for (size_t i = 0; i < peers_.size(); ++i) account(static_cast<int>(i));
    std::vector<double> sums;
    for (size_t stage = 0; stage < p_.stages.size(); ++stage) sums.push_back(reduction_s(stage));
    if (const double tied = tied_s(); tied > 0)
      sums.front() = sums.back() = std::max(sums.front(), sums.back()) + tied;
    double longest_s = 0;
    for (const Peer& it : peers_)
      if (it.present && it.ready)
        longest_s = std::max(longest_s, sums[it.stage] + work(it).optimizer_s);
    now_ += longest_s;
    for (Peer& it : peers_) {
      it.since_s = now_;
      if (it.present)
        add(it, longest_s, it.ready ? work(it).optimizer_s : 0,
            it.ready ? sums[it.stage] : longest_s);
    }
  }

  const Pipeline& p_;
  const PlayOptions& o_;
  Outcome out_;
  double now_ = 0, next_balance_s_ = 0;
  uint64_t pushed_ = 0;
  int64_t through_ = 0;   ///< micro batches of the step
  int64_t forwards_ = 0;  ///< that peers were given
  std::vector<Peer> peers_;
  std::vector<std::vector<int>> members_;  ///< by stage: peers that are there
  std::vector<double> per_s_;              ///< by stage: their micro batches a second
  std::vector<Batch> batches_;
  std::vector<std::deque<int>> waiting_;  ///< by stage, for a peer
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Result<Outcome> play(const Pipeline& pipeline, const PlayOptions& options) {
  return Simulation(pipeline, options).run();
}

}  // namespace ergometer::swarm
