#include "import/text/step_name.h"

#include <gtest/gtest.h>

namespace ergometer::importer {
namespace {

TEST(StepName, WordsAndWhatStandsBetween) {
  EXPECT_EQ(step_in_name("ProfilerStep#7"), 7);
  EXPECT_EQ(step_in_name("iteration 12"), 12);
  EXPECT_EQ(step_in_name("Iteration12"), 12);
  EXPECT_EQ(step_in_name("iter_3"), 3);
  EXPECT_EQ(step_in_name("STEP: 0"), 0);
  EXPECT_EQ(step_in_name("global_step=100"), 100);
  EXPECT_EQ(step_in_name("training step 5"), 5);
}

TEST(StepName, OtherNamesAreNone) {
  for (const char* name : {"", "7", "step", "step x", "step 7 forward", "optimizer step 7",
                           "stepping 3", "step   7", "step -", "step 1234567890123", "aten::mm"})
    EXPECT_EQ(step_in_name(name), std::nullopt) << name;
}

TEST(StepName, OfRangesThatOverlapTheFirstCounts) {
  run::RankTrace trace;
  trace.names = {"iteration 1", "step 1", "forward", "iteration 2"};
  trace.ranges = {{.name = 1, .start_ns = 10, .duration_ns = 80},
                  {.name = 0, .start_ns = 10, .duration_ns = 90},
                  {.name = 2, .start_ns = 20, .duration_ns = 10},
                  {.name = 3, .start_ns = 100, .duration_ns = 50}};
  const std::vector<run::StepMark> steps = steps_of_ranges(trace);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].end_ns, 100);
  EXPECT_EQ(steps[1].number, 2);
}

}  // namespace
}  // namespace ergometer::importer
