#include <gtest/gtest.h>

#include <string>

#include "plan/memory.h"
#include "plan/test_job.h"
#include "spec/settings/schedule_file.h"

namespace ergometer::plan {
namespace {

/// On a GPU of which is known that it multiplies BF16, as checks of a job want it.
spec::Job runnable(const test::Shape& shape) {
  spec::Job job = test::make_job(shape);
  job.cluster.node.gpu.memory_bytes = 80e9;
  base::Parameter peak;
  peak.value = 1e15;
  job.cluster.node.gpu.parameters.set("peak_bf16", peak);
  return job;
}

TEST(MemoryAdvice, NamesStagePartAndOnlyWhatApplies) {
  spec::Job job = runnable({.pp = 2, .dp = 2, .micro_batches = 4});
  job.training.seq_length = 1 << 20;
  job.cluster.node.gpu.memory_bytes = 2e9;
  job.training.micro_batch = 2;
  job.training.global_batch = 16;
  const MemoryReport report = test::memory_of(job);
  EXPECT_FALSE(report.fits);
  EXPECT_EQ(report.worst_stage, 0);
  const std::string advice = memory_advice(job, report);
  EXPECT_NE(advice.find(" of 1.9 GiB on stage 0; the largest part is activations ("),
            std::string::npos)
      << advice;
  EXPECT_NE(advice.find("(42.8 GiB); --recompute full, --tp 2 and --micro-batch-size 1 together "),
            std::string::npos)
      << advice;
  job.training.recompute = spec::Recompute::kFull;
  job.training.micro_batch = 1;
  const std::string less = memory_advice(job, test::memory_of(job));
  EXPECT_NE(less.find("--tp 2"), std::string::npos) << less;
  EXPECT_EQ(less.find("--recompute"), std::string::npos) << less;
  EXPECT_EQ(less.find("--micro-batch-size"), std::string::npos) << less;
}

TEST(MemoryAdvice, IsForStatesThatCannotFit) {
  spec::Job job = runnable({.dp = 8});
  job.parallelism.zero_stage = 0;
  job.cluster.node.gpu.memory_bytes = 4e6;
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_NE(advice.find(" together still need "), std::string::npos) << advice;
  EXPECT_NE(advice.find("it takes more GPUs to divide it over"), std::string::npos) << advice;
  EXPECT_LT(advice.find("--fsdp"), advice.find("--recompute")) << advice;
}

// It takes all three, which are advised together.
TEST(MemoryAdvice, OfSeveralChangesMakesItFit) {
  spec::Job job = runnable({.pp = 2, .dp = 2, .micro_batches = 4});
  job.training.seq_length = 1 << 20;
  job.cluster.node.gpu.memory_bytes = 3.6e9;
  job.training.micro_batch = 2;
  job.training.global_batch = 16;
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_NE(advice.find("no single change is enough; take all of these together: --recompute full, "
                        "--tp 2 and --micro-batch-size 1"),
            std::string::npos)
      << advice;
}

// A GPU between what the job needs with and without sharded optimizer states.
TEST(MemoryAdvice, IsWhatMakesItFit) {
  spec::Job job = runnable({.dp = 8});
  job.parallelism.zero_stage = 1;
  const double sharded = test::memory_of(job).worst().needed();
  job.parallelism.zero_stage = 0;
  job.cluster.node.gpu.memory_bytes = (sharded + test::memory_of(job).worst().needed()) / 2;
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_NE(advice.find("--zero 1"), std::string::npos) << advice;
  EXPECT_EQ(advice.find("no single change"), std::string::npos) << advice;
}

// What recipes settle by the layout is said with a layout that is advised; what was typed stays.
TEST(MemoryAdvice, SaysHowExpertsAreCut) {
  spec::Job job = runnable({.tp = 2, .dp = 4, .ep = 2, .micro_batches = 4});
  job.parallelism.etp = 2;
  job.model.experts.ffn = 1 << 19;
  job.cluster.node.gpu.memory_bytes = 0.99 * test::memory_of(job).worst().needed();
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_NE(advice.find("--ep 4 --etp 2"), std::string::npos) << advice;
  EXPECT_NE(advice.find("--tp 4 --etp 4"), std::string::npos) << advice;
  job.origins["expert_tensor_parallel_size"] = {"--etp", ""};
  const std::string typed = memory_advice(job, test::memory_of(job));
  EXPECT_NE(typed.find("--ep 4"), std::string::npos) << typed;
  EXPECT_EQ(typed.find("--etp"), std::string::npos) << typed;
}

// The cache grows with the sequences that are served at once.
TEST(MemoryAdvice, ServesFewerSequencesAtOnce) {
  spec::Job job = runnable({});
  job.training.mode = spec::Mode::kDecode;
  job.parallelism.zero_stage = 0;
  job.training.global_batch = job.training.micro_batch = 64;
  job.training.seq_length = 1 << 15;
  spec::Job fewer = job;
  fewer.training.global_batch = fewer.training.micro_batch = 8;
  job.cluster.node.gpu.memory_bytes = 1.01 * test::memory_of(fewer).worst().needed();
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_NE(advice.find("is key-value cache and buffers ("), std::string::npos) << advice;
  EXPECT_NE(advice.find("--global-batch-size 8 --micro-batch-size 8"), std::string::npos) << advice;
}

// Changes under which the file's order of work is no order are not advised.
TEST(MemoryAdvice, KeepsToAScheduleFile) {
  spec::Job job = runnable({.pp = 2, .dp = 2, .micro_batches = 4});
  job.parallelism.schedule = spec::Schedule::kFile;
  job.parallelism.order =
      spec::pipeline_order(runnable({.pp = 2, .micro_batches = 4}).parallelism, 4);
  job.cluster.node.gpu.memory_bytes = 2e9;
  job.training.seq_length = 1 << 20;
  const std::string advice = memory_advice(job, test::memory_of(job));
  EXPECT_EQ(advice.find("--pp"), std::string::npos) << advice;
}

}  // namespace
}  // namespace ergometer::plan
