#include "analysis/operations/operation_waits.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "analysis/operations/operation_graph.h"

namespace ergometer::analysis {
namespace {

using run::Operation;
using run::OperationRole;

/// Fills the waits of one rank after the other.
class RankWaits {
 public:
  explicit RankWaits(const StepOperations& step) : step_(step) {}
  /// Of the rank whose operations are these.
  void add(uint32_t begin, uint32_t end);
  std::vector<OperationWait> take() { return std::move(waits_); }

 private:
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  ///< of work and what moves it

  void wait(uint32_t who, uint32_t whom) { waits_.emplace_back(who, whom); }
  void follow(const StepNumbers& stream);
  StepNumbers of_role(uint32_t begin, uint32_t end, OperationRole role) const;
  Pairs pair_up(const StepNumbers& work, const StepNumbers& transfers) const;
  void link_receives(const StepNumbers& work, const StepNumbers& receives);
  void link_sends(const StepNumbers& work, const StepNumbers& sends);
  void link_collectives(const StepNumbers& compute, const StepNumbers& collectives);
  void link_parameters(const StepNumbers& compute, uint32_t collective);
  void link_gradients(const StepNumbers& compute, uint32_t collective);
  void link_last_work(const StepNumbers& compute, const StepNumbers& collectives);

  const StepOperations& step_;
  std::vector<OperationWait> waits_;
};

void RankWaits::follow(const StepNumbers& stream) {
  for (size_t i = 1; i < stream.size(); ++i) wait(stream[i], stream[i - 1]);
}

StepNumbers RankWaits::of_role(uint32_t begin, uint32_t end, OperationRole wanted) const {
  StepNumbers found;
  for (uint32_t local = begin; local < end; ++local)
    if (step_.role(local) == wanted) found.push_back(local);
  return found;
}

/// Work and what it moves: in their order where there are as many of both, else by number.
RankWaits::Pairs RankWaits::pair_up(const StepNumbers& work, const StepNumbers& transfers) const {
  Pairs pairs;
  if (work.size() == transfers.size()) {
    for (size_t i = 0; i < work.size(); ++i) pairs.emplace_back(work[i], transfers[i]);
    return pairs;
  }
  const auto number = [&](uint32_t local) {
    const Operation& o = step_.at(local);
    return o.sequence >= 0 ? o.sequence : o.micro_batch;
  };
  std::vector<std::pair<int32_t, uint32_t>> by_number;
  for (const uint32_t local : work) by_number.emplace_back(number(local), local);
  std::ranges::sort(by_number);
  for (const uint32_t transfer : transfers) {
    const auto found = std::lower_bound(by_number.begin(), by_number.end(),
                                        std::pair(number(transfer), uint32_t{0}));
    if (found != by_number.end() && found->first == number(transfer))
      pairs.emplace_back(found->second, transfer);
  }
  return pairs;
}

void RankWaits::link_receives(const StepNumbers& work, const StepNumbers& receives) {
  const auto pairs = pair_up(work, receives);
  for (size_t i = 0; i < pairs.size(); ++i) {
    wait(pairs[i].first, pairs[i].second);
    if (i > 0) wait(pairs[i].second, pairs[i - 1].first);
  }
}

void RankWaits::link_sends(const StepNumbers& work, const StepNumbers& sends) {
  for (const auto& [computed, send] : pair_up(work, sends)) wait(send, computed);
}

/// The first forward behind a collective that brings its chunk's parameters.
void RankWaits::link_parameters(const StepNumbers& compute, uint32_t collective) {
  std::vector<bool> linked(static_cast<size_t>(step_.groups().chunks), false);
  for (const uint32_t local : compute) {
    if (step_.role(local) != OperationRole::kForward ||
        step_.at(local).start_us < step_.at(collective).start_us ||
        (step_.at(collective).chunk >= 0 && step_.chunk(local) != step_.at(collective).chunk))
      continue;
    const auto number = static_cast<size_t>(step_.chunk(local));
    if (!linked[number]) wait(local, collective);
    linked[number] = true;
  }
}

void RankWaits::link_gradients(const StepNumbers& compute, uint32_t collective) {
  const double start_us = step_.at(collective).start_us;
  size_t last = compute.size();
  for (size_t i = 0; i < compute.size() && step_.at(compute[i]).start_us <= start_us; ++i)
    if (step_.role(compute[i]) == OperationRole::kBackward &&
        (step_.at(collective).chunk < 0 || step_.chunk(compute[i]) == step_.at(collective).chunk))
      last = i;
  if (last == compute.size()) return link_parameters(compute, collective);
  wait(collective, compute[last]);
  for (++last; last < compute.size() && step_.role(compute[last]) == OperationRole::kPause &&
               step_.at(compute[last]).start_us <= start_us;
       ++last)
    wait(collective, compute[last]);
}

void RankWaits::link_collectives(const StepNumbers& compute, const StepNumbers& collectives) {
  for (const uint32_t local : collectives) {
    const std::string_view name = step_.kind(local).name;
    if (name.starts_with("params"))
      link_parameters(compute, local);
    else
      link_gradients(compute, local);
  }
}

/// What is computed behind the last backward waits for the collective before it.
void RankWaits::link_last_work(const StepNumbers& compute, const StepNumbers& collectives) {
  for (size_t i = compute.size(); i-- > 0 && step_.role(compute[i]) != OperationRole::kBackward &&
                                  step_.role(compute[i]) != OperationRole::kForward;) {
    if (step_.role(compute[i]) != OperationRole::kOther) continue;
    const auto behind = std::upper_bound(
        collectives.begin(), collectives.end(), step_.at(compute[i]).start_us,
        [&](double start, uint32_t local) { return start < step_.at(local).start_us; });
    if (behind != collectives.begin()) wait(compute[i], *std::prev(behind));
  }
}

void RankWaits::add(uint32_t begin, uint32_t end) {
  StepNumbers compute, collectives;
  for (uint32_t local = begin; local < end; ++local) {
    const OperationRole what = step_.role(local);
    if (!is_transfer(what))
      compute.push_back(local);
    else if (!is_point_to_point(what))
      collectives.push_back(local);
  }
  follow(compute);
  follow(collectives);
  link_collectives(compute, collectives);
  link_last_work(compute, collectives);
  StepNumbers fed_forward, fed_backward, sent_forward, sent_backward;
  for (const uint32_t local : compute) {
    const OperationRole what = step_.role(local);
    if (what == OperationRole::kForward) {
      if (!step_.is_first_virtual_stage(local)) fed_forward.push_back(local);
      if (!step_.is_last_virtual_stage(local)) sent_forward.push_back(local);
    } else if (what == OperationRole::kBackward) {
      if (!step_.is_last_virtual_stage(local)) fed_backward.push_back(local);
      if (!step_.is_first_virtual_stage(local)) sent_backward.push_back(local);
    }
  }
  const auto transfers = [&](OperationRole wanted) {
    StepNumbers found = of_role(begin, end, wanted);
    follow(found);
    return found;
  };
  link_receives(fed_forward, transfers(OperationRole::kForwardReceive));
  link_receives(fed_backward, transfers(OperationRole::kBackwardReceive));
  link_sends(sent_forward, transfers(OperationRole::kForwardSend));
  link_sends(sent_backward, transfers(OperationRole::kBackwardSend));
}

}  // namespace

bool is_point_to_point(OperationRole role) {
  return role == OperationRole::kForwardSend || role == OperationRole::kForwardReceive ||
         role == OperationRole::kBackwardSend || role == OperationRole::kBackwardReceive;
}

std::vector<OperationWait> waits_within_ranks(const StepOperations& step) {
  RankWaits waits(step);
  const auto rank_of = [&](uint32_t number) {
    const Operation& o = step.at(number);
    return std::tuple(o.stage, o.replica, o.lane);
  };
  for (uint32_t begin = 0, end = 0; begin < step.size(); begin = end) {
    for (end = begin; end < step.size() && rank_of(end) == rank_of(begin);) ++end;
    waits.add(begin, end);
  }
  return waits.take();
}

}  // namespace ergometer::analysis
