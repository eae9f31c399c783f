#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "plan/folded.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/test_check.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

/// Draws by the engine alone: the standard leaves its numbers, unlike those of distributions, no
/// choice.
class Draw {
 public:
  explicit Draw(uint32_t seed) : engine_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint32_t>(n)); }
  bool coin() { return below(2) == 1; }
  int64_t one_of(std::initializer_list<int64_t> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

 private:
  std::mt19937 engine_;
};

/// Of the schedules that have two chunks a stage.
void choose_chunked_schedule(Draw& draw, spec::Job& job) {
  using enum spec::Schedule;
  const spec::Schedule all[] = {kLoopedBfs, kZbV, kVHalf, kVMin, kDualPipeV};
  job.parallelism.schedule = all[draw.below(5)];
  if (job.parallelism.schedule == kDualPipeV)
    job.training.global_batch = job.parallelism.dp * (2 * job.parallelism.pp + draw.below(4));
}

spec::Job random_job(Draw& draw) {
  test::Shape shape;
  shape.tp = draw.one_of({1, 2, 4});
  shape.cp = draw.one_of({1, 1, 2});
  shape.dp = draw.one_of({1, 2, 4, 8});
  shape.pp = draw.one_of({1, 2, 3, 4, 8});
  shape.ep = draw.coin() && shape.dp % 2 == 0 ? 2 : 1;
  const int64_t kind = draw.below(4);
  if (kind == 3 && shape.pp > 1) shape.vpp = draw.one_of({2, 3, 4});
  shape.layers = shape.pp * shape.vpp * (1 + draw.below(3));
  const int64_t group = shape.pp + draw.below(3);
  shape.micro_batches = shape.vpp > 1 ? group * (1 + draw.below(4)) : 1 + draw.below(12);

  spec::Job job = test::make_job(shape);
  spec::Parallelism& parallel = job.parallelism;
  parallel.microbatch_group = shape.vpp > 1 ? group : 0;
  if (kind == 1) parallel.schedule = spec::Schedule::kGpipe;
  if (kind == 2) parallel.schedule = draw.coin() ? spec::Schedule::kZbH1 : spec::Schedule::kZbH2;
  if (shape.vpp == 1 && kind == 0 && draw.coin())
    parallel.stage_training = spec::StageTraining::kLocalHeads;
  if (shape.vpp == 2 && draw.coin()) choose_chunked_schedule(draw, job);
  parallel.sequence_parallel = shape.tp > 1 && draw.coin();
  parallel.zero_stage = static_cast<int>(draw.below(4));
  parallel.fsdp = parallel.zero_stage == 3;
  if (parallel.fsdp && shape.dp > 1 && shape.dp / 2 % shape.ep == 0 && draw.coin())
    parallel.fsdp_shard_size = shape.dp / 2;
  spec::Training& training = job.training;
  training.overlap_grad_reduce = draw.coin();
  training.overlap_param_gather = draw.coin();
  training.overlap_p2p = draw.coin();
  training.batch_p2p_sync = draw.coin();
  training.bucket_elements = static_cast<double>(draw.one_of({0, 1, 150, 2000}));
  if (draw.below(4) == 0) training.framework = spec::Framework::kTorchFsdp;
  if (draw.below(3) == 0) training.recompute = spec::Recompute::kFull;
  if (draw.coin()) training.recompute_method = spec::RecomputeMethod::kBlock;
  training.recompute_layers = draw.below(4);
  training.moe_capacity_factor = static_cast<double>(draw.below(2));
  training.moe_pad_to_capacity = training.moe_capacity_factor > 0;
  job.model.tied_embeddings = draw.coin();
  job.model.mtp_layers = draw.below(2);
  if (draw.below(6) == 0) training.mode = draw.coin() ? spec::Mode::kPrefill : spec::Mode::kLora;
  return job;
}

std::string describe(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  return fmt::format(
      "tp {} cp {} pp {} vpp {} dp {} ep {} m {} group {} schedule {} overlap p2p {} zero {}", p.tp,
      p.cp, p.pp, p.vpp, p.dp, p.ep, job.micro_batches(), p.microbatch_group,
      static_cast<int>(p.schedule), job.training.overlap_p2p, p.zero_stage);
}

/// Every micro batch goes once forward and once backward through every chunk, in that order, and
/// its weight gradient follows its input gradient.
std::string order_fault(const std::vector<ScheduleSlot>& slots, const spec::Job& job) {
  std::map<std::tuple<int32_t, int32_t>, int> progress;
  for (const ScheduleSlot& slot : slots) {
    int& done = progress[{slot.micro_batch, slot.chunk}];
    const int expected = slot.kind == SlotKind::kForward          ? 0
                         : slot.kind == SlotKind::kBackwardWeight ? 2
                                                                  : 1;
    if (done != expected) return "out of order";
    done = slot.kind == SlotKind::kBackward ? 3 : done + 1;
  }
  if (static_cast<int64_t>(progress.size()) != job.micro_batches() * job.parallelism.vpp)
    return "work is missing";
  const bool forward_only = job.training.mode == spec::Mode::kPrefill;
  for (const auto& [unit, done] : progress) {
    if (done != (forward_only ? 1 : 3)) return "work is left over";
  }
  return {};
}

/// Operators that run on a role, counted by name.
std::map<std::string, int64_t> counts(const Plan& plan, const Role& role) {
  std::map<std::string, int64_t> counted;
  for (const Instruction& it : role.program) {
    const bool runs =
        it.kind == InstructionKind::kCompute || it.kind == InstructionKind::kCollective;
    if (runs) ++counted[plan.operators[static_cast<size_t>(it.op)].name];
  }
  return counted;
}

TEST(AnyJob, HasAPlanThatRuns) {
  Draw draw(7);
  for (int i = 0; i < 4000; ++i) {
    const spec::Job job = random_job(draw);
    SCOPED_TRACE(describe(job));
    const workload::Workload workload = test::fake_workload(job);
    const Plan plan = make_plan(job, workload);
    ASSERT_EQ(find_fault(plan), "");
    const bool training = job.training.mode != spec::Mode::kPrefill;
    for (const Role& role : plan.roles) {
      ASSERT_EQ(order_fault(schedule(job, role.stage), job), "");
      // Whatever the schedule, every block runs once forward and once backward a micro batch.
      int64_t blocks = 0;
      for (const Chunk& chunk : plan.stages[static_cast<size_t>(role.stage)].chunks) {
        blocks += static_cast<int64_t>(chunk.blocks.size());
      }
      std::map<std::string, int64_t> counted = counts(plan, role);
      ASSERT_EQ(counted["fc1_dgrad"], training ? blocks * job.micro_batches() : 0);
      ASSERT_EQ(counted["fc1_wgrad"], training ? blocks * job.micro_batches() : 0);
      ASSERT_GE(counted["fc1"], blocks * job.micro_batches());
    }
  }
}

TEST(AnyJob, HasOnePlan) {
  Draw draw(11);
  for (int i = 0; i < 50; ++i) {
    const spec::Job job = random_job(draw);
    const Plan a = make_plan(job, test::fake_workload(job)),
               b = make_plan(job, test::fake_workload(job));
    ASSERT_EQ(a.operators.size(), b.operators.size());
    for (size_t role = 0; role < a.roles.size(); ++role) {
      ASSERT_EQ(a.roles[role].program.size(), b.roles[role].program.size());
      for (size_t k = 0; k < a.roles[role].program.size(); ++k) {
        const Instruction &x = a.roles[role].program[k], &y = b.roles[role].program[k];
        ASSERT_EQ(std::tie(x.kind, x.stream, x.on, x.op, x.slot),
                  std::tie(y.kind, y.stream, y.on, y.op, y.slot));
      }
    }
  }
}

/// What an instruction does, apart from the number of its message.
auto deed(const Instruction& it) {
  const bool message = it.kind == InstructionKind::kSend || it.kind == InstructionKind::kRecv;
  return std::tuple(it.kind, it.stream, it.on, it.op, message ? -1 : it.slot, it.micro_batch,
                    it.chunk, it.layer);
}

/// How many periods later an instruction of the whole plan is than that of the folded one.
int64_t periods_later(const Plan& plan, const Role& role, size_t index) {
  if (index < role.periods[2]) return 0;
  const size_t period = role.periods[2] - role.periods[1];
  return std::min<int64_t>(plan.periods_left_out,
                           1 + static_cast<int64_t>((index - role.periods[2]) / period));
}

// What a folded plan leaves out is what the whole plan has there.
TEST(AnyJob, IsItsFoldedPlanUnfolded) {
  Draw draw(13);
  int folded_jobs = 0;
  for (int i = 0; i < 1600; ++i) {
    spec::Job job = random_job(draw);
    const int64_t chunks = job.parallelism.vpp;
    const int64_t period = chunks > 1 ? job.parallelism.microbatch_group : job.parallelism.pp;
    job.training.global_batch =
        job.parallelism.dp * (chunks > 1 ? period * (4 + draw.below(9)) : 1 + draw.below(120));
    SCOPED_TRACE(describe(job));
    const workload::Workload workload = test::fake_workload(job);
    const std::optional<Plan> folded = make_folded_plan(job, workload, kLeastPeriods);
    const spec::Schedule schedule = job.parallelism.schedule;
    const bool steady =
        job.training.mode != spec::Mode::kPrefill && !job.parallelism.trains_apart() &&
        (schedule == spec::Schedule::kOneFOneB || schedule == spec::Schedule::kInterleaved ||
         schedule == spec::Schedule::kZbH1);
    const bool short_step = job.micro_batches() < 9 * period;
    ASSERT_TRUE(folded.has_value() ? steady : !steady || short_step);
    if (!folded) continue;
    ++folded_jobs;
    const Plan whole = make_plan(job, workload);
    ASSERT_EQ(find_fault(*folded), "");
    for (size_t r = 0; r < whole.roles.size(); ++r) {
      const Role& role = folded->roles[r];
      auto program = unfolded(*folded, role, role.program);
      ASSERT_EQ(program.size(), whole.roles[r].program.size());
      for (size_t k = 0; k < program.size(); ++k) {
        if (program[k].micro_batch >= 0)
          program[k].micro_batch += static_cast<int32_t>(period * periods_later(*folded, role, k));
        ASSERT_EQ(deed(program[k]), deed(whole.roles[r].program[k])) << "role " << r << " at " << k;
      }
    }
  }
  EXPECT_GT(folded_jobs, 500);
}

// The checker finds what it is there to find.
TEST(FindFault, SeesABrokenProgram) {
  const spec::Job job = test::make_job({.pp = 2, .dp = 2, .micro_batches = 2});
  const Plan good = make_plan(job, test::fake_workload(job));
  const auto position = [&good](size_t role, InstructionKind kind) {
    const auto& program = good.roles[role].program;
    size_t at = 0;
    while (program[at].kind != kind) ++at;
    return static_cast<std::ptrdiff_t>(at);
  };
  Plan lost = good;
  lost.roles[0].program.erase(lost.roles[0].program.begin() + position(0, InstructionKind::kSend));
  EXPECT_NE(find_fault(lost).find("deadlock"), std::string::npos);
  Plan unread = good;
  unread.roles[1].program.erase(unread.roles[1].program.begin() +
                                position(1, InstructionKind::kRecv));
  EXPECT_NE(find_fault(unread).find("not sent and received"), std::string::npos);
  Plan twice = good;
  const Instruction send =
      twice.roles[0].program[static_cast<size_t>(position(0, InstructionKind::kSend))];
  twice.roles[0].program.push_back(send);
  EXPECT_NE(find_fault(twice).find("sent twice"), std::string::npos);
  Plan early = good;
  early.roles[0].events = 1;
  early.roles[0].program.insert(early.roles[0].program.begin(),
                                {.kind = InstructionKind::kWait, .slot = 0});
  EXPECT_NE(find_fault(early).find("nobody has recorded"), std::string::npos);
  Plan alone = good;
  alone.roles[0].program.erase(alone.roles[0].program.begin() +
                               position(0, InstructionKind::kWorld));
  EXPECT_NE(find_fault(alone).find("deadlock"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::plan
