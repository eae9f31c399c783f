#include "plan/links.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "workload/packing.h"
#include "workload/shapes.h"

namespace ergometer::plan {
namespace {

using workload::Stream;

workload::Operator transfer(const std::string& name, workload::Pass pass, const Border& border) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.collective = workload::CollectiveKind::kSendRecv;
  op.group = workload::GroupKind::kPipeline;
  op.module = workload::Module::kPipeline;
  op.pass = pass;
  op.name = name;
  op.comm_bytes = border.bytes;
  op.vision = border.tiles;
  return op;
}

Stream other_lane(Stream lane) {
  return lane == Stream::kPipelineForward ? Stream::kPipelineBackward : Stream::kPipelineForward;
}

}  // namespace

bool is_with_next_stage(std::string_view name) {
  const bool sends = name.starts_with("send_"), turned = name.ends_with("_turned");
  const bool forward = name.find("_forward") != name.npos;
  return (sends == forward) != turned;
}

PipelineLinks::PipelineLinks(const spec::Job& job, int64_t micro_batches, int64_t stage,
                             const std::vector<ScheduleSlot>& slots,
                             const std::vector<Border>& borders, OperatorTable& operators)
    : slots_(slots),
      parallel_(job.parallelism),
      stage_(stage),
      stages_(job.parallelism.pp),
      micro_batches_(micro_batches),
      overlap_(job.training.overlap_p2p),
      sync_(job.training.batch_p2p_sync) {
  if (stages_ == 1) return;
  Border border = borders.front();
  if (const spec::Compression how = spec::activation_compression(job); !how.none()) {
    const double value_bytes = workload::shapes_of(job).element;
    const auto packing = workload::border_packing(how, border.bytes, value_bytes);
    pack_ = operators.add(packing.pack);
    unpack_ = operators.add(packing.unpack);
    border.bytes *= spec::wire_bytes(how, value_bytes) / value_bytes;
  }
  if (job.training.scatter_gather_p2p) {
    workload::Operator gather = transfer("pipeline_all_gather", workload::Pass::kForward, border);
    gather.collective = workload::CollectiveKind::kAllGather;
    gather.group = workload::GroupKind::kTensor;
    gather_ = operators.add(gather);
    border.bytes /= static_cast<double>(job.parallelism.tp);
  }
  if (std::ranges::adjacent_find(borders, std::not_equal_to()) != borders.end()) {
    add_chunks(borders, operators);
  } else {
    straight_ = add_transfers("", border, border, operators);
    if (parallel_.turns()) turned_ = add_transfers("_turned", border, border, operators);
  }
  exchanges_.resize(slots.size() + 1);
  const auto warm_up = static_cast<size_t>(warm_up_forwards(job, stage, micro_batches));
  if (overlap_) {
    plan_overlapped(warm_up);
  } else if (parallel_.schedule == spec::Schedule::kInterleaved) {
    plan_interleaved(warm_up);
  } else {
    plan_in_line();
  }
}

PipelineLinks::Transfers PipelineLinks::add_transfers(const char* suffix, const Border& front,
                                                      const Border& behind,
                                                      OperatorTable& operators) {
  const auto add = [&](const char* name, workload::Pass pass, const Border& border) {
    return operators.add(transfer(std::string(name) + suffix, pass, border));
  };
  Transfers added;
  added.send_forward = add("send_forward", workload::Pass::kForward, behind);
  added.recv_forward = add("recv_forward", workload::Pass::kForward, front);
  added.send_backward = add("send_backward", workload::Pass::kBackward, front);
  added.recv_backward = add("recv_backward", workload::Pass::kBackward, behind);
  return added;
}

void PipelineLinks::add_chunks(const std::vector<Border>& borders, OperatorTable& operators) {
  const auto at = [&](int64_t border) {
    const bool inside = border >= 0 && border < std::ssize(borders);
    return inside ? borders[static_cast<size_t>(border)] : Border{};
  };
  for (int64_t chunk = 0; chunk < parallel_.vpp; ++chunk) {
    const int64_t part = parallel_.part_of(stage_, chunk);
    const bool turned = parallel_.turns() && chunk % 2 == 1;
    by_chunk_.push_back(add_transfers(turned ? "_turned" : "", at(part - 1), at(part), operators));
  }
}

int32_t PipelineLinks::messages(const spec::Job& job, int64_t micro_batches) {
  if (job.parallelism.pp == 1) return 0;
  const bool forward_alone = job.training.mode == spec::Mode::kPrefill ||
                             job.training.mode == spec::Mode::kDecode ||
                             job.parallelism.trains_apart();
  return static_cast<int32_t>((forward_alone ? 1 : 2) * crossings(job.parallelism) * micro_batches);
}

// Crossing i is the i-th border of two parts that lie on different stages. Its forward message of
// micro batch j has number i * micro batches + j; backward messages follow behind all forward ones.

int64_t PipelineLinks::crossings(const spec::Parallelism& parallel) {
  return parallel.parts() - 1 - (parallel.turns() ? parallel.vpp - 1 : 0);
}

int32_t PipelineLinks::message(size_t k, int64_t first_part) const {
  const int64_t turns_before = parallel_.turns() ? first_part / stages_ : 0;
  const int64_t crossing = first_part - turns_before + (forward(k) ? 0 : crossings(parallel_));
  return static_cast<int32_t>(crossing * micro_batches_ + slots_[k].micro_batch);
}

bool PipelineLinks::crosses(size_t k, bool behind) const {
  if (slots_[k].kind == SlotKind::kBackwardWeight || stages_ == 1) return false;
  if (parallel_.trains_apart() && !forward(k)) return false;
  const int64_t other = part(k) + (behind ? 1 : -1);
  return other >= 0 && other < parallel_.parts() && parallel_.stage_of(other) != stage_;
}

bool PipelineLinks::has_input(size_t k) const { return crosses(k, !forward(k)); }

bool PipelineLinks::has_output(size_t k) const { return crosses(k, forward(k)); }

int32_t PipelineLinks::input_message(size_t k) const {
  return message(k, forward(k) ? part(k) - 1 : part(k));
}

int32_t PipelineLinks::output_message(size_t k) const {
  return message(k, forward(k) ? part(k) : part(k) - 1);
}

Stream PipelineLinks::own_lane(size_t k) const {
  return forward(k) ? Stream::kPipelineForward : Stream::kPipelineBackward;
}

void PipelineLinks::exchange(size_t before, std::vector<size_t> sends, std::vector<size_t> recvs) {
  std::erase_if(sends, [this](size_t k) { return !has_output(k); });
  std::erase_if(recvs, [this](size_t k) { return !has_input(k); });
  if (sends.empty() && recvs.empty()) return;
  exchanges_[before].push_back({std::move(sends), std::move(recvs)});
}

/// All but interleaved 1F1B: a slot's output leaves before the next slot starts. Transfers of
/// opposite directions go in one exchange, those of one direction one after the other.
void PipelineLinks::plan_in_line() {
  exchange(0, {}, {0});
  for (size_t k = 1; k < slots_.size(); ++k) {
    if (forward(k - 1) != forward(k)) {
      exchange(k, {k - 1}, {k});
    } else {
      exchange(k, {k - 1}, {});
      exchange(k, {}, {k});
    }
  }
  exchange(slots_.size(), {slots_.size() - 1}, {});
}

void PipelineLinks::plan_interleaved(size_t warm_up) {
  const size_t total = slots_.size();
  size_t steady_end = warm_up;
  while (steady_end + 1 < total && forward(steady_end)) steady_end += 2;

  exchange(0, {}, {0});
  for (size_t k = 0; k < warm_up; ++k) {
    std::vector<size_t> next;
    if (k + 1 < total) next.push_back(k + 1);
    // The first pair's gradient is received together with its activation.
    if (k + 1 == warm_up && warm_up + 1 < steady_end) next.push_back(warm_up + 1);
    exchange(k + 1, {k}, next);
  }
  for (size_t k = warm_up; k < steady_end; k += 2) {
    std::vector<size_t> next;
    if (k + 2 < total) next.push_back(k + 2);
    if (k + 3 < steady_end) next.push_back(k + 3);
    exchange(k + 2, {k, k + 1}, next);
  }
  for (size_t k = steady_end; k < total && !forward(k); ++k) {
    exchange(k + 1, {k}, k + 1 < total ? std::vector<size_t>{k + 1} : std::vector<size_t>{});
  }
}

void PipelineLinks::plan_overlapped(size_t warm_up) {
  recv_lanes_.resize(slots_.size());
  posts_.resize(slots_.size() + 1);
  size_t first_backward = slots_.size(), last_forward = 0;
  for (size_t k = 0; k < slots_.size(); ++k) {
    if (forward(k)) last_forward = k;
    if (!forward(k)) first_backward = std::min(first_backward, k);
  }
  // The first backward's receive is posted with that of the forward before it, unless all is
  // warm-up.
  const bool all_warm_up = first_backward <= warm_up || first_backward < 2;
  size_t last_of_kind[2] = {0, first_backward - (all_warm_up ? 1 : 2)};
  for (size_t k = 0; k < slots_.size(); ++k) {
    if (slots_[k].kind == SlotKind::kBackwardWeight) continue;
    size_t& previous = last_of_kind[forward(k) ? 0 : 1];
    const bool other_is_idle =
        forward(k) ? k < first_backward : k > first_backward && previous > last_forward;
    recv_lanes_[k] = other_is_idle ? other_lane(own_lane(k)) : own_lane(k);
    if (has_input(k) && k > 0) posts_[previous + 1].push_back(recv_lanes_[k]);
    previous = k;
  }
}

void PipelineLinks::before_slot(ProgramWriter& writer, size_t k) const {
  if (stages_ == 1) return;
  writer.at(-1, -1, -1);
  if (overlap_) {
    write_overlapped_sends(writer, k);
    return write_overlapped_recv(writer, k);
  }
  for (const Exchange& exchange : exchanges_[k]) {
    const Lanes lanes = lanes_of(exchange);
    begin_exchange(writer, lanes);
    end_exchange(writer, lanes);
  }
}

void PipelineLinks::before_slot(ProgramWriter& writer, size_t k,
                                const std::function<void()>& work) const {
  writer.at(-1, -1, -1);
  if (overlap_) {
    write_overlapped_sends(writer, k);
    work();
    return write_overlapped_recv(writer, k);
  }
  std::vector<Lanes> begun;
  for (const Exchange& exchange : exchanges_[k])
    begin_exchange(writer, begun.emplace_back(lanes_of(exchange)));
  work();
  for (const Lanes& lanes : begun) end_exchange(writer, lanes);
}

void PipelineLinks::write_packing(ProgramWriter& writer, size_t k, int32_t op) const {
  if (op < 0) return;
  writer.at(slots_[k].micro_batch, slots_[k].chunk, -1);
  writer.op(Stream::kCompute, op);
}

void PipelineLinks::write_send(ProgramWriter& writer, Stream lane, size_t k) const {
  writer.at(slots_[k].micro_batch, slots_[k].chunk, -1);
  const Transfers& ops = transfers(k);
  writer.send(lane, forward(k) ? ops.send_forward : ops.send_backward, output_message(k));
}

void PipelineLinks::write_recv(ProgramWriter& writer, Stream lane, size_t k) const {
  writer.at(slots_[k].micro_batch, slots_[k].chunk, -1);
  const Transfers& ops = transfers(k);
  writer.recv(lane, forward(k) ? ops.recv_forward : ops.recv_backward, input_message(k));
  if (gather_ >= 0) writer.op(lane, gather_);
}

PipelineLinks::Lanes PipelineLinks::lanes_of(const Exchange& exchange) const {
  const auto& [sends, recvs] = exchange;
  const bool one_direction =
      sends.size() == 1 && recvs.size() == 1 && forward(sends.front()) == forward(recvs.front());
  Lanes lanes;
  const auto lane_of = [&](size_t k, bool is_recv) {
    const Stream lane = is_recv && one_direction ? other_lane(own_lane(k)) : own_lane(k);
    lanes.used[lane == Stream::kPipelineForward ? 0 : 1] = true;
    return lane;
  };
  for (const size_t k : sends) lanes.outgoing.emplace_back(k, lane_of(k, false));
  for (const size_t k : recvs) lanes.incoming.emplace_back(k, lane_of(k, true));
  return lanes;
}

constexpr Stream kLanes[] = {Stream::kPipelineForward, Stream::kPipelineBackward};

void PipelineLinks::begin_exchange(ProgramWriter& writer, const Lanes& lanes) const {
  for (const auto& [k, lane] : lanes.outgoing) write_packing(writer, k, pack_);
  for (int i = 0; i < 2; ++i)
    if (lanes.used[i]) writer.join(kLanes[i], Stream::kCompute);
  for (const auto& [k, lane] : lanes.outgoing) write_send(writer, lane, k);
}

void PipelineLinks::end_exchange(ProgramWriter& writer, const Lanes& lanes) const {
  for (const auto& [k, lane] : lanes.incoming) write_recv(writer, lane, k);
  for (int i = 0; i < 2; ++i)
    if (lanes.used[i]) writer.join(Stream::kCompute, kLanes[i]);
  for (const auto& [k, lane] : lanes.incoming) write_packing(writer, k, unpack_);
  if (sync_) writer.host_sync();
}

void PipelineLinks::write_overlapped_sends(ProgramWriter& writer, size_t k) const {
  const Stream none = Stream::kCompute;
  Stream sent_on = none;
  if (k > 0 && has_output(k - 1)) {
    sent_on = own_lane(k - 1);
    write_packing(writer, k - 1, pack_);
    writer.at(slots_[k - 1].micro_batch, slots_[k - 1].chunk, -1);
    writer.join(sent_on, Stream::kCompute);
    write_send(writer, sent_on, k - 1);
  }
  for (const Stream lane : posts_[k]) {
    if (lane != sent_on) writer.join(lane, Stream::kCompute);
  }
}

void PipelineLinks::write_overlapped_recv(ProgramWriter& writer, size_t k) const {
  if (k >= slots_.size() || !has_input(k)) return;
  write_recv(writer, recv_lanes_[k], k);
  writer.join(Stream::kCompute, recv_lanes_[k]);
  write_packing(writer, k, unpack_);
}

}  // namespace ergometer::plan
