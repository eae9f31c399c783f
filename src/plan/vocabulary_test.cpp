#include "plan/vocabulary.h"

#include <gtest/gtest.h>

#include "plan/memory.h"
#include "plan/test_check.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using spec::VocabularyParallel;

constexpr VocabularyParallel kAll[] = {VocabularyParallel::kOneBarrier,
                                       VocabularyParallel::kTwoBarriers,
                                       VocabularyParallel::kInterlaced};

spec::Job job_of(VocabularyParallel vocabulary, const test::Shape& shape) {
  spec::Job job = test::make_job(shape);
  job.parallelism.vocabulary = vocabulary;
  job.training.vocab_multiple = 1;
  return job;
}

TEST(Vocabulary, PlansAreWithoutFault) {
  for (const VocabularyParallel vocabulary : kAll)
    for (const int64_t p : {2, 3, 4, 8})
      for (const int64_t m : {1, 2, 5, 12, 33})
        for (const bool overlap : {false, true}) {
          spec::Job job =
              job_of(vocabulary, {.tp = 2, .pp = p, .dp = 2, .micro_batches = m, .layers = p});
          job.training.overlap_p2p = overlap;
          job.training.overlap_grad_reduce = overlap;
          const Plan plan = make_plan(job, workload::lower(job));
          EXPECT_EQ(find_fault(plan), "") << p << " stages, " << m << " micro batches";
        }
}

// 1024 words of 64 on four stages: 256 rows of each matrix everywhere. First and last stage have
// them whole without it.
TEST(Vocabulary, MatricesAreDivided) {
  constexpr double kMatrix = 1024 * 64;
  for (const VocabularyParallel vocabulary : kAll) {
    const spec::Job divided = job_of(vocabulary, {.pp = 4, .micro_batches = 8});
    const spec::Job whole = job_of(VocabularyParallel::kNone, {.pp = 4, .micro_batches = 8});
    const auto dense = [](const spec::Job& job, size_t stage) {
      const workload::Workload workload = workload::lower(job);
      const std::vector<Stage> stages = divide(job, workload);
      double sum = 0;
      for (const int block : stages[stage].chunks[0].blocks)
        sum += workload.blocks[static_cast<size_t>(block)].parameters.dense;
      return sum;
    };
    for (const size_t stage : {0, 1, 2, 3}) {
      const double own = stage == 0 || stage == 3 ? kMatrix : 0;
      EXPECT_EQ(dense(divided, stage), dense(whole, stage) - own + 2 * kMatrix / 4) << stage;
    }
    spec::Job tied = divided;
    tied.model.tied_embeddings = true;
    EXPECT_EQ(dense(tied, 1), dense(divided, 1) - kMatrix / 4);
  }
}

// What the output layer multiplies adds up to the model's, whoever does it.
TEST(Vocabulary, WorkIsDivided) {
  const auto flops = [](const spec::Job& job) {
    const workload::Workload workload = workload::lower(job);
    const Plan plan = make_plan(job, workload);
    double sum = 0;
    for (const Role& role : plan.roles)
      for (const Instruction& it : role.program)
        if (it.kind == InstructionKind::kCompute)
          sum += plan.operators[static_cast<size_t>(it.op)].flops;
    return sum;
  };
  const double whole = flops(job_of(VocabularyParallel::kNone, {.pp = 4, .micro_batches = 8}));
  for (const VocabularyParallel vocabulary : kAll)
    EXPECT_NEAR(flops(job_of(vocabulary, {.pp = 4, .micro_batches = 8})), whole, 1e-9 * whole);
}

}  // namespace
}  // namespace ergometer::plan
