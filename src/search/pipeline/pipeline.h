#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "search/overlap/max_plus.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// What a stage does in one slot of its schedule. A paired slot runs beside the slot of the other
/// direction that precedes or follows it (expert transfers hide there).
enum class Slot : uint8_t {
  kForward,
  kBackward,
  kInputGrad,
  kWeightGrad,
  kPairedForward,
  kPairedBackward
};
inline constexpr int kSlots = 6;

/// The shape of a pipeline, without what its work costs.
struct PipelineShape {
  int64_t stages = 1, chunks = 1, micro_batches = 1;
  spec::Schedule schedule = spec::Schedule::kOneFOneB;
  bool overlap = false, sync = false;
  auto operator<=>(const PipelineShape&) const = default;
};

/// The slots and transfers of all stages of a pipeline in an order in which they can be computed
/// one by one: the plan's own schedule and its own transfers, slot by slot.
struct PipelineScript {
  enum class Kind : uint8_t { kRun, kLaneFollows, kSend, kReceive, kFollowLane, kSync };
  struct Step {
    Kind kind = Kind::kRun;
    uint8_t lane = 0;
    Slot slot = Slot::kForward;
    bool forward = true;  ///< direction of a transfer
    int32_t stage = 0, chunk = 0, message = 0;
  };
  std::vector<Step> steps;
  /// One stage's steps in their own order, for `play_sharing`.
  struct Program {
    std::vector<Step> steps;
    /// By stream (compute, the lanes): the place of the first step from each on that it takes part
    /// in, and of the end.
    std::array<std::vector<int32_t>, 3> places;
  };
  std::vector<Program> programs;
  PipelineShape shape;
  int32_t messages = 0;
};
/// `job`: any job; only its settings of transfers matter.
PipelineScript make_script(const spec::Job& job, const PipelineShape& shape);

/// So many sets of costs are played side by side, for the processor's vector units.
inline constexpr int kLanes = 8;
using Batch = std::array<double, kLanes>;

/// A part of a slot, and the gradients that are issued behind it.
struct Piece {
  Batch share{};   ///< of the slot's time
  Batch sent_s{};  ///< how long they take alone
};

struct BatchCost {
  Batch tt{}, th{}, ht{}, hh{};
  /// Where gradients are scattered in every micro batch; else empty.
  std::span<const Piece> pieces;
  /// How much longer the slot takes beside them, and they beside the slot; of the time that both
  /// are at work, what the slot loses and what of them is sent (`set_beside_data`).
  Batch slow_data{}, slows_data{}, lost_data{}, sent_data{};
  /// The same beside a pipeline transfer, for `play_sharing`.
  Batch slow_transfer{}, slows_transfer{};
  void set(int lane, const MaxPlus& cost);
  void set_beside_data(int lane, double slow, double slows);
};

/// What the slots of one chunk cost, by Slot.
using ChunkCosts = std::array<BatchCost, kSlots>;

/// What goes over the link between two stages.
struct TransferCost {
  struct Message {
    double send_s = 0;  ///< how long it takes, on either side; above 0
    /// How much longer beside another message at the same stage, which is the link's first one or
    /// the one that it leads to: beside one of the other direction that leaves, or arrives, too;
    /// beside one of its own direction that does the opposite.
    std::array<double, 2> slow_shared = {1, 1}, slow_followed = {1, 1};
    /// The same beside one that comes along the link meanwhile.
    double slow_met = 1;
    /// How much longer it takes beside gradients that are scattered, and they beside it.
    double slow_data = 1, slows_data = 1;
  };
  /// By direction: of a forward to the following stage, and of a backward from there.
  std::array<Message, 2> messages;
  double host_s = 0;  ///< to launch one
  const Message& message(bool forward) const { return messages[forward ? 0 : 1]; }
  /// A forward's and a backward's.
  double both_s() const { return messages[0].send_s + messages[1].send_s; }
};

/// When every stage of the script has done all its slots. `costs`: [stage * chunks + chunk];
/// `next`: by stage, the transfer to the following one (of the last stage: to the first).
/// `scatters`: slots have pieces. `ends`: by stage.
void play(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
          std::span<const TransferCost> next, bool scatters, std::vector<Batch>& ends);

}  // namespace ergometer::search
