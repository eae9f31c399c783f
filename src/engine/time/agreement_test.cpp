// The sweep against the event engine, on random programs that hold every kind of instruction on
// every stream.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/time/sweep.h"
#include "engine/time/test_agreement.h"
#include "engine/time/test_plan.h"

namespace ergometer::engine {
namespace {

using test::Random;
using test::TestPlan;
using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

/// A random plan in which every instruction depends on earlier ones only, over all roles: it cannot
/// deadlock.
class RandomPlan {
 public:
  explicit RandomPlan(uint64_t seed) : random_(seed), test_(make_layout()) {
    test_.costs.launch_s = random_.of<double>({0, 5e-6, 40e-6});
    add_operators();
    for (plan::Role& role : test_.plan.roles) role.events = 3;
    const int64_t length = 20 + random_.below(60);
    for (int64_t i = 0; i < length; ++i) add_something();
    while (!in_flight_.empty()) deliver();
    set_clocks_and_stretch();
    test_.sampled.resize(static_cast<size_t>(test_.job.gpus));
    std::iota(test_.sampled.begin(), test_.sampled.end(), 0);
  }
  const TestPlan& test() const { return test_; }

 private:
  struct Message {
    size_t to;
    int32_t slot, op;
  };

  TestPlan make_layout() {
    for (;;) {
      const int64_t tp = random_.of<int64_t>({1, 2, 3, 4}), cp = random_.of<int64_t>({1, 1, 2});
      const int64_t dp = random_.of<int64_t>({1, 2, 3, 4, 8}),
                    pp = random_.of<int64_t>({1, 2, 3, 4});
      const int64_t ep = random_.of<int64_t>({1, 2, 3, 4, 6}), etp = random_.of<int64_t>({1, 2});
      const int64_t ranks = tp * cp * dp;
      if (ranks * pp > 64 || ranks * pp < 4 || ranks % (ep * etp) != 0) continue;
      TestPlan test(tp, cp, dp, pp);
      test.job.parallelism.ep = ep;
      test.job.parallelism.etp = etp;
      return test;
    }
  }

  void add_operators() {
    for (int i = 0; i < 6; ++i) {
      const auto pass = i == 5 ? workload::Pass::kOptimizer : workload::Pass::kForward;
      compute_.push_back(test_.op(random_.real(0, 2e-5), random_.real(2e-6, 1e-4), pass));
      test_.plan.operators.back().kernels = static_cast<int>(1 + random_.below(3));
    }
    for (const GroupKind kind :
         {GroupKind::kTensor, GroupKind::kContext, GroupKind::kExpert, GroupKind::kExpertTensor,
          GroupKind::kData, GroupKind::kExpertData})
      inside_.push_back(test_.communication(static_cast<CollectiveKind>(random_.below(4)), kind,
                                            random_.real(5e-6, 2e-4)));
    transfer_ = test_.communication(CollectiveKind::kSendRecv, GroupKind::kPipeline,
                                    random_.real(5e-6, 5e-5));
    world_ = test_.communication(CollectiveKind::kAllReduce, GroupKind::kWorld, 1e-5);
    embedding_ = test_.communication(CollectiveKind::kAllReduce, GroupKind::kEmbedding, 3e-5);
  }

  Stream stream() {
    return random_.below(2) == 0 ? Stream::kCompute
                                 : static_cast<Stream>(random_.below(workload::kStreamCount));
  }
  size_t role() {
    return static_cast<size_t>(random_.below(static_cast<int64_t>(test_.plan.roles.size())));
  }
  /// What a wait is charged to: an operator or nothing.
  int32_t reason() {
    return random_.below(3) == 0 ? -1 : random_.of<int32_t>({inside_[0], inside_[4], transfer_});
  }

  void add_something() {
    const int64_t what = random_.below(20);
    if (what < 8) {
      const size_t at = role();
      const Stream on = stream();
      for (int64_t i = random_.below(5); i >= 0; --i) test_.compute(at, random_.of(compute_), on);
    } else if (what < 12) {
      test_.collective(role(), random_.of(inside_), stream());
    } else if (what < 14) {
      test_.add(role(), {.kind = plan::InstructionKind::kJoin,
                         .stream = stream(),
                         .on = stream(),
                         .op = reason()});
    } else if (what < 16) {
      const auto kind = what == 14 ? plan::InstructionKind::kRecord : plan::InstructionKind::kWait;
      test_.add(role(), {.kind = kind,
                         .stream = stream(),
                         .op = reason(),
                         .slot = static_cast<int32_t>(random_.below(3))});
    } else if (what == 16) {
      test_.add(role(), {.kind = plan::InstructionKind::kHostSync, .stream = stream()});
    } else if (what == 17) {
      if (random_.below(2) == 0)
        test_.world(world_, stream());
      else
        tie_embeddings();
    } else if (test_.plan.roles.size() > 1) {
      exchange();
    }
  }

  void tie_embeddings() {
    const Stream on = stream();
    test_.add(0, {.kind = plan::InstructionKind::kWorld, .stream = on, .op = embedding_});
    if (test_.plan.roles.size() > 1)
      test_.add(test_.plan.roles.size() - 1,
                {.kind = plan::InstructionKind::kWorld, .stream = on, .op = embedding_});
  }

  /// Sends a message and later, perhaps much later, has one received.
  void exchange() {
    const size_t from = role();
    const size_t to = (from + 1) % test_.plan.roles.size();
    const int32_t slot = test_.plan.messages++;
    test_.add(
        from,
        {.kind = plan::InstructionKind::kSend, .stream = stream(), .op = transfer_, .slot = slot});
    in_flight_.push_back({.to = to, .slot = slot, .op = transfer_});
    if (random_.below(3) != 0) deliver();
  }

  void deliver() {
    const auto at = in_flight_.begin() + random_.below(static_cast<int64_t>(in_flight_.size()));
    test_.add(
        at->to,
        {.kind = plan::InstructionKind::kRecv, .stream = stream(), .op = at->op, .slot = at->slot});
    in_flight_.erase(at);
  }

  void set_clocks_and_stretch() {
    if (random_.below(4) != 0) {
      test_.clocks_hz.clear();
      for (int64_t rank = 0; rank < test_.job.gpus; ++rank)
        test_.clocks_hz.push_back(random_.real(0.6e9, 1.4e9));
    }
    if (random_.below(2) == 0) return;
    for (const plan::Role& role : test_.plan.roles) {
      test_.stretch.emplace_back();
      for (size_t i = 0; i < role.program.size(); ++i)
        test_.stretch.back().push_back(
            random_.below(3) == 0 ? static_cast<float>(random_.real(1, 1.5)) : 1.0f);
    }
  }

  Random random_;
  TestPlan test_;
  std::vector<int32_t> compute_, inside_;
  int32_t transfer_ = 0, world_ = 0, embedding_ = 0;
  std::vector<Message> in_flight_;
};

TEST(Agreement, SweepAndEventsAgreeOnRandomPrograms) {
  for (uint64_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed)
    test::expect_agreement(RandomPlan(seed).test().input(), seed);
}

TEST(Agreement, OrderOfRolesDoesNotMatter) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomPlan plan(seed);
    const EngineInput input = plan.test().input();
    const RankLayout layout = RankLayout::of_job(input.job, input.plan.ranks_per_role);
    std::vector<size_t> order(input.plan.roles.size());
    std::iota(order.rbegin(), order.rend(), size_t{0});
    const Timeline forward = sweep_ranks(input, layout),
                   backward = sweep_ranks(input, layout, order);
    EXPECT_EQ(forward.step_s, backward.step_s);
    for (size_t rank = 0; rank < forward.ranks.size(); ++rank) {
      EXPECT_EQ(forward.ranks[rank].end_s, backward.ranks[rank].end_s);
      EXPECT_EQ(forward.ranks[rank].parts_s, backward.ranks[rank].parts_s);
    }
  }
}

}  // namespace
}  // namespace ergometer::engine
