#include "run/file/recording.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {
namespace {

namespace fs = std::filesystem;

class RecordingFile : public testing::Test {
 protected:
  Recording create() const {
    auto recording = Recording::create(path_, {{"host", "node1"}, {"command", "true"}});
    EXPECT_TRUE(recording) << recording.error().message;
    Device gpu;
    gpu.index = 2;
    gpu.host = "node1";
    EXPECT_EQ(recording->add_device(gpu), 0u);
    return *std::move(recording);
  }
  static void add(Recording& recording, int from, int to) {
    for (int i = from; i < to; ++i) {
      recording.add(0, Metric::kPower, {1000 * i, 100.0 + i});
      recording.add(0, Metric::kSmClock, {1000 * i, 1500});
    }
  }
  /// Samples of the GPU's power that a reader finds.
  size_t found() const {
    const auto log = read_device_log(path_);
    EXPECT_TRUE(log) << log.error().message;
    if (!log || log->devices.empty()) return 0;
    const Series* power = log->devices[0].find(Metric::kPower);
    return power == nullptr ? 0 : power->samples.size();
  }

  base::TestFolder temporary_;
  const fs::path folder_ = temporary_.root();
  const std::string path_ = temporary_.path("a.run");
};

TEST_F(RecordingFile, IsReadWhileItIsWritten) {
  Recording recording = create();
  EXPECT_EQ(found(), 0u);
  add(recording, 0, 10);
  EXPECT_EQ(found(), 0u);
  ASSERT_TRUE(recording.commit());
  EXPECT_EQ(found(), 10u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  add(recording, 10, 15);
  recording.add(ClockReading{1, 2, 3});
  recording.add(ClockProbe{"node2", 1, 2, 3, 4});
  recording.note(7, "GPU 3 no longer answers");
  recording.set({"ended", "later"});
  ASSERT_TRUE(recording.finish());
  const auto run = read_run(path_);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->source, "recorded");
  EXPECT_EQ(run->facts.at("command"), "true");
  EXPECT_EQ(run->facts.at("ended"), "later");
  ASSERT_EQ(run->log.devices.size(), 1u);
  EXPECT_EQ(run->log.devices[0].index, 2);
  ASSERT_EQ(run->log.devices[0].series.size(), 2u);
  EXPECT_EQ(run->log.devices[0].series[0].samples[14].value, 114);
  EXPECT_EQ(run->log.notes, std::vector<std::string>{"GPU 3 no longer answers"});
  ASSERT_EQ(run->clocks.size(), 1u);
  EXPECT_EQ(run->clocks[0].host, "node1");
  EXPECT_EQ(run->clocks[0].readings[0].monotonic_ns, 2);
  EXPECT_EQ(run->clocks[0].probes[0].peer, "node2");
  Database db(path_, Database::Access::kRead);
  EXPECT_EQ(db.number("SELECT count(*) FROM readings"), 15);
}

TEST_F(RecordingFile, LateReadingsAreReadInOrderOfTime) {
  Recording recording = create();
  add(recording, 5, 10);
  ASSERT_TRUE(recording.commit());
  add(recording, 0, 5);
  ASSERT_TRUE(recording.finish());
  const auto log = read_device_log(path_);
  const auto& samples = log->devices[0].find(Metric::kPower)->samples;
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(samples[i].time_ns, static_cast<int64_t>(1000 * i));
}

TEST_F(RecordingFile, WhatNoSensorReadsIsDroppedAndCounted) {
  Recording recording = create();
  recording.add(0, Metric::kGpuTemperature, {1, 4000});
  recording.add(0, Metric::kGpuTemperature, {2, 40});
  recording.add(0, Metric::kPower, {2, 0.0 / 0.0});
  ASSERT_TRUE(recording.finish());
  const auto log = read_device_log(path_);
  EXPECT_EQ(log->devices[0].find(Metric::kGpuTemperature)->samples.size(), 1u);
  ASSERT_EQ(log->dropped.size(), 2u);
  EXPECT_EQ(log->dropped[0].reason, "gpu_temperature: outside what a sensor reads (-100 to 300 C)");
  EXPECT_EQ(log->dropped[0].count, 1);
}

TEST_F(RecordingFile, RefusesWhatIsNoRun) {
  std::ofstream(path_) << "model: llama3-70b\n";
  const auto recording = Recording::create(path_, {});
  ASSERT_FALSE(recording);
  EXPECT_NE(recording.error().message.find("exists and is not a Run"), std::string::npos);
  EXPECT_EQ(fs::file_size(path_), 18u);
}

TEST_F(RecordingFile, AFormerRecordingsJournalIsNotTakenForItsOwn) {
  std::ofstream(path_ + "-journal") << "left by a recording that was killed";
  Recording recording = create();
  add(recording, 0, 3);
  ASSERT_TRUE(recording.finish());
  EXPECT_EQ(found(), 3u);
}

/// Leaves a file as a writer does that is killed in the middle of a commit: pages of the
/// transaction are written, the journal lies beside.
void kill_in_a_commit(const std::string& path) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path.c_str(), &db);
    const char* sql =
        "PRAGMA cache_size = 2; BEGIN; UPDATE readings SET power = 1;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
        "INSERT INTO readings (time_ns, device, power) SELECT i, 0, 1 FROM n";
    sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(fs::exists(path + "-journal"));
}

TEST_F(RecordingFile, OpensAfterAKillInTheMiddleOfACommit) {
  Recording recording = create();
  add(recording, 0, 500);
  ASSERT_TRUE(recording.finish());
  kill_in_a_commit(path_);
  EXPECT_EQ(found(), 500u);
  EXPECT_FALSE(fs::exists(path_ + "-journal"));
}

TEST_F(RecordingFile, OpensAfterAKillInAFolderThatMustNotBeWritten) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Recording recording = create();
  add(recording, 0, 500);
  ASSERT_TRUE(recording.finish());
  kill_in_a_commit(path_);
  fs::permissions(path_ + "-journal", fs::perms(0444));
  fs::permissions(path_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(seteuid(kNobody), 0);
  EXPECT_EQ(found(), 500u);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(fs::exists(path_ + "-journal"));
}

TEST_F(RecordingFile, AFullDiskLosesNothingThatFitsAfterwards) {
  Recording recording = create();
  add(recording, 0, 10);
  ASSERT_TRUE(recording.commit());
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{fs::file_size(path_), old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  add(recording, 10, 5000);
  const auto failed = recording.commit();
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, former);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, base::ErrorKind::kMissing);
  EXPECT_NE(failed.error().message.find("9980 readings wait in memory"), std::string::npos)
      << failed.error().message;
  EXPECT_EQ(found(), 10u);
  ASSERT_TRUE(recording.commit());
  EXPECT_EQ(found(), 5000u);
}

TEST_F(RecordingFile, AFileThatIsRemovedIsWrittenAnew) {
  Recording recording = create();
  add(recording, 0, 10);
  ASSERT_TRUE(recording.commit());
  fs::remove(path_);
  add(recording, 10, 20);
  ASSERT_TRUE(recording.commit());
  EXPECT_EQ(found(), 20u);
  fs::rename(path_, path_ + ".moved");
  ASSERT_TRUE(recording.finish());
  EXPECT_EQ(found(), 20u);
}

TEST_F(RecordingFile, AFolderThatIsRemovedIsWaitedFor) {
  Recording recording = create();
  add(recording, 0, 10);
  ASSERT_TRUE(recording.commit());
  fs::remove_all(folder_);
  add(recording, 10, 20);
  const auto failed = recording.commit();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("it was removed"), std::string::npos);
  fs::create_directories(folder_);
  ASSERT_TRUE(recording.finish());
  EXPECT_EQ(found(), 20u);
}

TEST_F(RecordingFile, AnotherFileInItsPlaceIsLeftAlone) {
  Recording recording = create();
  fs::remove(path_);
  std::ofstream(path_) << "mine";
  add(recording, 0, 10);
  const auto failed = recording.commit();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("another file stands in its place"), std::string::npos);
  EXPECT_EQ(fs::file_size(path_), 4u);
}

TEST_F(RecordingFile, ALongBacklogIsBounded) {
  Recording recording = create();
  constexpr int kMost = (64 << 20) / 32;
  constexpr int kMetrics = static_cast<int>(Metric::kCount);
  for (int i = 0; i < kMost + 10 * kMetrics; ++i)
    recording.add(0, static_cast<Metric>(i % kMetrics), {i / kMetrics, 1});
  ASSERT_TRUE(recording.finish());
  const auto log = read_device_log(path_);
  ASSERT_EQ(log->dropped.size(), 1u);
  EXPECT_EQ(log->dropped[0].count, 10 * kMetrics);
  size_t kept = 0;
  for (const Series& series : log->devices[0].series) kept += series.samples.size();
  EXPECT_EQ(kept, static_cast<size_t>(kMost));
  EXPECT_EQ(log->devices[0].series[0].samples.front().time_ns, 10);
}

int no_locks(int, int command, void*) {
  if (command == F_SETLK || command == F_GETLK) {
    errno = ENOSYS;
    return -1;
  }
  return 0;
}

/// As on Lustre mounted without `-o flock`.
TEST_F(RecordingFile, WorksOnAFileSystemWithoutLocks) {
  sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
  const sqlite3_syscall_ptr real = vfs->xGetSystemCall(vfs, "fcntl");
  vfs->xSetSystemCall(vfs, "fcntl", reinterpret_cast<sqlite3_syscall_ptr>(no_locks));
  {
    Recording recording = create();
    add(recording, 0, 10);
    EXPECT_TRUE(recording.commit());
    EXPECT_EQ(found(), 10u);
    EXPECT_TRUE(recording.finish());
  }
  vfs->xSetSystemCall(vfs, "fcntl", real);
  EXPECT_EQ(found(), 10u);
}

TEST_F(RecordingFile, AnotherDoesNotReplaceItWhileItIsWritten) {
  Recording first = create();
  add(first, 0, 10);
  ASSERT_TRUE(first.commit());
  const auto second = Recording::create(path_, {{"host", "node1"}});
  ASSERT_FALSE(second);
  EXPECT_EQ(
      second.error().message,
      path_ + ": is being recorded by another process; wait for its end or choose another name");
  EXPECT_FALSE(write_run(run::Run{}, path_));
  add(first, 10, 20);
  ASSERT_TRUE(first.finish());
  EXPECT_EQ(found(), 20u);
  EXPECT_TRUE(Recording::create(path_, {{"host", "node1"}}));
}

}  // namespace
}  // namespace ergometer::run
