#include "spec/collective/check_algorithm.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace ergometer::spec {
namespace {

/// A chunk's value: the sum of some GPUs' input chunks with the number `index`.
struct Sum {
  int index = 0;
  std::vector<uint64_t> parts;  ///< a bit a GPU
  int doubled = -1;             ///< a GPU whose part is in it twice

  bool has(int gpu) const {
    return (parts[static_cast<size_t>(gpu) / 64] >> (static_cast<size_t>(gpu) % 64) & 1) != 0;
  }
};
using Chunk = std::shared_ptr<const Sum>;  ///< null: nothing was written there

Chunk own_part(int gpu, int index, int gpus) {
  Sum sum{index, std::vector<uint64_t>((static_cast<size_t>(gpus) + 63) / 64), -1};
  sum.parts[static_cast<size_t>(gpu) / 64] |= uint64_t{1} << (static_cast<size_t>(gpu) % 64);
  return std::make_shared<const Sum>(std::move(sum));
}

Chunk add_parts(const Sum& a, const Sum& b) {
  Sum sum = a;
  if (b.doubled >= 0) sum.doubled = b.doubled;
  for (size_t word = 0; word < sum.parts.size(); ++word) {
    if (const uint64_t both = a.parts[word] & b.parts[word]; both != 0)
      sum.doubled = static_cast<int>(word * 64) + __builtin_ctzll(both);
    sum.parts[word] |= b.parts[word];
  }
  return std::make_shared<const Sum>(std::move(sum));
}

const char* buffer_name(ChunkBuffer buffer) {
  if (buffer == ChunkBuffer::kScratch) return "scratch";
  return buffer == ChunkBuffer::kInput ? "input" : "output";
}

class Execution {
 public:
  /// `newest_first`: of the blocks that can go on the one goes that became able last.
  Execution(const Algorithm& algorithm, bool in_place, bool newest_first)
      : a_(algorithm), in_place_(in_place), newest_first_(newest_first) {
    const auto inputs = static_cast<size_t>(a_.input_chunks()),
               outputs = static_cast<size_t>(a_.output_chunks());
    for (int gpu = 0; gpu < a_.size(); ++gpu) {
      const GpuProgram& program = a_.gpus[static_cast<size_t>(gpu)];
      memory_.emplace_back(inputs + outputs + static_cast<size_t>(program.scratch_chunks));
      next_.emplace_back(program.blocks.size());
      waiting_.emplace_back();
      for (int i = 0; i < a_.input_chunks(); ++i)
        at(gpu, ChunkBuffer::kInput, i) = own_part(gpu, i, a_.size());
      for (int tb = 0; tb < std::ssize(program.blocks); ++tb) {
        const ThreadBlock& block = program.blocks[static_cast<size_t>(tb)];
        if (block.receive_from >= 0) receivers_[{block.receive_from, gpu, block.channel}] = tb;
        ready_.emplace_back(gpu, tb);
      }
    }
  }

  Result<void> run() {
    while (!ready_.empty() && !error_) {
      const auto [gpu, tb] = newest_first_ ? ready_.back() : ready_.front();
      if (newest_first_)
        ready_.pop_back();
      else
        ready_.pop_front();
      go_on(gpu, tb);
    }
    if (!error_) unfinished();
    if (!error_) unreceived();
    for (int gpu = 0; gpu < a_.size() && !error_; ++gpu) outputs(gpu);
    if (error_) return tl::unexpected(*error_);
    return {};
  }

 private:
  using Connection = std::tuple<int, int, int>;  ///< from, to, channel
  using Message = std::vector<Chunk>;

  template <class... Parts>
  void refuse(int line, fmt::format_string<Parts...> form, Parts&&... parts) {
    if (error_) return;
    error_ = base::Error{
        base::ErrorKind::kInput,
        fmt::format("{}:{}: {}", a_.file, line, fmt::format(form, std::forward<Parts>(parts)...))};
  }

  const ThreadBlock& block_of(int gpu, int tb) const {
    return a_.gpus[static_cast<size_t>(gpu)].blocks[static_cast<size_t>(tb)];
  }
  size_t& next_of(int gpu, int tb) {
    return next_[static_cast<size_t>(gpu)][static_cast<size_t>(tb)];
  }

  /// In place, the smaller buffer is the GPU's own part of the larger.
  Chunk& at(int gpu, ChunkBuffer buffer, int chunk) {
    const int inputs = a_.input_chunks(), outputs = a_.output_chunks();
    if (in_place_ && buffer == ChunkBuffer::kInput && inputs < outputs) {
      buffer = ChunkBuffer::kOutput;
      chunk += gpu * inputs;
    } else if (in_place_ && buffer == ChunkBuffer::kOutput && outputs <= inputs) {
      buffer = ChunkBuffer::kInput;
      chunk += outputs < inputs ? gpu * outputs : 0;
    }
    const int before = buffer == ChunkBuffer::kInput    ? 0
                       : buffer == ChunkBuffer::kOutput ? inputs
                                                        : inputs + outputs;
    return memory_[static_cast<size_t>(gpu)][static_cast<size_t>(before + chunk)];
  }

  /// Steps until one has to wait.
  void go_on(int gpu, int tb) {
    const ThreadBlock& block = block_of(gpu, tb);
    for (size_t& next = next_of(gpu, tb); next < block.steps.size() && !error_;) {
      const AlgorithmStep& step = block.steps[next];
      if (!may_go(gpu, tb, block, step)) return;
      do_step(gpu, block, step);
      ++next;
      wake(gpu, tb, static_cast<int>(next) - 1);
    }
  }

  bool may_go(int gpu, int tb, const ThreadBlock& block, const AlgorithmStep& step) {
    if (step.after_block >= 0 &&
        next_of(gpu, step.after_block) <= static_cast<size_t>(step.after_step)) {
      waiting_[static_cast<size_t>(gpu)].insert({step.after_block, step.after_step, tb});
      return false;
    }
    return !receives(step.kind) || !messages_[{block.receive_from, gpu, block.channel}].empty();
  }

  void wake(int gpu, int tb, int step) {
    auto& waiting = waiting_[static_cast<size_t>(gpu)];
    const auto begin = waiting.lower_bound({tb, step, 0}),
               end = waiting.lower_bound({tb, step + 1, 0});
    for (auto it = begin; it != end; ++it) ready_.emplace_back(gpu, std::get<2>(*it));
    waiting.erase(begin, end);
  }

  void do_step(int gpu, const ThreadBlock& block, const AlgorithmStep& step) {
    Message chunks(static_cast<size_t>(step.count));
    if (receives(step.kind)) {
      std::deque<Message>& arrived = messages_[{block.receive_from, gpu, block.channel}];
      if (arrived.front().size() != chunks.size())
        return refuse(step.line, "GPU {} receives {} chunks from GPU {}, which sent {}", gpu,
                      chunks.size(), block.receive_from, arrived.front().size());
      chunks = std::move(arrived.front());
      arrived.pop_front();
    }
    for (int i = 0; i < step.count && !error_; ++i)
      do_chunk(gpu, step, i, chunks[static_cast<size_t>(i)]);
    if (sends(step.kind) && !error_) deliver(gpu, block, step.line, std::move(chunks));
  }

  void do_chunk(int gpu, const AlgorithmStep& step, int i, Chunk& chunk) {
    if (step.kind == StepKind::kReduce) chunk = at(gpu, step.to, step.to_chunk + i);
    if (step.kind == StepKind::kReduce && chunk == nullptr)
      return refuse(step.line, "GPU {} adds to its {} chunk {}, which nothing was written to", gpu,
                    buffer_name(step.to), step.to_chunk + i);
    if (reads(step.kind)) {
      const Chunk& own = at(gpu, step.from, step.from_chunk + i);
      if (own == nullptr)
        return refuse(step.line, "GPU {} reads its {} chunk {}, which nothing was written to", gpu,
                      buffer_name(step.from), step.from_chunk + i);
      if (chunk != nullptr && chunk->index != own->index)
        return refuse(step.line,
                      "GPU {} adds unlike parts, those of chunk {} and those of chunk {}", gpu,
                      chunk->index, own->index);
      chunk = chunk == nullptr ? own : add_parts(*chunk, *own);
    }
    if (writes(step.kind)) at(gpu, step.to, step.to_chunk + i) = chunk;
  }

  void deliver(int gpu, const ThreadBlock& block, int line, Message chunks) {
    const Connection connection{gpu, block.send_to, block.channel};
    const auto receiver = receivers_.find(connection);
    if (receiver == receivers_.end())
      return refuse(line, "GPU {} sends to GPU {} by channel {}, where no thread block receives",
                    gpu, block.send_to, block.channel);
    messages_[connection].push_back(std::move(chunks));
    ready_.emplace_back(block.send_to, receiver->second);
  }

  void unfinished() {
    for (int gpu = 0; gpu < a_.size(); ++gpu)
      for (int tb = 0; tb < std::ssize(a_.gpus[static_cast<size_t>(gpu)].blocks); ++tb) {
        const ThreadBlock& block = block_of(gpu, tb);
        const size_t next = next_of(gpu, tb);
        if (next >= block.steps.size()) continue;
        const AlgorithmStep& step = block.steps[next];
        const bool waits_for_step =
            step.after_block >= 0 &&
            next_of(gpu, step.after_block) <= static_cast<size_t>(step.after_step);
        return refuse(step.line, "never ends: gpu {}, tb {}, step {} waits for {}", gpu, tb, next,
                      waits_for_step ? fmt::format("step {} of thread block {}", step.after_step,
                                                   step.after_block)
                                     : fmt::format("a message from GPU {} by channel {}",
                                                   block.receive_from, block.channel));
      }
  }

  void unreceived() {
    for (const auto& [connection, messages] : messages_)
      if (!messages.empty())
        return refuse(a_.line,
                      "GPU {} sends {} message{} to GPU {} by channel {} that it never receives",
                      std::get<0>(connection), messages.size(), messages.size() == 1 ? "" : "s",
                      std::get<1>(connection), std::get<2>(connection));
  }

  struct Wanted {
    int index, from;  ///< from -1: all GPUs
  };
  Wanted wanted(int gpu, int chunk) const {
    switch (a_.task) {
      case CollectiveTask::kAllReduce: return {chunk, -1};
      case CollectiveTask::kReduceScatter: return {gpu * a_.output_chunks() + chunk, -1};
      case CollectiveTask::kAllGather:
        return {chunk % a_.input_chunks(), chunk / a_.input_chunks()};
      case CollectiveTask::kAllToAll: break;
    }
    const int part = a_.chunks / a_.size();
    return {gpu * part + chunk % part, chunk / part};
  }

  void outputs(int gpu) {
    for (int i = 0; i < a_.output_chunks() && !error_; ++i) {
      const Chunk& chunk = at(gpu, ChunkBuffer::kOutput, i);
      const Wanted want = wanted(gpu, i);
      if (chunk == nullptr)
        return refuse(a_.line, "in the end nothing was written to GPU {}'s output chunk {}", gpu,
                      i);
      if (chunk->index != want.index)
        return refuse(
            a_.line, "in the end GPU {}'s output chunk {} holds parts of input chunk {}, not of {}",
            gpu, i, chunk->index, want.index);
      if (chunk->doubled >= 0)
        return refuse(a_.line, "in the end GPU {}'s output chunk {} holds GPU {}'s part twice", gpu,
                      i, chunk->doubled);
      for (int from = 0; from < a_.size(); ++from) {
        const bool wants = want.from < 0 || want.from == from;
        if (wants != chunk->has(from))
          return refuse(a_.line, "in the end GPU {}'s output chunk {} {} GPU {}'s part", gpu, i,
                        wants ? "lacks" : "should not hold", from);
      }
    }
  }

  const Algorithm& a_;
  bool in_place_, newest_first_;
  std::vector<std::vector<Chunk>> memory_;  ///< [gpu]: input, output, scratch
  std::vector<std::vector<size_t>> next_;   ///< [gpu][block]: the step that is next
  std::map<Connection, int> receivers_;     ///< the block at its end
  std::map<Connection, std::deque<Message>> messages_;
  /// [gpu]: a block, a step of it, and the block that waits for that; each once, however often it
  /// was looked at.
  std::vector<std::set<std::tuple<int, int, int>>> waiting_;
  std::deque<std::pair<int, int>> ready_;
  std::optional<base::Error> error_;
};

}  // namespace

Result<void> check_algorithm(const Algorithm& algorithm) {
  for (const bool in_place : {false, true}) {
    if (in_place ? !algorithm.in_place : !algorithm.out_of_place) continue;
    for (const bool newest_first : {false, true})
      ERGOMETER_TRY(Execution(algorithm, in_place, newest_first).run());
  }
  return {};
}

}  // namespace ergometer::spec
