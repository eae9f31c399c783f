#include "record/step_log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "record/clock.h"
#include "record/source.h"

namespace ergometer::record {
namespace {

std::string step(int number, double ms) {
  return " iteration " + std::to_string(number) +
         "/ 99 | elapsed time per iteration (ms): " + std::to_string(ms) + " |\n";
}

class StepLogTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::string& text, std::ios::openmode how = std::ios::app) const {
    std::ofstream(path_, std::ios::out | std::ios::binary | how) << text;
  }
  static std::vector<int64_t> read(StepLog& log) {
    std::vector<run::TrainingStep> steps;
    log.read(steps);
    std::vector<int64_t> numbers;
    for (const run::TrainingStep& step : steps) numbers.push_back(step.number);
    return numbers;
  }

  const std::string path_ = testing::TempDir() + "step_log_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".log";
};

using Numbers = std::vector<int64_t>;

TEST_F(StepLogTest, WaitsForAFileThatGrows) {
  StepLog log(path_);
  EXPECT_EQ(read(log), Numbers{});
  write("hello\n" + step(1, 100));
  EXPECT_EQ(read(log), Numbers{1});
  const std::string third = step(3, 100);
  write(step(2, 100) + third.substr(0, 20));
  EXPECT_EQ(read(log), Numbers{2});
  write(third.substr(20));
  EXPECT_EQ(read(log), Numbers{3});
  EXPECT_EQ(read(log), Numbers{});
}

TEST_F(StepLogTest, LeavesOutWhatWasThereBefore) {
  write(step(1, 100));
  StepLog log(path_);
  write(step(2, 100));
  EXPECT_EQ(read(log), Numbers{2});
}

TEST_F(StepLogTest, BeginsAnewWhereTheFileIsCutOff) {
  StepLog log(path_);
  write(step(1, 100) + step(2, 100) + "half a li");
  EXPECT_EQ(read(log), (Numbers{1, 2}));
  write(step(1, 90), std::ios::trunc);
  EXPECT_EQ(read(log), Numbers{1});
}

/// What still came into the old file is not lost.
TEST_F(StepLogTest, FollowsToTheFileThatTakesItsPlace) {
  StepLog log(path_);
  write(step(1, 100));
  EXPECT_EQ(read(log), Numbers{1});
  write(step(2, 100));
  std::filesystem::rename(path_, path_ + ".1");
  write(step(3, 100));
  EXPECT_EQ(read(log), (Numbers{2, 3}));
  std::filesystem::remove(path_ + ".1");
}

TEST_F(StepLogTest, GarbageTellsOfNothing) {
  StepLog log(path_);
  std::mt19937 random(1);
  std::string garbage(300'000, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  write(garbage + '\n' + std::string(StepLog::kMostLine + 1, ' ') + step(1, 100) + step(2, 100));
  EXPECT_EQ(read(log), Numbers{2});
}

/// Of which a recorder reads the first bytes alone, and then more than a line may hold.
TEST_F(StepLogTest, ADocumentThatIsReadFromItsFirstBytesOn) {
  StepLog log(path_);
  write(R"({"resourceSpan)");
  EXPECT_EQ(read(log), Numbers{});
  write(
      R"(s":[{"scopeSpans":[{"spans":[{"name":"training_single_iteration",)"
      R"("startTimeUnixNano":"1000000000","endTimeUnixNano":"1250000000","attributes":[)"
      R"({"key":"iteration","value":{"stringValue":"7"}},{"key":"padding","value":{"stringValue":")" +
      std::string(2 * StepLog::kMostLine, 'x') + "\"}}]}]}]}]}\n");
  EXPECT_EQ(read(log), Numbers{7});
}

TEST_F(StepLogTest, ReadsNothingButFiles) {
  StepLog log("/dev/zero");
  EXPECT_EQ(read(log), Numbers{});
}

TEST_F(StepLogTest, AStepEndsWhenItsLineComes) {
  StepLog log(path_);
  const int64_t before = now_ns();
  write(step(7, 1250));
  std::vector<run::TrainingStep> steps;
  log.read(steps);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_DOUBLE_EQ(steps[0].seconds, 1.25);
  EXPECT_GE(steps[0].end_ns, before);
  EXPECT_LE(steps[0].end_ns, now_ns());
}

/// A stamp in the time of a zone, read 0.3 s later: two hours ahead, and 5:45 behind.
TEST(StepEnd, StampsOfAnyZone) {
  const int64_t now = 1'800'000'000 * kNsPerSecond, end = now - kNsPerSecond * 3 / 10;
  EXPECT_EQ(step_end(end, now), end);
  EXPECT_EQ(step_end(end + 7200 * kNsPerSecond, now), end);
  EXPECT_EQ(step_end(end - 20700 * kNsPerSecond, now), end);
  EXPECT_EQ(step_end(0, now), now);
  EXPECT_EQ(step_end(end - 400 * kNsPerSecond, now), now)
      << "what is minutes old is no stamp of now";
  EXPECT_EQ(step_end(INT64_MAX, now), now);
}

}  // namespace
}  // namespace ergometer::record
