#include "run/file/growing_run.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/test_support.h"
#include "run/file/recording.h"
#include "run/file/sqlite.h"

namespace ergometer::run {
namespace {

TEST(GrowingRun, EveryReadingOnceInItsOrder) {
  const std::string path = testing::TempDir() + "growing.run";
  std::remove(path.c_str());
  {
    auto recording = Recording::create(path, {});
    ASSERT_TRUE(recording.has_value());
    Device gpu;
    gpu.host = "a";
    const size_t number = recording->add_device(gpu);
    recording->add(number, Metric::kPower, {10, 500});
    ASSERT_TRUE(recording->commit());

    auto run = GrowingRun::open(path);
    ASSERT_TRUE(run.has_value());
    EXPECT_TRUE(run->is_being_written());
    auto growth = run->look();
    ASSERT_TRUE(growth.has_value());
    ASSERT_EQ(growth->cells.size(), 1U);
    EXPECT_EQ(growth->cells[0].time_ns, 10);
    EXPECT_EQ(growth->cells[0].value, 500);
    EXPECT_FALSE(growth->closed);
    EXPECT_EQ(run->devices().at(0).host, "a");
    EXPECT_TRUE(run->look()->cells.empty());

    recording->add(number, Metric::kPower, {20, 510});
    recording->add(number, Metric::kSmClock, {20, 1700});
    ASSERT_TRUE(recording->commit());
    growth = run->look();
    ASSERT_EQ(growth->cells.size(), 2U);
    EXPECT_EQ(growth->cells[1].metric, Metric::kSmClock);

    recording->set({"ended_ns", "30"});
    ASSERT_TRUE(recording->finish());
    EXPECT_TRUE(run->look()->closed);
    std::remove(path.c_str());
    EXPECT_FALSE(run->look().has_value());
  }
}

TEST(GrowingRun, AnotherRecordingInItsPlace) {
  const std::string path = testing::TempDir() + "begun_anew.run";
  const auto record = [&](const char* started_ns, int readings) {
    std::remove(path.c_str());
    auto recording = Recording::create(path, {{"started_ns", started_ns}});
    ASSERT_TRUE(recording.has_value());
    const size_t number = recording->add_device({});
    for (int i = 1; i <= readings; ++i) recording->add(number, Metric::kPower, {i * 10, 500});
    ASSERT_TRUE(recording->finish());
  };
  record("1", 2);
  auto run = GrowingRun::open(path);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->look()->cells.size(), 2U);
  record("2", 5);  // longer already
  const auto growth = run->look();
  ASSERT_FALSE(growth.has_value());
  EXPECT_NE(growth.error().message.find("was begun anew"), std::string::npos);
}

// Who made them says not when they began; or says the same of both.
TEST(GrowingRun, ALongerOneWithTheSameStartInItsPlace) {
  const std::string path = testing::TempDir() + "same_start.run";
  const auto record = [&](int readings, double watts) {
    std::remove(path.c_str());
    auto recording = Recording::create(path, {{"started_ns", "1"}});
    ASSERT_TRUE(recording.has_value());
    const size_t number = recording->add_device({});
    for (int i = 1; i <= readings; ++i) recording->add(number, Metric::kPower, {i * 10, watts});
    ASSERT_TRUE(recording->finish());
  };
  record(2, 500);
  auto run = GrowingRun::open(path);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->look()->cells.size(), 2U);
  record(4, 500);  // another file that holds what was read goes on with it
  const auto grown = run->look();
  ASSERT_TRUE(grown.has_value());
  EXPECT_EQ(grown->cells.size(), 2U);
  record(7, 501);
  const auto other = run->look();
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("was begun anew"), std::string::npos);
}

/// A finished recording of one device with two readings, changed by `sql`.
void record_two(const std::string& path, const char* sql) {
  std::remove(path.c_str());
  auto recording = Recording::create(path, {});
  ASSERT_TRUE(recording.has_value());
  const size_t number = recording->add_device({});
  recording->add(number, Metric::kPower, {10, 500});
  recording->add(number, Metric::kPower, {20, 510});
  ASSERT_TRUE(recording->finish());
  Database db(path, Database::Access::kAppend);
  db.execute(sql);
  ASSERT_TRUE(db.ok()) << db.problem();
}

TEST(GrowingRun, WhatCannotBeReadIsReadLater) {
  const std::string path = testing::TempDir() + "read_later.run";
  record_two(path, "UPDATE readings SET power = 1e300 WHERE rowid = 2");
  auto run = GrowingRun::open(path);
  ASSERT_TRUE(run.has_value());
  auto growth = run->look();
  ASSERT_TRUE(growth.has_value());
  EXPECT_TRUE(growth->cells.empty());
  Database(path, Database::Access::kAppend)
      .execute("UPDATE readings SET power = 510 WHERE rowid = 2");
  growth = run->look();
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->cells.size(), 2U);
}

TEST(GrowingRun, AMadeUpNumberOfRowsIsReadOnce) {
  const std::string path = testing::TempDir() + "made_up_rows.run";
  record_two(
      path,
      "DROP TABLE readings;"
      "CREATE TABLE readings (time_ns INTEGER, device INTEGER, power REAL, rowid REAL);"
      "INSERT INTO readings VALUES (10, 0, 500, 1.5), (20, 0, 510, 1.75), (30, 0, 520, 1e9)");
  auto run = GrowingRun::open(path);
  ASSERT_TRUE(run.has_value());
  auto growth = run->look();
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->cells.size(), 1U);
  growth = run->look();
  ASSERT_TRUE(growth.has_value());
  EXPECT_TRUE(growth->cells.empty());
  EXPECT_FALSE(growth->more) << "who follows it would look for ever";
}

TEST(GrowingRun, WhatIsNone) {
  const auto missing = GrowingRun::open(testing::TempDir() + "nowhere.run");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("found no such file"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::run
