#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using HistorySteps = std::vector<std::pair<int64_t, double>>;

HistorySteps history_steps(const std::string& text, std::vector<std::string>* notes = nullptr) {
  const auto log = parse_telemetry(text, "history.txt", {});
  EXPECT_TRUE(log) << base::error_of(log);
  HistorySteps steps;
  if (!log) return steps;
  if (notes != nullptr) *notes = log->notes;
  for (const run::TrainingLog& training : log->training)
    for (const run::TrainingStep& step : training.steps)
      steps.emplace_back(step.number, step.seconds);
  return steps;
}

/// A row every 10 steps, 15 s apart.
TEST(WandbHistory, TimeBetweenRows) {
  const HistorySteps expected{{20, 1.5}, {30, 1.5}};
  EXPECT_EQ(history_steps(R"({"_step":0,"_timestamp":1700000000,"train/global_step":10,"loss":2}
{"_step":1,"_timestamp":1700000015.0,"train/global_step":20}
{"_step":2,"_timestamp":1700000030,"train/global_step":30,"note":"x"})"),
            expected);
  EXPECT_EQ(history_steps(R"([{"_step":10,"_runtime":5},{"_step":20,"_runtime":20},)"
                          R"({"_step":30,"_runtime":35}])"),
            expected);
  EXPECT_EQ(history_steps(",_step,loss,_timestamp\n0,10,2.5,1700000000\n1,20,,1700000015\n"
                          "2,30,nan,1700000030\n"),
            expected);
}

TEST(WandbHistory, WhatAMetricSaysGoesFirst) {
  EXPECT_EQ(history_steps("_step,_timestamp,iteration-time\n1,1700000000,0.5\n2,1700000009,0.75\n"),
            (HistorySteps{{1, 0.5}, {2, 0.75}}));
}

TEST(WandbHistory, SaysWhereNothingCanBeTold) {
  std::vector<std::string> notes;
  EXPECT_TRUE(history_steps(R"({"_step":3,"_timestamp":1700000000})", &notes).empty());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("no step time can be told"), std::string::npos);
  EXPECT_EQ(parse_telemetry("{\"_step\":3,\"_runtime\":1}\nx\n", "h", {}).error().message,
            "h:2: found no JSON object, allowed: a row of history");
}

/// 100 s less 20 s of evaluation, over 40 steps.
TEST(TrainerState, MeanOfAllSteps) {
  std::vector<std::string> notes;
  EXPECT_EQ(history_steps(R"({"best_metric":null,"log_history":[{"step":20,"loss":1},
    {"step":20,"eval_runtime":20,"eval_loss":1},
    {"step":40,"train_runtime":100,"train_steps_per_second":0.4}]})",
                          &notes),
            (HistorySteps{{40, 2.0}}));
  EXPECT_EQ(notes.size(), 1u);
  EXPECT_TRUE(history_steps(R"({"log_history":[{"step":20,"loss":1}]})", &notes).empty());
  EXPECT_EQ(notes.size(), 1u);
}

TEST(TrainerState, PrintedLines) {
  EXPECT_EQ(history_steps("{'loss': 2.1, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
                          "{'train_runtime': 421.0, 'train_samples_per_second': 3.8, "
                          "'train_steps_per_second': 0.238, 'train_loss': 1.9, 'epoch': 1.0}\n"),
            (HistorySteps{{100, 4.21}}));
}

}  // namespace
}  // namespace ergometer::importer
