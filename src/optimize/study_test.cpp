#include <gtest/gtest.h>

#include <algorithm>

#include "optimize/optimize.h"
#include "optimize/test_jobs.h"
#include "plan/stages.h"

namespace ergometer::optimize {
namespace {

/// A row of the study's thermal-aware figure, on its H200 testbed, recomputing everything.
Values study_job(const char* model, const char* pp, const char* seq) {
  return {{"model", model},
          {"cluster", "charllm-h200"},
          {"gpus", "32"},
          {"tp", "4"},
          {"pp", pp},
          {"mbs", "1"},
          {"gbs", "32"},
          {"seq", seq},
          {"recompute", "full"},
          {"recompute_method", "uniform"},
          {"recompute_num_layers", "1"},
          {"batch_p2p_sync", "true"}};
}

const Row& row_named(const Optimized& result, const std::string& name) {
  const auto found = std::find_if(result.rows.begin(), result.rows.end(),
                                  [&](const Row& row) { return row.name == name; });
  EXPECT_NE(found, result.rows.end()) << name;
  return *found;
}

/// The answer beats the paper's split, which was played on the way.
void expect_beaten(const Values& values, const std::string& split) {
  Options options;
  options.knobs = {Knob::kLayers};
  options.judges = 4;
  const auto result = optimize(spec::test::job_of(values), options);
  ASSERT_TRUE(result) << result.error().message;
  const Row& theirs = row_named(*result, split);
  double best = 0;
  for (const Row& row : result->rows)
    if (row.taken) best = std::max(best, row.gain_pct);
  EXPECT_GT(best, theirs.gain_pct + 0.5) << split;
  EXPECT_LE(result->chosen_outcome.step_s, result->unchanged_outcome.step_s);
}

TEST(StudySplits, Llama21And19AreBeaten) {
  expect_beaten(study_job("llama3-70b", "4", "8192"), "layers 21,19,21,19");
}

TEST(StudySplits, Gpt13And11AreBeaten) {
#ifdef ERGOMETER_SANITIZED
  GTEST_SKIP() << "what the other does, of twice as many stages";
#endif
  expect_beaten(study_job("gpt3-175b", "8", "2048"), "layers 13,11,13,11,13,11,13,11");
}

}  // namespace
}  // namespace ergometer::optimize
