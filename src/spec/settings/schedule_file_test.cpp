#include "spec/settings/schedule_file.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::spec {
namespace {

std::string error_of(const std::string& text) { return base::error_of(parse_schedule(text)); }

TEST(ScheduleFile, ReadsStagesChunksAndPlacement) {
  const auto file = parse_schedule(
      "# two stages\nschedule zb-v\nplacement v\n\n"
      "F0 F0.1 I0.1 W0.1 B0  # both ends\nF0\tF0.1 B0.1 I0 W0\n");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->chunks, 2);
  EXPECT_EQ(file->micro_batches, 1);
  EXPECT_EQ(file->name, "zb-v");
  EXPECT_TRUE(file->order.turns);
  ASSERT_EQ(file->order.stages.size(), 2u);
  EXPECT_EQ(file->order.stages[0][2], (ScheduleSlot{SlotKind::kBackwardInput, 0, 1}));
}

TEST(ScheduleFile, WritesWhatItReads) {
  const std::string text = "schedule file\nplacement loop\nF0 F1 B0 B1\nF0 B0 F1 I1 W1\n";
  const auto file = parse_schedule(text);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(schedule_text(file->order, "file"), text);
}

TEST(ScheduleFile, SaysWhereItIsNotWhole) {
  EXPECT_EQ(error_of("# nothing\n"), "holds no stage; needed: a line a stage, such as F0 F1 B0 B1");
  EXPECT_EQ(
      error_of("F0 B0\nF0 X0\n"),
      "line 2: found \"X0\"; allowed: F, B, I or W, a micro batch and a chunk behind a point, "
      "such as F0 or B12.1");
  EXPECT_EQ(error_of("F0 F1 B0 B1\nF0 B0\n"), "line 2: F1 is missing");
  EXPECT_EQ(error_of("F0 F0 B0\n"), "line 1: F0 stands twice");
  EXPECT_EQ(error_of("F0 B0 W0\n"), "line 1: W0 stands twice");
  EXPECT_EQ(error_of("F0 I0\n"), "line 1: W0 is missing");
  EXPECT_EQ(error_of("placement w\nF0 B0\n"), "line 1: placement \"w\"; allowed: v, loop");
  EXPECT_EQ(error_of("F0 B0\nplacement v\n"), "line 2: placement behind a stage");
  for (const char* text : {"F", "F-1", "F0.", "F0.x", "F1000000", "F0.-1", "f0 b0", "F0,B0"})
    EXPECT_NE(error_of(text).find("found"), std::string::npos) << text;
}

// Stage 0 wants micro batch 1 back before it has sent it on.
TEST(ScheduleFile, NamesTheFirstSlotThatWaitsForEver) {
  EXPECT_EQ(error_of("F0 B0 F1 B1\nF0 F1 B0 B1\n"), "line 1: B0 waits for ever for I0 of line 2");
  EXPECT_EQ(error_of("F0 W0 I0\n"), "line 1: W0 waits for ever for I0 of line 1");
  EXPECT_EQ(error_of("placement v\nF0.1 F0 B0.1 B0\nF0 F0.1 B0.1 B0\n"),
            "line 2: F0.1 waits for ever for F0.1 of line 3");
}

Parallelism read_back(const std::string& text) {
  const auto file = parse_schedule(text);
  EXPECT_TRUE(file.has_value());
  Parallelism parallel;
  parallel.pp = std::ssize(file->order.stages);
  parallel.vpp = file->chunks;
  take_schedule(*file, parallel);
  return parallel;
}

TEST(ScheduleFile, IsTheScheduleThatItIsCalledByOrItsOwn) {
  const std::string lines = "placement loop\nF0 F1 B0 B1\nF0 B0 F1 B1\n";
  EXPECT_EQ(read_back("schedule 1f1b\n" + lines).schedule, Schedule::kOneFOneB);
  EXPECT_EQ(read_back("schedule gpipe\n" + lines).schedule, Schedule::kFile);
  EXPECT_EQ(read_back("schedule dualpipe-v\n" + lines).schedule, Schedule::kFile);
  EXPECT_EQ(read_back(lines).schedule, Schedule::kFile);
}

}  // namespace
}  // namespace ergometer::spec
