#include "serve/follower.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "run/file/recording.h"

namespace ergometer::serve {
namespace {

class ReadGrowth : public testing::Test {
 protected:
  ReadGrowth() { std::remove(path_.c_str()); }
  ~ReadGrowth() override { std::remove(path_.c_str()); }

  /// Puts a recording with a reading every ten nanoseconds in the place of what is there.
  void record(const run::Recording::Fact& begun, int64_t first_ns, int readings) {
    std::remove(path_.c_str());
    auto recording = run::Recording::create(path_, std::vector{begun});
    ASSERT_TRUE(recording.has_value());
    const size_t number = recording->add_device({});
    for (int i = 0; i < readings; ++i)
      recording->add(number, run::Metric::kPower, {first_ns + i * 10, 500});
    ASSERT_TRUE(recording->finish());
  }

  /// What is new behind `before`, which it moves on.
  Push read(ReadSoFar& before) {
    Push push = read_growth(path_, before);
    if (!push.batches.empty()) before = {push.recorder, push.batches.back().sequence};
    return push;
  }

  std::string path_ = testing::TempDir() + std::to_string(getpid()) + "-followed.run";
};

TEST_F(ReadGrowth, GoesOnBehindWhatWasRead) {
  ReadSoFar before;
  record({"started_ns", "16"}, 100, 2);
  const Push first = read(before);
  ASSERT_EQ(first.batches.size(), 1U);
  EXPECT_EQ(first.batches[0].sequence, 2);
  EXPECT_TRUE(first.recorder.ends_with("-followed-10")) << first.recorder;  // 16 in hexadecimal
  EXPECT_TRUE(read(before).batches.empty());
  record({"started_ns", "16"}, 100, 5);  // as the same recorder writes on
  const Push grown = read(before);
  ASSERT_EQ(grown.batches.size(), 1U);
  EXPECT_EQ(grown.batches[0].first, 3);
  EXPECT_EQ(grown.recorder, first.recorder);
}

TEST_F(ReadGrowth, ALongerRecordingInItsPlaceIsAnotherRecorders) {
  for (const char* fact : {"started_ns", "tag.note"}) {  // or its first reading says when it began
    ReadSoFar before;
    record({fact, "1"}, 100, 2);
    const std::string recorder = read(before).recorder;
    record({fact, "2"}, 1000, 5);
    const Push other = read(before);
    EXPECT_NE(other.recorder, recorder);
    ASSERT_EQ(other.batches.size(), 1U);
    EXPECT_EQ(other.batches[0].first, 1);
    EXPECT_EQ(other.batches[0].sequence, 5);
    EXPECT_EQ(other.batches[0].lost_behind(0), 0);
  }
}

}  // namespace
}  // namespace ergometer::serve
