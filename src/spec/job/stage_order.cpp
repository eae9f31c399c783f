#include "spec/job/stage_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <utility>

#include "base/check.h"
#include "spec/job/vocabulary_order.h"

namespace ergometer::spec {
namespace {

using Slots = std::vector<ScheduleSlot>;

/// Virtual micro batches in the order Megatron-Core walks them: micro batches in groups of `group`;
/// every group goes through chunk 0, then chunk 1, and so on. The last group may be smaller.
Slots table_of_groups(int64_t micro_batches, int64_t chunks, int64_t group, SlotKind kind) {
  Slots table;
  table.reserve(static_cast<size_t>(micro_batches * chunks));
  for (int64_t first = 0; first < micro_batches; first += group) {
    const int64_t last = std::min(first + group, micro_batches);
    for (int64_t i = 0; i < chunks; ++i) {
      // Backward walks the same table with the chunk index reversed.
      const int64_t chunk = kind == SlotKind::kForward ? i : chunks - 1 - i;
      for (int64_t micro_batch = first; micro_batch < last; ++micro_batch) {
        table.push_back({kind, static_cast<int32_t>(micro_batch), static_cast<int32_t>(chunk)});
      }
    }
  }
  return table;
}

/// Warm-up forwards, then one forward and one backward in turn, then the backwards that are left.
Slots one_f_one_b(const Slots& forward, const Slots& backward, size_t ahead) {
  const size_t total = forward.size();
  Slots slots(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  slots.reserve(2 * total);
  for (size_t i = ahead; i < total; ++i) {
    slots.push_back(forward[i]);
    slots.push_back(backward[i - ahead]);
  }
  slots.insert(slots.end(), backward.end() - static_cast<std::ptrdiff_t>(ahead), backward.end());
  return slots;
}

/// Zero-bubble H1 and H2: 1F1B whose weight gradients are put off. Stage s of H1 holds p - s micro
/// batches before its first backward, of H2 2 (p - s) - 1; it may hold p, or 2p - 1, so the weight
/// gradient of micro batch i runs behind the input gradient of micro batch i + `behind`, and the
/// last `behind` of them fill the end of the step.
Slots put_off_weights(const Slots& one_f_one_b_slots, int64_t behind) {
  Slots slots, weights;
  for (const ScheduleSlot& slot : one_f_one_b_slots) {
    if (slot.kind == SlotKind::kForward) {
      slots.push_back(slot);
      continue;
    }
    slots.push_back({SlotKind::kBackwardInput, slot.micro_batch, slot.chunk});
    weights.push_back({SlotKind::kBackwardWeight, slot.micro_batch, slot.chunk});
    const auto held_back = static_cast<int64_t>(weights.size()) - 1 - behind;
    if (held_back >= 0) slots.push_back(weights[static_cast<size_t>(held_back)]);
  }
  const auto left = std::min<int64_t>(behind, static_cast<int64_t>(weights.size()));
  slots.insert(slots.end(), weights.end() - left, weights.end());
  return slots;
}

/// A stage with two chunks, whose passes each take the next micro batch of their chunk.
class TwoChunks {
 public:
  void forward(int chunk) { add(SlotKind::kForward, forwards_, chunk); }
  void backward(int chunk) { add(SlotKind::kBackward, backwards_, chunk); }
  /// Its weight gradient waits in line.
  void backward_input(int chunk) {
    add(SlotKind::kBackwardInput, backwards_, chunk);
    waiting_.push_back(slots_.back());
    waiting_.back().kind = SlotKind::kBackwardWeight;
  }
  /// The weight gradient that waits longest, of any chunk or of this one.
  void weight() { weight(waiting_.begin()); }
  void weight(int chunk) { weight(std::ranges::find(waiting_, chunk, &ScheduleSlot::chunk)); }
  bool waits(int chunk) const {
    return std::ranges::any_of(waiting_,
                               [chunk](const ScheduleSlot& slot) { return slot.chunk == chunk; });
  }
  int64_t forwards(int chunk) const { return forwards_[static_cast<size_t>(chunk)]; }

  /// The slots of the first `micro_batches`.
  Slots take(int64_t micro_batches) {
    std::erase_if(slots_, [=](const ScheduleSlot& s) { return s.micro_batch >= micro_batches; });
    return std::move(slots_);
  }

 private:
  void add(SlotKind kind, std::array<int32_t, 2>& counts, int chunk) {
    slots_.push_back({kind, counts[static_cast<size_t>(chunk)]++, chunk});
  }
  void weight(const std::deque<ScheduleSlot>::iterator& which) {
    ERGOMETER_CHECK(which != waiting_.end(), "a weight gradient waits");
    slots_.push_back(*which);
    waiting_.erase(which);
  }

  Slots slots_;
  std::deque<ScheduleSlot> waiting_;
  std::array<int32_t, 2> forwards_{}, backwards_{};
};

void times(int64_t count, const auto& work) {
  for (int64_t i = 0; i < count; ++i) work(i);
}

/// ZB-V. A step of fewer than 2p - 1 micro batches is the same without those that it lacks.
Slots zero_bubble_v(int64_t stages, int64_t stage, int64_t micro_batches) {
  const int64_t all = std::max(2 * stages - 1, micro_batches), behind = stages - stage;
  TwoChunks work;
  const auto backward = [&work](int chunk) {
    work.backward_input(chunk);
    work.weight(chunk);
  };
  times(2 * behind - 1, [&](int64_t) { work.forward(0); });
  times(stage, [&](int64_t) { work.forward(1), work.forward(0); });
  times(behind, [&](int64_t) { work.forward(1), backward(1); });
  while (work.forwards(1) < all) {
    if (work.forwards(0) < all) work.forward(0);
    backward(0);
    work.forward(1);
    backward(1);
  }
  times(stage, [&](int64_t) { work.backward_input(0), work.backward_input(1); });
  times(behind, [&](int64_t) { work.backward_input(0), work.weight(0); });
  for (const int chunk : {1, 0})
    while (work.waits(chunk)) work.weight(chunk);
  return work.take(micro_batches);
}

/// The eight steps of DeepSeek's dualpipev.py. Neighbours of opposite direction in the middle are
/// the pairs that overlap.
Slots dual_pipe_v(int64_t stages, int64_t stage, int64_t micro_batches) {
  const int64_t behind = stages - 1 - stage, ends = stage + 1;
  TwoChunks work;
  times(2 * behind, [&](int64_t) { work.forward(0); });
  times(ends, [&](int64_t) { work.forward(0), work.forward(1); });
  times(behind, [&](int64_t) { work.backward_input(1), work.weight(), work.forward(1); });
  times(micro_batches - 2 * stages + ends, [&](int64_t) {
    work.forward(0), work.backward(1);
    work.forward(1), work.backward(0);
  });
  times(behind, [&](int64_t) { work.backward(1), work.forward(1), work.backward(0); });
  // Of the last backwards the second half puts its weight gradients off.
  const auto backward = [&](int chunk, bool whole) {
    whole ? work.backward(chunk) : work.backward_input(chunk);
  };
  times(ends, [&](int64_t i) {
    backward(1, i < (ends + 1) / 2);
    backward(0, i < ends / 2);
  });
  times(behind, [&](int64_t) { work.weight(), work.backward_input(0); });
  times(ends, [&](int64_t) { work.weight(); });
  return work.take(micro_batches);
}

/// What happens to one micro batch, in units of a chunk's forward, input gradient or weight
/// gradient, which take 1 each: `forward[c]` and `backward[c]` lie between neighbouring stages
/// (chunk 0 forward and chunk 1 backward go down the V, the others up), `waits` before the three
/// turns: at the last stage, at the first, at the last again.
struct BuildingBlock {
  std::array<int64_t, 2> forward, backward;
  std::array<int64_t, 3> waits;
};

/// Delays that leave every stage six different moments modulo 6.
BuildingBlock v_min(int64_t stages) { return {{1, 1}, {1, 1}, {0, stages % 3 == 0 ? 2 : 0, 0}}; }
BuildingBlock v_half(int64_t stages) {
  return {{1, 2},
          {2, 1},
          stages % 2 == 1 ? std::array<int64_t, 3>{1, 0, 0} : std::array<int64_t, 3>{3, 0, 4}};
}

/// The building block repeated every 6 units, one micro batch after the other. Weight gradients
/// take the first moments behind their input gradients that are free in every repetition. Run in
/// this order and as early as it can be, the schedule is the paper's, squeezed.
Slots repeated(const BuildingBlock& block, int64_t stages, int64_t stage, int64_t micro_batches) {
  constexpr int64_t kInterval = 6;
  const int64_t last = stages - 1, up = last - stage;
  const int64_t turn = last * block.forward[0] + 1 + block.waits[0];
  const int64_t back = turn + last * block.forward[1] + 1 + block.waits[1];
  const int64_t again = back + last * block.backward[1] + 1 + block.waits[2];
  std::vector<std::pair<int64_t, ScheduleSlot>> moments = {
      {stage * block.forward[0], {SlotKind::kForward, 0, 0}},
      {turn + up * block.forward[1], {SlotKind::kForward, 0, 1}},
      {back + stage * block.backward[1], {SlotKind::kBackwardInput, 0, 1}},
      {again + up * block.backward[0], {SlotKind::kBackwardInput, 0, 0}}};
  const auto is_free = [&](int64_t moment) {
    return std::ranges::none_of(
        moments, [=](const auto& taken) { return (taken.first - moment) % kInterval == 0; });
  };
  for (const size_t input : {2, 3}) {
    int64_t moment = moments[input].first + 1;
    while (!is_free(moment)) ++moment;
    moments.push_back({moment, {SlotKind::kBackwardWeight, 0, moments[input].second.chunk}});
  }
  const size_t once = moments.size();
  for (int64_t i = 1; i < micro_batches; ++i)
    for (size_t k = 0; k < once; ++k) {
      moments.push_back(moments[k]);
      moments.back().first += i * kInterval;
      moments.back().second.micro_batch = static_cast<int32_t>(i);
    }
  std::ranges::sort(moments, [](const auto& a, const auto& b) { return a.first < b.first; });
  Slots slots;
  for (const auto& [moment, slot] : moments) slots.push_back(slot);
  return slots;
}

int64_t leading_forwards(const Slots& slots) {
  return std::ranges::find_if(slots,
                              [](const ScheduleSlot& s) { return s.kind != SlotKind::kForward; }) -
         slots.begin();
}

}  // namespace

int64_t group_size(const Parallelism& parallel, int64_t micro_batches) {
  if (forwards_first(parallel.schedule)) return micro_batches;
  return parallel.microbatch_group > 0 ? parallel.microbatch_group : parallel.pp;
}

int64_t warm_up_forwards(const Parallelism& parallel, int64_t stage, int64_t micro_batches) {
  const int64_t total = micro_batches * parallel.vpp;
  const int64_t behind = parallel.pp - stage - 1 + vocabulary_barriers(parallel.vocabulary);
  if (parallel.vocabulary == VocabularyParallel::kInterlaced)
    return leading_forwards(stage_order(parallel, stage, micro_batches)) - 1;
  if (forwards_first(parallel.schedule)) return total;
  if (parallel.trains_apart()) return 0;  // no gradient has to come from another stage
  switch (parallel.schedule) {
    case Schedule::kOneFOneB:
    case Schedule::kInterleaved:
    case Schedule::kZbH1:
      return std::min(total,
                      parallel.vpp == 1
                          ? behind
                          : 2 * behind + (parallel.vpp - 1) * group_size(parallel, micro_batches));
    case Schedule::kZbH2: return std::min(2 * behind, total);
    default:
      return std::max<int64_t>(0,
                               leading_forwards(stage_order(parallel, stage, micro_batches)) - 1);
  }
}

std::vector<ScheduleSlot> forward_order(const Parallelism& parallel, int64_t micro_batches) {
  return table_of_groups(micro_batches, parallel.vpp, group_size(parallel, micro_batches),
                         SlotKind::kForward);
}

std::vector<ScheduleSlot> stage_order(const Parallelism& parallel, int64_t stage,
                                      int64_t micro_batches) {
  const int64_t stages = parallel.pp;
  if (parallel.vocabulary == VocabularyParallel::kInterlaced)
    return interlaced_order(stages, stage, micro_batches);
  switch (parallel.schedule) {
    case Schedule::kZbV: return zero_bubble_v(stages, stage, micro_batches);
    case Schedule::kVHalf: return repeated(v_half(stages), stages, stage, micro_batches);
    case Schedule::kVMin: return repeated(v_min(stages), stages, stage, micro_batches);
    case Schedule::kDualPipeV: return dual_pipe_v(stages, stage, micro_batches);
    case Schedule::kFile: return parallel.order.stages[static_cast<size_t>(stage)];
    default: break;
  }
  const bool h1 = parallel.schedule == Schedule::kZbH1, h2 = parallel.schedule == Schedule::kZbH2;
  ERGOMETER_CHECK(!(h1 || h2) || parallel.vpp == 1, "ZB-H1 and ZB-H2 have one chunk a stage");
  const Slots slots =
      one_f_one_b(forward_order(parallel, micro_batches),
                  table_of_groups(micro_batches, parallel.vpp, group_size(parallel, micro_batches),
                                  SlotKind::kBackward),
                  static_cast<size_t>(warm_up_forwards(parallel, stage, micro_batches)));
  return h1 || h2 ? put_off_weights(slots, h1 ? stage : 2 * stage) : slots;
}

}  // namespace ergometer::spec
