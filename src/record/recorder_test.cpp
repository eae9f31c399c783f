#include "record/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>

#include "base/test_support.h"
#include "run/run.h"

namespace ergometer::record {
namespace {

namespace fs = std::filesystem;
using run::Metric;

/// What a scripted source does at its n-th read.
using Script = std::function<void(int64_t n, Batch& batch)>;

class TestSource : public Source {
 public:
  TestSource(size_t gpus, Script script, bool is_slow = false)
      : script_(std::move(script)), slow_(is_slow) {
    for (size_t i = 0; i < gpus; ++i) {
      run::Device device;
      device.index = static_cast<int64_t>(i);
      devices_.push_back(device);
    }
  }
  std::string_view name() const override { return slow_ ? "slow" : "test"; }
  std::span<const run::Device> devices() const override { return devices_; }
  std::span<const Metric> metrics() const override { return {}; }
  bool slow() const override { return slow_; }
  void read(Batch& batch) override { script_(reads_++, batch); }
  std::vector<CallCost> costs() const override { return {{"read", reads_, 0, 0, 0}}; }
  bool finished() const override { return last_ > 0 && reads_ >= last_; }
  void finish_after(int64_t reads) { last_ = reads; }

 private:
  std::vector<run::Device> devices_;
  Script script_;
  bool slow_;
  std::atomic<int64_t> reads_ = 0;
  int64_t last_ = 0;
};

class RecorderTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  void add(size_t gpus, Script script, bool slow = false) {
    sources_.push_back(std::make_unique<TestSource>(gpus, std::move(script), slow));
  }
  Recorder make(RecorderOptions options) {
    options.host = "node1";
    auto recording = run::Recording::create(path_, {{"host", "node1"}});
    EXPECT_TRUE(recording);
    return Recorder(std::move(sources_), *std::move(recording), snapshot_, std::move(options),
                    [this](const std::string& text) { said_.push_back(text); });
  }
  RecorderReport record(RecorderOptions options, double seconds) {
    Recorder recorder = make(std::move(options));
    recorder.start();
    // Thrice as long as it should take: a busy machine, and a sanitized program, are slow.
    std::this_thread::sleep_for(std::chrono::duration<double>(3 * seconds));
    return recorder.stop();
  }
  run::Run read() const { return base::value_of(run::read_run(path_)); }

  std::string path_ =
      (fs::temp_directory_path() / ("ergometer-recorder-" + std::to_string(getpid()) + ".run"))
          .string();
  std::vector<std::unique_ptr<Source>> sources_;
  Snapshot snapshot_;
  std::vector<std::string> said_;
};

TEST_F(RecorderTest, KeepsWhatSourcesRead) {
  add(2, [](int64_t n, Batch& batch) {
    for (size_t gpu = 0; gpu < 2; ++gpu) {
      batch.add(gpu, Metric::kPower, 1000 * (n + 1), 100.0 * static_cast<double>(gpu + 1));
      batch.add(gpu, Metric::kSmClock, 1000 * (n + 1), 1500);
    }
  });
  const RecorderReport report = record({.hz = 100, .host = {}, .gpus = {}}, 0.1);
  const run::Run run = read();
  ASSERT_EQ(run.log.devices.size(), 2u);
  EXPECT_EQ(run.log.devices[1].host, "node1");
  EXPECT_EQ(run.log.devices[1].index, 1);
  const auto* power = run.log.devices[1].find(Metric::kPower);
  ASSERT_NE(power, nullptr);
  // One round at the start, one at the end, about ten between.
  EXPECT_GE(power->samples.size(), 3u);
  EXPECT_EQ(power->samples.size(), static_cast<size_t>(report.ticks + 1));
  EXPECT_EQ(power->samples[0].time_ns, 1000);
  EXPECT_EQ(power->samples[0].value, 200);
  EXPECT_EQ(report.readings, 4 * (report.ticks + 1));
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(run.facts.at("ticks"), std::to_string(report.ticks));
  ASSERT_EQ(report.costs.size(), 1u);
  EXPECT_EQ(report.costs[0].calls[0].count, report.ticks + 1);
  ASSERT_EQ(run.clocks.size(), 1u);
  EXPECT_GE(run.clocks[0].readings.size(), 2u);
  const auto latest = snapshot_.look();
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_EQ(latest[1].of(Metric::kPower)->value, 200);
}

TEST_F(RecorderTest, AnUpdateThatIsReadAgainIsStoredOnce) {
  add(1, [](int64_t n, Batch& batch) { batch.add(0, Metric::kPower, 1000 * (1 + n / 3), 7); });
  const RecorderReport report = record({.hz = 200, .host = {}, .gpus = {}}, 0.1);
  const auto samples = read().log.devices[0].find(Metric::kPower)->samples;
  EXPECT_EQ(static_cast<int64_t>(samples.size()), report.readings);
  EXPECT_EQ(report.readings + report.repeated, report.ticks + 1);
  EXPECT_GT(report.repeated, 0);
  for (size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(samples[i].time_ns, static_cast<int64_t>(1000 * (i + 1)));
}

TEST_F(RecorderTest, BufferedReadingsKeepTheirOwnTimes) {
  add(1, [](int64_t n, Batch& batch) {
    for (int64_t i = 0; i < 5; ++i) batch.add(0, Metric::kPower, 1000 * (5 * n + i), 7);
  });
  const RecorderReport report = record({.hz = 50, .host = {}, .gpus = {}}, 0.05);
  EXPECT_EQ(read().log.devices[0].find(Metric::kPower)->samples.size(),
            static_cast<size_t>(5 * (report.ticks + 1)));
}

TEST_F(RecorderTest, RoundsThatTakeTooLongAreCounted) {
  add(1, [](int64_t n, Batch& batch) {
    if (n == 1) std::this_thread::sleep_for(std::chrono::milliseconds(120));
    batch.add(0, Metric::kPower, n + 1, 7);
  });
  const RecorderReport report = record({.hz = 100, .host = {}, .gpus = {}}, 0.2);
  EXPECT_GE(report.missed, 10);
}

TEST_F(RecorderTest, ASlowSourceKeepsNobodyWaiting) {
  add(1, [](int64_t n, Batch& batch) { batch.add(0, Metric::kPower, n + 1, 7); });
  add(
      1,
      [](int64_t n, Batch& batch) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        batch.add(0, Metric::kInletTemperature, n + 1, 25);
      },
      true);
  const RecorderReport report = record({.hz = 100, .host = {}, .gpus = {}}, 0.2);
  EXPECT_GE(report.ticks, 10);
  const run::Run run = read();
  ASSERT_EQ(run.log.devices.size(), 2u);
  EXPECT_EQ(run.log.devices[1].find(Metric::kInletTemperature)->samples.size(), 1u);
}

TEST_F(RecorderTest, OnlyTheGpusAskedForAreKept) {
  add(4, [](int64_t n, Batch& batch) {
    for (size_t gpu = 0; gpu < 4; ++gpu)
      batch.add(gpu, Metric::kPower, n + 1, static_cast<double>(gpu));
  });
  (void)record({.hz = 50, .host = {}, .gpus = {1, 3}}, 0.02);
  const run::Run run = read();
  ASSERT_EQ(run.log.devices.size(), 2u);
  EXPECT_EQ(run.log.devices[1].index, 3);
  EXPECT_EQ(run.log.devices[1].find(Metric::kPower)->samples[0].value, 3);
}

TEST_F(RecorderTest, ARoundWithoutMemoryIsLeftOutAndSaid) {
  add(1, [](int64_t n, Batch& batch) {
    if (n == 2) throw std::bad_alloc();
    batch.add(0, Metric::kPower, 1000 * (n + 1), 100);
  });
  const RecorderReport report = record({.hz = 100, .host = {}, .gpus = {}}, 0.1);
  EXPECT_EQ(report.problem, "out of memory");
  EXPECT_EQ(said_, std::vector<std::string>{"readings are lost: out of memory"});
  const run::Run run = read();
  EXPECT_EQ(run.log.devices.at(0).find(Metric::kPower)->samples.size(),
            static_cast<size_t>(report.ticks));
}

TEST_F(RecorderTest, ADeviceThatIsGoneIsSaidAndTheOthersGoOn) {
  add(2, [](int64_t n, Batch& batch) {
    batch.add(0, Metric::kPower, n + 1, 7);
    if (n < 3) batch.add(1, Metric::kPower, n + 1, 7);
    if (n == 3) batch.notes.push_back("GPU 1 no longer answers");
  });
  const RecorderReport report = record({.hz = 100, .host = {}, .gpus = {}}, 0.1);
  EXPECT_EQ(report.notes, std::vector<std::string>{"GPU 1 no longer answers"});
  EXPECT_EQ(said_, report.notes);
  const run::Run run = read();
  EXPECT_EQ(run.log.notes, report.notes);
  EXPECT_EQ(run.log.devices[1].find(Metric::kPower)->samples.size(), 3u);
  EXPECT_GT(run.log.devices[0].find(Metric::kPower)->samples.size(), 3u);
}

TEST_F(RecorderTest, SaysWhenEverySourceCameToItsEnd) {
  auto source = std::make_unique<TestSource>(
      1, [](int64_t n, Batch& batch) { batch.add(0, Metric::kPower, n + 1, 7); });
  source->finish_after(3);
  sources_.push_back(std::move(source));
  Recorder recorder = make({.hz = 1000, .host = {}, .gpus = {}});
  EXPECT_FALSE(recorder.finished());
  recorder.start();
  for (int i = 0; i < 1000 && !recorder.finished(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(recorder.finished());
}

TEST_F(RecorderTest, AFileThatCannotBeWrittenIsSaidOnceAndAgainWhenItCan) {
  add(1, [](int64_t n, Batch& batch) { batch.add(0, Metric::kPower, n + 1, 7); });
  Recorder recorder = make({.hz = 100, .host = {}, .gpus = {}});
  recorder.start();
  // A folder where the file was: for a while nothing can be written.
  fs::remove(path_);
  fs::create_directory(path_);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  fs::remove(path_);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const RecorderReport report = recorder.stop();
  ASSERT_EQ(report.notes.size(), 2u);
  // Which of the two it meets, no file or a folder, depends on when it writes; it names the file.
  EXPECT_NE(report.notes[0].find(path_), std::string::npos) << report.notes[0];
  EXPECT_EQ(report.notes[1], "the file is written again");
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(read().log.devices[0].find(Metric::kPower)->samples.size(),
            static_cast<size_t>(report.ticks + 1));
}

}  // namespace
}  // namespace ergometer::record
