#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/schedule.h"
#include "plan/stages.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// Whether the peer of a pipeline transfer of this name is the next stage, the first one behind the
/// last: where forward output goes, but for turned chunks.
bool is_with_next_stage(std::string_view name);

/// The pipeline transfers of one stage, written around the slots of its schedule as the frameworks
/// place them.
///
/// In line (no `overlap_p2p`): an exchange starts when the compute stream gets there and the
/// compute stream waits for all of it. 1F1B couples send-forward with receive-backward and
/// send-backward with receive-forward; interleaving exchanges once a warm-up forward, once a
/// forward-backward pair and once a cool-down backward (Megatron-Core,
/// core/pipeline_parallel/schedules.py). A kHostSync follows with `batch_p2p_sync`.
///
/// Overlapped: sends leave on their own; the receive a slot needs is posted when the previous slot
/// of its direction ends and is waited for just before use. It stands in the program where it is
/// waited for, behind a join that holds back its stream until it is posted: a program must be able
/// to run in order.
///
/// Where the model turns (`Parallelism::turns`), neighbouring parts on one stage need no transfer,
/// and those of reversed chunks, named "_turned", go the other way.
///
/// With `scatter_gather_p2p` every rank of a tensor-parallel group sends its part, and the group
/// gathers behind the receive, on its lane.
///
/// With compressed borders the compute stream packs before it sends and unpacks behind a receive.
///
/// What crosses a border goes by its place: inside a vision tower its stream, behind the tower the
/// tokens of images, then the decoder's stream.
///
/// The two pipeline streams are lanes of transfers that may run side by side. Forward traffic uses
/// the forward lane and backward traffic the backward one, except a receive that runs beside a send
/// of its own direction while the other lane has nothing to do (interleaving's warm-up and
/// cool-down).
class PipelineLinks {
 public:
  PipelineLinks(const spec::Job& job, int64_t micro_batches, int64_t stage,
                const std::vector<ScheduleSlot>& slots, const std::vector<Border>& borders,
                OperatorTable& operators);

  /// Everything that precedes slot `k`: call for every k in order, and once with the number of
  /// slots at the end.
  void before_slot(ProgramWriter& writer, size_t k) const;
  /// The same with other work of the stage behind what is sent and before what is received.
  void before_slot(ProgramWriter& writer, size_t k, const std::function<void()>& work) const;

  /// Messages of the whole plan.
  static int32_t messages(const spec::Job& job, int64_t micro_batches);

 private:
  struct Exchange {
    std::vector<size_t> sends, recvs;  ///< slots whose output leaves and whose input arrives
  };
  bool forward(size_t k) const { return slots_[k].kind == SlotKind::kForward; }
  bool has_input(size_t k) const;
  bool has_output(size_t k) const;
  static int64_t crossings(const spec::Parallelism& parallel);
  /// Of slot k's direction, over the border behind that part.
  int32_t message(size_t k, int64_t first_part) const;
  int32_t input_message(size_t k) const;
  int32_t output_message(size_t k) const;
  int64_t part(size_t k) const { return parallel_.part_of(stage_, slots_[k].chunk); }
  bool is_turned(size_t k) const { return parallel_.turns() && slots_[k].chunk % 2 == 1; }
  /// Whether the slot's tensors pass the border in front of its part, or behind it, to or from
  /// another stage.
  bool crosses(size_t k, bool behind) const;
  workload::Stream own_lane(size_t k) const;

  void plan_in_line();
  void plan_interleaved(size_t warm_up);
  void plan_overlapped(size_t warm_up);
  void exchange(size_t before, std::vector<size_t> sends, std::vector<size_t> recvs);
  /// An exchange's transfers with the lanes that they take.
  struct Lanes {
    std::vector<std::pair<size_t, workload::Stream>> outgoing, incoming;
    bool used[2] = {false, false};  ///< forward, backward
  };
  Lanes lanes_of(const Exchange& exchange) const;
  void begin_exchange(ProgramWriter& writer, const Lanes& lanes) const;
  void end_exchange(ProgramWriter& writer, const Lanes& lanes) const;
  void write_overlapped_sends(ProgramWriter& writer, size_t k) const;
  void write_overlapped_recv(ProgramWriter& writer, size_t k) const;
  /// Compression of what slot `k` sends and of what it has received, on the compute stream.
  void write_packing(ProgramWriter& writer, size_t k, int32_t op) const;
  void write_send(ProgramWriter& writer, workload::Stream lane, size_t k) const;
  void write_recv(ProgramWriter& writer, workload::Stream lane, size_t k) const;

  const std::vector<ScheduleSlot>& slots_;
  const spec::Parallelism& parallel_;
  int64_t stage_, stages_, micro_batches_;
  bool overlap_, sync_;
  int32_t pack_ = -1, unpack_ = -1;  ///< around every transfer, where borders are compressed
  int32_t gather_ = -1;              ///< behind every receive, where transfers are divided over tp
  struct Transfers {
    int32_t send_forward = -1, recv_forward = -1, send_backward = -1, recv_backward = -1;
  };
  /// Of a chunk, over the border in front of it and the one behind it.
  static Transfers add_transfers(const char* suffix, const Border& front, const Border& behind,
                                 OperatorTable& operators);
  void add_chunks(const std::vector<Border>& borders, OperatorTable& operators);
  const Transfers& transfers(size_t k) const {
    if (!by_chunk_.empty()) return by_chunk_[static_cast<size_t>(slots_[k].chunk)];
    return is_turned(k) ? turned_ : straight_;
  }
  Transfers straight_, turned_;      ///< of chunks in the order of the stages, and in reverse
  std::vector<Transfers> by_chunk_;  ///< instead, where borders are unlike
  std::vector<std::vector<Exchange>> exchanges_;  ///< in line: before every slot
  std::vector<workload::Stream> recv_lanes_;      ///< overlapped: of every slot's receive
  std::vector<std::vector<workload::Stream>>
      posts_;  ///< overlapped: lanes on which a receive is posted
};

}  // namespace ergometer::plan
