// What it predicts: when the loops of a given algorithm are done (spec/collective/algorithm.h).
//
// A thread block does its steps one behind the other, loop after loop. A step begins when the one
// before is done, the one it depends on is done in the same loop, and what it receives is there.
//
//   sends                count x chunk bytes at its rate, then hop_s until the receiver has them
//   cpy, re              count x chunk bytes at the thread block's own rate
//   r, rrc, nop          nothing: what receivers copy is within what was measured of links
//
// Rates are max-min fair: all grow alike until a port or a thread block is full; those that cross
// it stay, the others grow on. Between two ends or begins of transfers rates are constant.
//
// Worked: 2 GPUs that send each other half of 2 GB over ports of 100 GB/s, the sum back, hops of
// 1 us: 10 ms + 1 us and that again, 20.002 ms.
//
// Range: large irregular files are played coarsely, to about 0.1 % (together_s). Connections hold
// any number of messages, so that a sender never waits for a slot.
#include "cost/algorithm_play.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace ergometer::cost {
namespace {

using spec::AlgorithmStep;
using spec::StepKind;
using spec::ThreadBlock;

constexpr size_t kNobody = std::numeric_limits<size_t>::max();

class Player {
 public:
  Player(const spec::Algorithm& algorithm, const AlgorithmRoutes& routes, double chunk_bytes,
         int loops, bool with_hops)
      : routes_(routes),
        chunk_bytes_(chunk_bytes),
        with_hops_(with_hops),
        loops_(static_cast<size_t>(loops)),
        done_s_(loops_),
        at_work_(loops_),
        left_(routes.port_bytes_per_s.size()),
        users_(routes.port_bytes_per_s.size()) {
    add_blocks(algorithm);
    connect(algorithm);
  }

  std::vector<double> run() {
    for (size_t i = 0; i < blocks_.size(); ++i) ready_.push_back(i);
    for (;;) {
      while (!ready_.empty()) {
        const size_t block = ready_.back();
        ready_.pop_back();
        go_on(block);
      }
      if (transfers_.empty() && messages_.empty()) return done_s_;
      set_rates();
      advance(until_next());
    }
  }

 private:
  struct Block {
    const ThreadBlock* program = nullptr;
    const AlgorithmRoute* route = nullptr;
    size_t first = 0;           ///< the number of its GPU's first block
    size_t receiver = kNobody;  ///< of what it sends
    size_t done = 0;            ///< steps, over all loops
    size_t arrived = 0;         ///< messages that wait for it
    bool busy = false;
    double owed_bytes = 0;                        ///< of transfers that ended a little early
    std::set<std::pair<size_t, size_t>> waiting;  ///< steps of it, over all loops, and who waits
  };
  struct Transfer {
    size_t block = 0;
    double bytes = 0, left_bytes = 0, bytes_per_s = 0;
    bool sends = false;
  };

  void add_blocks(const spec::Algorithm& algorithm) {
    for (size_t gpu = 0; gpu < algorithm.gpus.size(); ++gpu) {
      const size_t first = blocks_.size();
      const auto& programs = algorithm.gpus[gpu].blocks;
      for (size_t tb = 0; tb < programs.size(); ++tb) {
        Block block;
        block.program = &programs[tb];
        block.route = &routes_.out[gpu][tb];
        block.first = first;
        if (!programs[tb].steps.empty())
          for (size_t& count : at_work_) ++count;
        blocks_.push_back(std::move(block));
      }
    }
  }

  void connect(const spec::Algorithm& algorithm) {
    std::map<std::tuple<int, int, int>, size_t> receivers;
    size_t number = 0;
    for (int gpu = 0; gpu < algorithm.size(); ++gpu)
      for (const ThreadBlock& block : algorithm.gpus[static_cast<size_t>(gpu)].blocks)
        receivers[{block.receive_from, gpu, block.channel}] = number++;
    number = 0;
    for (int gpu = 0; gpu < algorithm.size(); ++gpu)
      for (const ThreadBlock& block : algorithm.gpus[static_cast<size_t>(gpu)].blocks) {
        const auto found = receivers.find({gpu, block.send_to, block.channel});
        if (found != receivers.end()) blocks_[number].receiver = found->second;
        ++number;
      }
  }

  /// Steps until one takes time or has to wait.
  void go_on(size_t number) {
    Block& block = blocks_[number];
    const size_t steps = block.program->steps.size();
    while (!block.busy && block.done < steps * loops_) {
      const AlgorithmStep& step = block.program->steps[block.done % steps];
      if (has_to_wait(number, step)) return;
      if (receives(step.kind)) --block.arrived;
      const bool local = step.kind == StepKind::kCopy || step.kind == StepKind::kReduce;
      if (local || sends(step.kind)) {
        block.busy = true;
        const double bytes = step.count * chunk_bytes_;
        transfers_.push_back(
            {number, bytes, bytes + std::exchange(block.owed_bytes, 0), 0, sends(step.kind)});
      } else {
        finish(number);
      }
    }
  }

  bool has_to_wait(size_t number, const AlgorithmStep& step) {
    const Block& block = blocks_[number];
    if (receives(step.kind) && block.arrived == 0) return true;
    if (step.after_block < 0) return false;
    Block& other = blocks_[block.first + static_cast<size_t>(step.after_block)];
    const size_t loop = block.done / block.program->steps.size();
    const size_t last = loop * other.program->steps.size() + static_cast<size_t>(step.after_step);
    if (other.done > last) return false;
    other.waiting.insert({last, number});
    return true;
  }

  void finish(size_t number) {
    Block& block = blocks_[number];
    const size_t steps = block.program->steps.size();
    ++block.done;
    if (const size_t loop = block.done / steps;
        block.done % steps == 0 && --at_work_[loop - 1] == 0)
      done_s_[loop - 1] = now_s_;
    for (; !block.waiting.empty() && block.waiting.begin()->first < block.done;
         block.waiting.erase(block.waiting.begin()))
      ready_.push_back(block.waiting.begin()->second);
  }

  void send(size_t number) {
    const Block& block = blocks_[number];
    if (with_hops_ && block.route->hop_s > 0)
      messages_.emplace(now_s_ + block.route->hop_s, block.receiver);
    else
      arrive(block.receiver);
  }
  void arrive(size_t number) {
    ++blocks_[number].arrived;
    ready_.push_back(number);
  }

  /// Max-min fair, by filling.
  void set_rates() {
    std::vector<size_t> filling;
    for (size_t i = 0; i < transfers_.size(); ++i) {
      transfers_[i].bytes_per_s = routes_.block_bytes_per_s;
      if (!transfers_[i].sends) continue;
      filling.push_back(i);
      for (const size_t port : ports_of(transfers_[i])) {
        left_[port] = routes_.port_bytes_per_s[port];
        users_[port] = 0;
      }
    }
    for (const size_t i : filling)
      for (const size_t port : ports_of(transfers_[i])) ++users_[port];
    while (!filling.empty()) filling = fill(filling);
  }

  /// Those that can still grow.
  std::vector<size_t> fill(const std::vector<size_t>& filling) {
    constexpr double kSame = 1 + 1e-9;
    double level = routes_.block_bytes_per_s;
    const auto even = [&](size_t port) { return left_[port] / static_cast<double>(users_[port]); };
    for (const size_t i : filling)
      for (const size_t port : ports_of(transfers_[i])) level = std::min(level, even(port));
    std::vector<size_t> full, rest;
    for (const size_t i : filling) {
      const bool stays = level >= routes_.block_bytes_per_s ||
                         std::ranges::any_of(ports_of(transfers_[i]), [&](size_t port) {
                           return even(port) <= level * kSame;
                         });
      (stays ? full : rest).push_back(i);
    }
    for (const size_t i : full) {
      transfers_[i].bytes_per_s = level;
      for (const size_t port : ports_of(transfers_[i])) {
        left_[port] = std::max(0.0, left_[port] - level);
        --users_[port];
      }
    }
    looked_at_ += filling.size();
    return rest;
  }

  const std::vector<size_t>& ports_of(const Transfer& transfer) const {
    return blocks_[transfer.block].route->ports;
  }

  double until_next() const {
    double next_s = std::numeric_limits<double>::infinity();
    if (!messages_.empty()) next_s = messages_.top().first - now_s_;
    for (const Transfer& transfer : transfers_)
      next_s = std::min(next_s, transfer.left_bytes / transfer.bytes_per_s);
    return std::max(0.0, next_s);
  }

  /// What ends at nearly the same time ends together: of alike GPUs it is the same time but for
  /// rounding; large irregular files are played the more coarsely the more there is to look at, but
  /// a tenth of a transfer at most, and its block owes the rest to what it moves next.
  double together_s() const {
    constexpr double kRounding = 1e-9;
    constexpr size_t kMuch = 20'000'000;
    double share = kRounding;
    for (size_t much = kMuch; much < looked_at_ && share < 1e-2; much += kMuch) share *= 10;
    return share * now_s_;
  }

  void advance(double seconds) {
    now_s_ += seconds;
    constexpr double kMostEarly = 0.1;
    const double together = together_s();
    std::vector<size_t> ended;
    std::erase_if(transfers_, [&](Transfer& transfer) {
      transfer.left_bytes -= transfer.bytes_per_s * seconds;
      if (transfer.left_bytes >
          std::min(transfer.bytes_per_s * together, kMostEarly * transfer.bytes))
        return false;
      blocks_[transfer.block].owed_bytes = std::max(0.0, transfer.left_bytes);
      ended.push_back(transfer.block);
      if (transfer.sends) send(transfer.block);
      return true;
    });
    looked_at_ += transfers_.size() + ended.size();
    for (const size_t block : ended) {
      blocks_[block].busy = false;
      finish(block);
      ready_.push_back(block);
    }
    while (!messages_.empty() && messages_.top().first <= now_s_ + together) {
      arrive(messages_.top().second);
      messages_.pop();
    }
  }

  const AlgorithmRoutes& routes_;
  double chunk_bytes_ = 0;
  bool with_hops_ = true;
  size_t loops_ = 1;
  std::vector<Block> blocks_;
  std::vector<double> done_s_;   ///< by loop
  std::vector<size_t> at_work_;  ///< by loop, blocks that are not through with it
  std::vector<double> left_;     ///< by port, bytes/s that nobody has yet
  std::vector<size_t> users_;    ///< by port, transfers that still grow
  std::vector<size_t> ready_;
  std::vector<Transfer> transfers_;
  using Message = std::pair<double, size_t>;  ///< when it is there, and for whom
  std::priority_queue<Message, std::vector<Message>, std::greater<>> messages_;
  double now_s_ = 0;
  size_t looked_at_ = 0;
};

}  // namespace

std::vector<double> play_algorithm(const spec::Algorithm& algorithm, const AlgorithmRoutes& routes,
                                   double chunk_bytes, int loops, bool with_hops) {
  return Player(algorithm, routes, chunk_bytes, loops, with_hops).run();
}

}  // namespace ergometer::cost
