#include "engine/outcome/given_algorithms.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/collective/read_msccl.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::engine {
namespace {

// 3 s of 10 may be 2 or 4.5.
TEST(GivenAlgorithmsSpread, IsAThirdLessToHalfMoreOfWhatIsWaitedFor) {
  const run::Interval spread = given_algorithms_spread(3, 10);
  EXPECT_DOUBLE_EQ(spread.low, 0.9);
  EXPECT_DOUBLE_EQ(spread.high, 1.15);
}

// A ring's and those of two steps are the least; sending all to all of 4 GPUs is 12 buffers, not 6.
TEST(SentOverLeast, IsOneOfWhatSendsAsMuchAsARing) {
  const auto sent_by = [](const std::string& xml) {
    return sent_over_least(base::value_of(spec::parse_msccl(xml, "a.xml")));
  };
  for (const char* task : {"allreduce", "allgather", "reducescatter"})
    EXPECT_DOUBLE_EQ(sent_by(spec::ring_file(task, {spec::in_order(4)})), 1) << task;
  EXPECT_DOUBLE_EQ(sent_by(spec::all_pairs_file(8)), 1);
  EXPECT_DOUBLE_EQ(sent_by(spec::exchange_file(8)), 1);
  spec::Algorithm all_to_all;
  all_to_all.chunks = 1;
  spec::AlgorithmStep send;
  send.kind = spec::StepKind::kSend;
  spec::GpuProgram gpu;
  gpu.blocks.assign(3, {.send_to = 0, .steps = {send}});
  all_to_all.gpus.assign(4, gpu);
  EXPECT_DOUBLE_EQ(sent_over_least(all_to_all), 2);
}

}  // namespace
}  // namespace ergometer::engine
