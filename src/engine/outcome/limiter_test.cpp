#include "engine/outcome/limiter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

/// Two stages of four nodes, joined by circuits that change within the step.
run::Run run_with(const char* reconfiguration_time) {
  const std::string cluster = fmt::format(
      "{{extends: hgx-h100, fabric: {{kind: optical, collectives: ib-400g, degree: 4, "
      "link_bandwidth: 800 Gb/s, reconfigure: phase, reconfiguration_time: {}}}}}",
      reconfiguration_time);
  const spec::Job job = test::job_of({{"model", "llama3-8b"},
                                      {"cluster", cluster},
                                      {"gpus", "64"},
                                      {"tp", "8"},
                                      {"pp", "2"},
                                      {"gbs", "64"},
                                      {"seq_length", "4096"}});
  return base::value_of(simulate(job, {.kernels = false, .intervals = false}));
}

double bubble_s(const run::Run& run) {
  return run.performance.pipeline_bubble_fraction * run.performance.step_time_s;
}

// Circuits are made twice a step, for 50 s each. A first forward of some 0.2 s hides next to
// nothing of the former: both together are all of the step but the second that its work takes,
// where the former alone, as idle time, would be told as a pipeline's bubble.
TEST(Limiter, CircuitsBesideTheFirstForwardAreNoBubble) {
  const run::Run slow = run_with("50 s"), quick = run_with("1 us");
  const std::string& text = slow.limiter;
  EXPECT_TRUE(text.starts_with("the making of circuits 9")) << text;
  // What the first forward waits for its host, 39 ms, counts as waiting for circuits as well.
  EXPECT_LE(bubble_s(slow), bubble_s(quick));
  EXPECT_NEAR(bubble_s(slow), bubble_s(quick), 0.04);
}

TEST(Limiter, HiddenCircuitsLimitNothing) {
  EXPECT_EQ(run_with("1 us").limiter.find("circuits"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::engine
