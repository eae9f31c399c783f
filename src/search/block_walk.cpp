#include "search/block_walk.h"

namespace ergometer::search {
namespace {

const BlockCost& cost_of(const BlockCosts& costs, const plan::Chunk& chunk, size_t i) {
  return costs.blocks[static_cast<size_t>(chunk.blocks[i])];
}

void run(const PassCost& pass, DataLane& lane) {
  lane.compute(pass.time.tt, pass.slow_data, pass.slows_data);
}

/// Copies between buffers: memory traffic on both sides.
void copy(double seconds, DataLane& lane) { lane.compute(seconds, 1, 1); }

void run_backward(const BlockCost& cost, bool recomputed, DataLane& lane) {
  if (recomputed) run(cost.recompute, lane);
  run(cost.backward, lane);
}

void run_paired(const PassCost& pass, const TwoLanes::Beside& exchange, TwoLanes& lanes) {
  const TwoLanes::Beside data{pass.slow_data, pass.slows_data};
  if (pass.paired.empty()) return lanes.compute(pass.time.tt, {data, {}});
  for (const PairedPart& part : pass.paired) {
    lanes.compute(part.alone_s, {data, {part.slow, part.slows}});
    if (part.hidden_s > 0) lanes.issue(TwoLanes::kExperts, part.hidden_s);
    lanes.compute(part.open_s, {exchange, {part.shared, part.shared}});
  }
}

}  // namespace

void gather_along(const BlockCosts& costs, const plan::Chunk& chunk,
                  const std::vector<DataCosts::Bucket>& buckets, bool issued_before,
                  DataLane& lane) {
  std::vector<double> marks(buckets.size(), -1);
  const auto issue = [&](size_t b) {
    if (b < buckets.size() && marks[b] < 0) marks[b] = lane.issue(buckets[b].gather_s);
  };
  if (issued_before) {
    // All of them stand in the lane already, in this order; the last ends with what is left.
    double mark = lane.issue(0);
    for (size_t b = buckets.size(); b-- > 0;) {
      marks[b] = mark;
      mark -= buckets[b].gather_s;
    }
  }
  for (size_t i = 0; i < chunk.blocks.size(); ++i) {
    for (size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].lowest != i) continue;
      issue(b);
      lane.wait(marks[b]);
      issue(b + 1);
    }
    run(cost_of(costs, chunk, i).forward, lane);
  }
}

void reduce_along(const BlockCosts& costs, const plan::Chunk& chunk,
                  const std::vector<DataCosts::Bucket>& buckets, bool weights_apart,
                  DataLane& lane) {
  backwards(costs, chunk, [&](size_t i, bool recomputed) {
    if (weights_apart)
      run(cost_of(costs, chunk, i).weight_grad, lane);
    else
      run_backward(cost_of(costs, chunk, i), recomputed, lane);
    for (const DataCosts::Bucket& bucket : buckets)
      if (bucket.lowest == i) lane.issue(bucket.reduce_s);
  });
}

void forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                   const std::vector<DataCosts::Unit>& units, DataLane& lane) {
  double mark = units.empty() ? 0 : lane.issue(units[0].gather_s);
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].gather_s > 0) lane.wait(mark);
    copy(units[i].copy_out_s, lane);
    if (i + 1 < units.size()) mark = lane.issue(units[i + 1].gather_s);
    run(cost_of(costs, chunk, i).forward, lane);
  }
}

void backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                    const std::vector<DataCosts::Unit>& units, DataLane& lane) {
  double mark = units.empty() ? 0 : lane.issue(units.back().gather_s);
  backwards(costs, chunk, [&](size_t i, bool recomputed) {
    if (units[i].gather_s > 0) lane.wait(mark);
    copy(units[i].copy_out_s, lane);
    if (i > 0) mark = lane.issue(units[i - 1].gather_s);
    run_backward(cost_of(costs, chunk, i), recomputed, lane);
    copy(units[i].copy_in_s, lane);
    lane.issue(units[i].scatter_s);
  });
}

void paired_forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                          std::span<const DataCosts::Unit> units, const TwoLanes::Beside& exchange,
                          TwoLanes& lanes) {
  double mark = units.empty() ? 0 : lanes.issue(TwoLanes::kData, units[0].gather_s);
  for (size_t i = 0; i < chunk.blocks.size(); ++i) {
    if (!units.empty()) {
      if (units[i].gather_s > 0) lanes.wait(TwoLanes::kData, mark);
      lanes.compute(units[i].copy_out_s, {});
      if (i + 1 < units.size()) mark = lanes.issue(TwoLanes::kData, units[i + 1].gather_s);
    }
    run_paired(cost_of(costs, chunk, i).forward, exchange, lanes);
  }
}

void paired_backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                           std::span<const DataCosts::Unit> units, const TwoLanes::Beside& exchange,
                           TwoLanes& lanes) {
  double mark = units.empty() ? 0 : lanes.issue(TwoLanes::kData, units.back().gather_s);
  backwards(costs, chunk, [&](size_t i, bool recomputed) {
    const BlockCost& cost = cost_of(costs, chunk, i);
    if (!units.empty()) {
      if (units[i].gather_s > 0) lanes.wait(TwoLanes::kData, mark);
      lanes.compute(units[i].copy_out_s, {});
      if (i > 0) mark = lanes.issue(TwoLanes::kData, units[i - 1].gather_s);
    }
    if (recomputed) run_paired(cost.recompute, exchange, lanes);
    run_paired(cost.backward, exchange, lanes);
    if (units.empty()) return;
    lanes.compute(units[i].copy_in_s, {});
    lanes.issue(TwoLanes::kData, units[i].scatter_s);
  });
  lanes.wait_for_all(TwoLanes::kExperts);
}

}  // namespace ergometer::search
