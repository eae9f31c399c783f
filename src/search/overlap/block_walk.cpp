#include "search/overlap/block_walk.h"

namespace ergometer::search {
namespace {

const BlockCost& cost_of(const BlockCosts& costs, const plan::Chunk& chunk, size_t i) {
  return costs.blocks[static_cast<size_t>(chunk.blocks[i])];
}

void run(const PassCost& pass, DataLane& lane) {
  lane.run(pass.time, pass.beside_data, pass.slows_data);
}

void run(const PassCost& pass, const Turns& turns, TwoLanes& lanes) {
  const TwoLanes::Beside data{pass.slow_data, pass.slows_data};
  if (!turns.paired || pass.paired.empty())
    return lanes.run(pass.time, [&] { lanes.compute(pass.time.tt, {data, {}}); });
  lanes.run(pass.paired_time, [&] {
    for (const PairedPart& part : pass.paired) {
      lanes.compute(part.alone_s, {data, {part.slow, part.slows}});
      if (part.hidden_s > 0) lanes.issue(TwoLanes::kExperts, part.hidden_s);
      lanes.compute(part.open_s, {turns.exchange, {part.shared, part.shared}});
    }
  });
}

template <class Run>
void run_backward(const BlockCost& cost, bool recomputed, Run run) {
  if (recomputed) run(cost.recompute);
  run(cost.backward);
}

/// A block's parameters are there before it runs, and the next one's are asked for.
template <class Lanes>
class Gathers {
 public:
  Gathers(std::span<const DataCosts::Unit> units, Lanes& lanes) : units_(units), lanes_(lanes) {}
  void issue(size_t i) {
    if (i >= units_.size()) return;
    mark_ = lanes_.issue(units_[i].gather_s);
    lanes_.launch(units_[i].gather_host_s);
  }
  void wait(size_t i) {
    if (units_.empty()) return;
    if (units_[i].gather_s > 0) lanes_.wait(mark_);
    lanes_.copy(units_[i].copy_out_s, units_[i].copy_slow, units_[i].copy_slows);
  }

 private:
  std::span<const DataCosts::Unit> units_;
  Lanes& lanes_;
  double mark_ = 0;
};

template <class Lanes, class Run>
void walk_forward(std::span<const DataCosts::Unit> units, Lanes& lanes, size_t blocks, Run run) {
  Gathers gathers(units, lanes);
  gathers.issue(0);
  for (size_t i = 0; i < blocks; ++i) {
    gathers.wait(i);
    gathers.issue(i + 1);
    run(i);
  }
}

template <class Lanes, class Run>
void walk_backward(const BlockCosts& costs, const plan::Chunk& chunk,
                   std::span<const DataCosts::Unit> units, Lanes& lanes, Run run) {
  Gathers gathers(units, lanes);
  gathers.issue(chunk.blocks.size() - 1);
  backwards(costs, chunk, [&](size_t i, bool recomputed) {
    gathers.wait(i);
    if (i > 0) gathers.issue(i - 1);
    run_backward(cost_of(costs, chunk, i), recomputed, run);
    if (units.empty()) return;
    lanes.copy(units[i].copy_in_s, units[i].copy_slow, units[i].copy_slows);
    lanes.issue(units[i].scatter_s);
    lanes.launch(units[i].scatter_host_s);
  });
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

/// The kernels that make a bucket's gradients smaller, in line behind its last backward.
static void run_packing(const DataCosts::Bucket& bucket, DataLane& lane) {
  if (bucket.pack_s <= 0) return;
  const auto kernels = [&](double seconds) {
    return MaxPlus{.tt = seconds, .th = seconds, .hh = bucket.pack_host_s};
  };
  lane.run(kernels(bucket.pack_s), kernels(bucket.pack_s * bucket.pack_slow), bucket.pack_slows);
}

void reduce_along(const BlockCosts& costs, const plan::Chunk& chunk,
                  const std::vector<DataCosts::Bucket>& buckets, bool weights_apart,
                  DataLane& lane) {
  backwards(costs, chunk, [&](size_t i, bool recomputed) {
    if (weights_apart)
      run(cost_of(costs, chunk, i).weight_grad, lane);
    else
      run_backward(cost_of(costs, chunk, i), recomputed,
                   [&](const PassCost& pass) { run(pass, lane); });
    for (const DataCosts::Bucket& bucket : buckets) {
      if (bucket.lowest != i) continue;
      run_packing(bucket, lane);
      lane.issue(bucket.reduce_s);
    }
  });
}

void forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                   std::span<const DataCosts::Unit> units, DataLane& lane) {
  walk_forward(units, lane, chunk.blocks.size(),
               [&](size_t i) { run(cost_of(costs, chunk, i).forward, lane); });
}

void backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                    std::span<const DataCosts::Unit> units, DataLane& lane) {
  walk_backward(costs, chunk, units, lane, [&](const PassCost& pass) { run(pass, lane); });
}

void forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                   std::span<const DataCosts::Unit> units, const Turns& turns, TwoLanes& lanes) {
  walk_forward(units, lanes, chunk.blocks.size(),
               [&](size_t i) { run(cost_of(costs, chunk, i).forward, turns, lanes); });
}

void backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                    std::span<const DataCosts::Unit> units, const Turns& turns, TwoLanes& lanes) {
  walk_backward(costs, chunk, units, lanes, [&](const PassCost& pass) { run(pass, turns, lanes); });
  lanes.wait_for_all(TwoLanes::kExperts);
}

}  // namespace ergometer::search
