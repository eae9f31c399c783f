#include "launch/collect.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "launch/folder.h"
#include "launch/test_job.h"

namespace ergometer::launch {
namespace {

namespace fs = std::filesystem;

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    PlanOptions options;
    options.repeats = 2;
    options.steps = 4;
    options.order_seed = 0;
    spec::Settings settings;
    for (const auto& [name, text] : std::map<std::string, std::string>{{"model", "llama3-8b"},
                                                                       {"cluster", "hgx-h100"},
                                                                       {"gpus", "8"},
                                                                       {"gbs", "16"},
                                                                       {"tp", "2"}})
      settings.set(spec::find_setting(name)->name, text, {"test", ""});
    auto plan = make_plan({{"a", settings}}, options);
    ASSERT_TRUE(plan) << plan.error().message;
    plan_ = *std::move(plan);
    ASSERT_TRUE(write_folder(plan_, folder_));
  }

  /// An attempt that finished with these milliseconds for each step.
  void finish(const std::string& run, const std::vector<double>& milliseconds) {
    const fs::path at = folder_ / "runs" / run / "attempts/x";
    fs::create_directories(at);
    std::ofstream log(at / "node-0.log");
    for (size_t i = 0; i < milliseconds.size(); ++i)
      log << " iteration " << i + 1 << "/ 9 | elapsed time per iteration (ms): " << milliseconds[i]
          << " |\n";
    std::ofstream(folder_ / "runs" / run / "finished") << "x\n";
  }

  base::TestFolder temporary_;
  const fs::path folder_ = temporary_.root() / "jobs";
  Plan plan_;
};

/// Second halves 100, 300, 200 ms and 400, 400 ms: medians 200 and 400, their mean 300 ms and
/// their deviation sqrt(2 x 100^2 / 1) = 141.4 ms.
TEST_F(CollectTest, MedianOfTheSecondHalfAndSpreadOfRepeats) {
  finish("001", {900, 800, 100, 300, 200});
  finish("002", {500, 500, 400, 400});
  const auto collection = collect(folder_, 1);
  ASSERT_TRUE(collection) << collection.error().message;
  ASSERT_EQ(collection->runs.size(), 2U);
  EXPECT_EQ(collection->runs[0].steps, 5);
  EXPECT_NEAR(collection->runs[0].step_s, 0.2, 1e-12);
  EXPECT_NEAR(collection->runs[1].step_s, 0.4, 1e-12);
  ASSERT_EQ(collection->jobs.size(), 1U);
  const JobResult& job = collection->jobs[0];
  EXPECT_EQ(job.measured, 2);
  EXPECT_NEAR(job.mean_step_s, 0.3, 1e-12);
  EXPECT_NEAR(job.deviation_s, 0.141421356, 1e-9);
  const double predicted = plan_.jobs[0].predicted.performance.step_time_s;
  EXPECT_NEAR(job.error_pct, 100 * (predicted / 0.3 - 1), 1e-9);
}

/// Four steps of a second end at 12:00:01 to :04 UTC, 1,738,324,800 s after 1970. The later two
/// are from :02 to :04, when the GPU draws 500, 700 and 700 W: (600 + 700) / 2 = 650 W by the
/// trapezoidal rule, x 1 s x 8 GPUs a step. What it drew while starting up is not looked at.
TEST_F(CollectTest, PowerAndHeatAreThoseOfTheSteps) {
  finish("001", {1000, 1000, 1000, 1000});
  const fs::path at = folder_ / "runs/001/attempts/x";
  std::ofstream log(at / "node-0.log");
  for (int i = 1; i <= 4; ++i)
    log << " [2025-01-31 12:00:0" << i << ".000000] iteration " << i
        << "/ 4 | elapsed time per iteration (ms): 1000.0 |\n";
  log.close();
  constexpr int64_t kNoonNs = 1'738'324'800'000'000'000, kSecondNs = 1'000'000'000;
  run::Run recorded;
  recorded.source = "recorded";
  recorded.log.source = "recorded";
  run::Device gpu;
  gpu.rank = gpu.index = 0;
  gpu.host = "n1";
  run::Series power{run::Metric::kPower, false, {}}, heat{run::Metric::kGpuTemperature, false, {}};
  const double watts[] = {100, 100, 500, 700, 700}, celsius[] = {30, 90, 60, 70, 71};
  for (int i = 0; i < 5; ++i) {
    power.samples.push_back({kNoonNs + i * kSecondNs, watts[i]});
    heat.samples.push_back({kNoonNs + i * kSecondNs, celsius[i]});
  }
  gpu.series = {power, heat};
  recorded.log.devices = {gpu};
  ASSERT_TRUE(run::write_run(recorded, at / "node-0.run"));
  const auto collection = collect(folder_, 1);
  ASSERT_TRUE(collection) << collection.error().message;
  const RunResult& result = collection->runs[0];
  EXPECT_NEAR(result.gpu_w, 650, 1e-9);
  EXPECT_NEAR(result.energy_j(), 5200, 1e-6);
  // A sensor that is not known: 5 % by itself and 5 % with all others, and what it did not see.
  EXPECT_GT(result.gpu_w_error, 1.64 * std::sqrt(2) * 0.05);
  EXPECT_NE(collection_text(*collection).find("650 W +-"), std::string::npos);
  EXPECT_NEAR(result.max_gpu_c, 71, 1e-9);
  EXPECT_NEAR(result.predicted_gpu_w, plan_.jobs[0].predicted.power.mean_w_per_gpu, 1e-9);
  EXPECT_NE(collection_text(*collection).find("GPU power"), std::string::npos);
  EXPECT_NE(collection_json(*collection).find("\"gpu_energy_j_per_step\""), std::string::npos);
}

/// Of the two steps that are there the later took 200 ms; four were asked for.
TEST_F(CollectTest, ARunThatEndedEarlyIsShownAndDoesNotCount) {
  finish("001", {100, 200});
  const auto collection = collect(folder_, 1);
  ASSERT_TRUE(collection);
  EXPECT_NEAR(collection->runs[0].step_s, 0.2, 1e-12);
  EXPECT_FALSE(collection->runs[0].measured_in_full());
  EXPECT_EQ(collection->jobs[0].measured, 0);
  EXPECT_NE(collection_text(*collection).find("2 of 4 steps"), std::string::npos);
}

/// Lines by which another kind of file is known, a byte that no text has, recordings that are none.
TEST_F(CollectTest, TheTrainingLogIsReadWhateverStandsAroundIt) {
  const std::string_view stray[] = {"time,power\n1,2\n", "{\"t\": 1}\n", {"\0\n", 2}};
  for (const std::string_view first : stray) {
    finish("001", {100, 100, 200, 200});
    const fs::path file = folder_ / "runs/001/attempts/x/node-0.log";
    std::ifstream in(file);
    const std::string steps{std::istreambuf_iterator<char>(in), {}};
    std::ofstream(file) << first << steps;
    std::ofstream(folder_ / "runs/001/attempts/x/node-0.run") << "broken";
    const auto collection = collect(folder_, 1);
    ASSERT_TRUE(collection);
    EXPECT_TRUE(collection->runs[0].measured_in_full()) << first;
    EXPECT_NEAR(collection->runs[0].step_s, 0.2, 1e-12);
  }
}

TEST_F(CollectTest, WhatDidNotFinishIsNotMeasured) {
  finish("001", {100, 100});
  fs::remove(folder_ / "runs/001/finished");
  const auto collection = collect(folder_, 1);
  ASSERT_TRUE(collection);
  EXPECT_EQ(collection->runs[0].state, RunState::kFailed);
  EXPECT_EQ(collection->runs[1].state, RunState::kNotRun);
  EXPECT_EQ(collection->jobs[0].measured, 0);
}

TEST_F(CollectTest, AFileThatNamesAnotherFolderIsNoState) {
  finish("001", {100, 100});
  std::ofstream(folder_ / "runs/001/finished") << "../../../x\n";
  const auto collection = collect(folder_, 1);
  ASSERT_TRUE(collection);
  EXPECT_FALSE(collection->runs[0].measured());
}

TEST_F(CollectTest, TheSamePlanIsTheSameFolder) {
  const auto again = write_folder(plan_, folder_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->existed);
  std::ofstream(folder_ / "settings.sh", std::ios::app) << "FRAMEWORK=/x\n";
  const auto edited = write_folder(plan_, folder_);
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->edited, std::vector<std::string>{"settings.sh"});
  std::ofstream(folder_ / "drive.sh", std::ios::app) << "# x\n";
  const auto other = write_folder(plan_, folder_);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("holds another drive.sh"), std::string::npos);
}

TEST(Collect, RefusesWhatIsNoFolderOfOurs) {
  const auto collection = collect("/nonexistent", 1);
  ASSERT_FALSE(collection);
  EXPECT_EQ(collection.error().message,
            "/nonexistent: is no folder that `ergometer launch` wrote: it has no manifest.json");
}

}  // namespace
}  // namespace ergometer::launch
