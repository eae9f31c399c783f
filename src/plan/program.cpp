#include "plan/program.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "plan/allocator.h"
#include "plan/data_parallel.h"
#include "plan/links.h"
#include "plan/schedule.h"
#include "plan/sharded_units.h"
#include "plan/step_end.h"
#include "plan/vocabulary.h"
#include "workload/block/graphs.h"

namespace ergometer::plan {
namespace {

using workload::Item;
using workload::Pass;
using workload::Stream;

/// How copies that the host waits for end: token counts of dropless MoE layers, the loss.
constexpr std::string_view kToHost = "_to_host";

bool is_training(const spec::Job& job) {
  return job.training.mode == spec::Mode::kPretrain || job.training.mode == spec::Mode::kLora;
}

/// Which part of a block's backward a slot runs.
bool runs(SlotKind slot, Pass pass) {
  if (slot == SlotKind::kBackwardInput) return pass != Pass::kWeight;
  if (slot == SlotKind::kBackwardWeight) return pass == Pass::kWeight;
  return true;
}

/// Instructions that the stage's program will have, or a few more: one allocation then does.
size_t expected_length(const spec::Job& job, const workload::Workload& workload,
                       int64_t micro_batches, const Stage& stage) {
  constexpr size_t kAroundASlot = 10, kAroundABlock = 6, kOnceAStep = 64;
  constexpr size_t kSlotsAMicroBatch = 3;
  size_t a_micro_batch = 0;
  for (const Chunk& chunk : stage.chunks) {
    a_micro_batch += kSlotsAMicroBatch * kAroundASlot;
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      const workload::Block& block = workload.blocks[static_cast<size_t>(chunk.blocks[i])];
      a_micro_batch += block.forward.size() + block.backward.size();
      if (is_recomputed(chunk, workload, i)) a_micro_batch += block.recompute.size();
      if (reduces_every_micro_batch(job)) a_micro_batch += 2 * kAroundABlock;
    }
  }
  return kOnceAStep + a_micro_batch * static_cast<size_t>(micro_batches);
}

/// The program of one stage, slot by slot.
class RoleProgram {
 public:
  RoleProgram(const spec::Job& job, const workload::Workload& workload, int64_t micro_batches,
              const Stage& stage, int64_t stage_index, OperatorTable& operators, Role& role)
      : job_(job),
        workload_(workload),
        stage_(stage),
        stage_index_(stage_index),
        operators_(operators),
        writer_(role, operators),
        slots_(schedule(job, stage_index, micro_batches)),
        links_(job, micro_batches, stage_index, slots_, borders(job, workload), operators),
        data_(job, workload, stage, stage_index, operators, writer_),
        units_(job, workload, stage, operators, writer_),
        vocabulary_(job, workload, stage_index, slots_, operators, writer_) {
    find_special_slots();
  }

  void write() {
    const bool training = is_training(job_);
    if (training) {
      write_step_begin(job_, workload_, stage_, operators_, writer_);
      data_.begin_step();
      if (divides_vocabulary()) data_.before_block(0, 0);
    }
    size_t forwards_done = 0;
    for (size_t k = 0; k < slots_.size(); ++k) {
      write_between(k);
      const bool forward = slots_[k].kind == SlotKind::kForward;
      writer_.at(slots_[k].micro_batch, slots_[k].chunk, -1);
      if (forward && training) data_.before_forward(forwards_, forwards_done++);
      vocabulary_.before(slots_[k]);
      write_slot(k);
      vocabulary_.after(slots_[k]);
    }
    write_between(slots_.size());
    vocabulary_.finish();
    if (divides_vocabulary()) data_.after_block(0, 0);
    if (training) {
      write_allocator_wait(allocator_wait_s(job_, workload_, stage_, stage_index_), operators_,
                           writer_);
      write_step_end(job_, workload_, stage_, stage_index_, operators_, writer_, data_, units_);
    }
  }

 private:
  bool divides_vocabulary() const { return workload_.vocabulary_block >= 0; }

  /// Transfers, and passes over the vocabulary before what they bring is waited for.
  void write_between(size_t k) {
    if (!vocabulary_.has_passes(k)) return links_.before_slot(writer_, k);
    links_.before_slot(writer_, k, [&] { vocabulary_.write_passes(k); });
  }

  /// First forward of every chunk and the slot that completes its gradients.
  void find_special_slots() {
    first_forward_.assign(stage_.chunks.size(), slots_.size());
    last_backward_.assign(stage_.chunks.size(), slots_.size());
    for (size_t k = 0; k < slots_.size(); ++k) {
      const auto chunk = static_cast<size_t>(slots_[k].chunk);
      if (slots_[k].kind == SlotKind::kForward) {
        forwards_.push_back(slots_[k]);
        first_forward_[chunk] = std::min(first_forward_[chunk], k);
      } else if (slots_[k].kind != SlotKind::kBackwardInput) {
        last_backward_[chunk] = k;
      }
    }
  }

  /// Slots that differ in nothing but the micro batch are copies of the first such slot.
  void write_slot(size_t k) {
    const ScheduleSlot& slot = slots_[k];
    const auto chunk = static_cast<size_t>(slot.chunk);
    const bool first = k == first_forward_[chunk], last = k == last_backward_[chunk];
    overlaps_experts_ = beside_another(k);
    const SegmentKey key{slot.kind, slot.chunk, overlaps_experts_};
    if (!first && !last) {
      const auto found = segments_.find(key);
      if (found != segments_.end()) return writer_.repeat(found->second, slot.micro_batch);
    }
    const size_t begin = writer_.position();
    if (slot.kind == SlotKind::kForward) {
      write_forward(slot, first);
    } else {
      write_backward(slot, last);
      if (job_.training.overlap_expert_parallel) writer_.join(Stream::kCompute, Stream::kExpert);
    }
    if (!first && !last) segments_.emplace(key, writer_.segment(begin));
  }

  /// With expert transfers beside another micro batch's compute, Megatron-LM takes one forward more
  /// in advance and runs every further forward and the backward before it layer by layer in turn:
  /// the transfers of one hide behind the other's kernels. Here the two slots stay whole, and their
  /// transfers go on a stream of their own that the next backward's end waits for: together the two
  /// take as long as their kernels or their transfers, whichever is more. What is left open is
  /// which transfer meets which kernel.
  bool beside_another(size_t k) const {
    if (!job_.training.overlap_expert_parallel || !is_training(job_)) return false;
    if (slots_[k].kind == SlotKind::kForward)
      return k > 0 && slots_[k - 1].kind != SlotKind::kForward;
    return k + 1 < slots_.size() && slots_[k + 1].kind == SlotKind::kForward;
  }

  void write_forward(const ScheduleSlot& slot, bool first) {
    const auto number = static_cast<size_t>(slot.chunk);
    const Chunk& chunk = stage_.chunks[number];
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      set_layer(slot, chunk, i);
      if (i == 0) units_.gather(number, i);
      units_.wait(number, i);
      if (i + 1 < chunk.blocks.size()) units_.gather(number, i + 1);
      if (first && is_training(job_)) data_.before_block(number, i);
      write_items(block(chunk, i).forward, slot.kind);
    }
  }

  /// Of the blocks below `end` the first that gradients pass: nobody gathers for the others.
  void gather_below(size_t number, size_t end) {
    while (end-- > 0)
      if (!block(stage_.chunks[number], end).backward.empty()) return units_.gather(number, end);
  }

  void write_backward(const ScheduleSlot& slot, bool last) {
    const auto number = static_cast<size_t>(slot.chunk);
    const Chunk& chunk = stage_.chunks[number];
    const bool needs_parameters = slot.kind != SlotKind::kBackwardWeight;
    const bool completes = slot.kind != SlotKind::kBackwardInput;
    size_t recomputed_from = chunk.blocks.size();
    for (size_t i = chunk.blocks.size(); i-- > 0;) {
      set_layer(slot, chunk, i);
      if (needs_parameters && i + 1 == chunk.blocks.size()) gather_below(number, i + 1);
      if (needs_parameters && !block(chunk, i).backward.empty()) {
        units_.wait(number, i);
        gather_below(number, i);
        if (i < recomputed_from && is_recomputed(chunk, workload_, i)) {
          recomputed_from = checkpoint_begin(chunk, i);
          write_recomputation(slot, chunk, recomputed_from, i);
        }
      }
      write_items(block(chunk, i).backward, slot.kind);
      if (!completes) continue;
      units_.reduce(number, i, last);
      // The vocabulary's gradient is complete behind its last pass.
      const bool later = chunk.blocks[i] == workload_.vocabulary_block;
      if (last && !later) data_.after_block(number, i);
    }
  }

  /// First block of the checkpoint that ends with block `last`: uniform recomputation may keep one
  /// input for several layers and then runs them all forward before the first of their backwards.
  size_t checkpoint_begin(const Chunk& chunk, size_t last) const {
    const bool uniform = job_.training.recompute_method == spec::RecomputeMethod::kUniform;
    const int64_t layers = job_.training.recompute_layers;
    if (!uniform || layers <= 1 || job_.parallelism.shards_parameters()) return last;
    int64_t position = -1;
    for (size_t i = 0; i <= last; ++i) position += is_recomputed(chunk, workload_, i) ? 1 : 0;
    const int64_t back = position % layers;
    return last - static_cast<size_t>(back);
  }

  void write_recomputation(const ScheduleSlot& slot, const Chunk& chunk, size_t first,
                           size_t last) {
    for (size_t i = first; i <= last; ++i) {
      set_layer(slot, chunk, i);
      write_items(block(chunk, i).recompute, SlotKind::kBackward);
    }
    set_layer(slot, chunk, last);
  }

  /// A dropless MoE layer copies its token counts to the host, some software its loss; the host
  /// waits for them before it goes on. Half a backward (zero-bubble schedules) skips operators and
  /// with them the reason of some joins: those of streams that run nothing in it.
  void write_items(const std::vector<Item>& items, SlotKind slot) {
    const bool whole = slot == SlotKind::kForward || slot == SlotKind::kBackward;
    std::array<bool, workload::kStreamCount> used{};
    used[static_cast<size_t>(Stream::kCompute)] = true;
    if (!whole)
      for (const Item& item : items)
        if (item.kind != Item::Kind::kJoin && runs(slot, operators_.at(item.op).pass))
          used[static_cast<size_t>(item.stream)] = true;
    for (const Item& item : items) {
      if (item.kind == Item::Kind::kJoin) {
        if (whole || (used[static_cast<size_t>(item.stream)] && used[static_cast<size_t>(item.on)]))
          writer_.join(item.stream, item.on);
        continue;
      }
      const workload::Operator op = operators_.at(item.op);
      if (!runs(slot, op.pass)) continue;
      const bool beside =
          overlaps_experts_ && item.stream == Stream::kCompute && exchanges_tokens(job_, op);
      if (beside) {
        write_beside(item.op);
      } else {
        writer_.op(item.stream, item.op);
      }
      if (op.name.ends_with(kToHost)) writer_.host_sync();
    }
  }

  /// The share of an expert transfer that meets the other micro batch's kernels, and in line what
  /// finds none: the host issues both micro batches' kernels from one thread, and a transfer issued
  /// late hides behind nothing. A graph of the whole iteration issues all in time.
  void write_beside(int32_t index) {
    const double share = workload::captures_everything(job_.training)
                             ? 1
                             : job_.software.parameters.value_or("overlap.expert_share", 1);
    workload::Operator hidden = operators_.at(index), open = hidden;
    hidden.comm_bytes *= share;
    open.comm_bytes -= hidden.comm_bytes;
    hidden.bytes *= share;
    open.bytes -= hidden.bytes;
    writer_.join(Stream::kExpert, Stream::kCompute);
    if (share > 0) writer_.op(Stream::kExpert, share < 1 ? operators_.add(hidden) : index);
    if (share < 1) writer_.op(Stream::kCompute, share > 0 ? operators_.add(open) : index);
  }

  void set_layer(const ScheduleSlot& slot, const Chunk& chunk, size_t index) {
    writer_.at(slot.micro_batch, slot.chunk, static_cast<int32_t>(chunk.layers[index]));
  }
  const workload::Block& block(const Chunk& chunk, size_t index) const {
    return workload_.blocks[static_cast<size_t>(chunk.blocks[index])];
  }

  const spec::Job& job_;
  const workload::Workload& workload_;
  const Stage& stage_;
  int64_t stage_index_;
  OperatorTable& operators_;
  ProgramWriter writer_;
  std::vector<ScheduleSlot> slots_;
  PipelineLinks links_;
  DataParallel data_;
  ShardedUnits units_;
  VocabularyWork vocabulary_;
  std::vector<ScheduleSlot> forwards_;
  std::vector<size_t> first_forward_, last_backward_;  ///< by chunk
  using SegmentKey = std::tuple<SlotKind, int32_t, bool>;
  std::map<SegmentKey, ProgramWriter::Segment> segments_;
  bool overlaps_experts_ = false;  ///< in the slot being written
};

}  // namespace

bool exchanges_tokens(const spec::Job& job, const workload::Operator& op) {
  return op.kind == workload::OperatorKind::kCollective &&
         op.group == workload::GroupKind::kExpert &&
         (op.collective == workload::CollectiveKind::kAllToAll ||
          job.training.moe_dispatcher == spec::MoeDispatcher::kHybridEp);
}

Role write_role(const spec::Job& job, const workload::Workload& workload, int64_t micro_batches,
                const Stage& stage, int64_t stage_index, OperatorTable& operators) {
  Role role;
  role.stage = stage_index;
  role.program.reserve(expected_length(job, workload, micro_batches, stage));
  RoleProgram(job, workload, micro_batches, stage, stage_index, operators, role).write();
  return role;
}

}  // namespace ergometer::plan
