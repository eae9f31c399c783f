#include "serve/job_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "run/file/prediction.h"
#include "run/run.h"
#include "serve/test_pushes.h"

namespace ergometer::serve {
namespace {

class JobRunTest : public testing::Test {
 protected:
  JobRunTest() { std::remove(path_.c_str()); }
  ~JobRunTest() override { std::remove(path_.c_str()); }

  /// Adds a batch with one reading of power.
  static bool add(JobRun& run, int64_t sequence, double power_w) {
    Push push = test_push("node1", sequence);
    push.batches[0].readings.push_back({0, run::Metric::kPower, {sequence * 1000, power_w}});
    return run.add(push, push.batches[0], {run.device(push.devices[0])}, sequence);
  }

  std::string path_ = testing::TempDir() + std::to_string(getpid()) + "-job-run.run";
};

TEST_F(JobRunTest, StoresABatchOnce) {
  auto run = JobRun::open(path_, "job");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(add(*run, 1, 100));
  EXPECT_FALSE(add(*run, 1, 100));
  ASSERT_TRUE(run->commit());
  EXPECT_FALSE(add(*run, 1, 100));
  EXPECT_TRUE(add(*run, 4, 200));
  ASSERT_TRUE(run->commit());
  EXPECT_EQ(run->recorders().at("of-node1").sequence, 4);
  EXPECT_EQ(run->recorders().at("of-node1").lost, 2);
  const auto log = run::read_device_log(path_);
  ASSERT_TRUE(log);
  ASSERT_EQ(log->devices.size(), 1u);
  ASSERT_EQ(log->devices[0].series[0].samples.size(), 2u);
  EXPECT_EQ(log->devices[0].series[0].samples[1].value, 200);
}

TEST_F(JobRunTest, GoesOnAfterARestart) {
  {
    auto run = JobRun::open(path_, "job");
    add(*run, 1, 100);
    ASSERT_TRUE(run->commit());
    add(*run, 2, 200);  // never committed, hence never acknowledged
  }
  auto run = JobRun::open(path_, "job");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->recorders().at("of-node1").sequence, 1);
  EXPECT_EQ(run->devices().size(), 1u);
  EXPECT_TRUE(add(*run, 2, 200));
  run->add(HistoryRow{5, 700, 60, 1, 1});
  ASSERT_TRUE(run->commit());
  EXPECT_EQ(run->history(10).at(0).power_w, 700);
  EXPECT_EQ(run::read_device_log(path_)->devices[0].series[0].samples.size(), 2u);
}

/// InfiniBand's and Ethernet's sources both number their ports from 0; GPUs and packages have one
/// number in every source.
TEST_F(JobRunTest, PortsAreToldApartByName) {
  run::Device infiniband, ethernet, package, same_package;
  infiniband.kind = ethernet.kind = run::DeviceKind::kPort;
  package.kind = same_package.kind = run::DeviceKind::kCpu;
  infiniband.index = ethernet.index = package.index = same_package.index = 0;
  infiniband.name = "mlx5_0/1";
  ethernet.name = "eno2";
  package.name = "package 0";
  same_package.name = "coretemp";
  for (int restarts = 0; restarts < 2; ++restarts) {
    auto run = JobRun::open(path_, "job");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->device(infiniband), 0U);
    EXPECT_EQ(run->device(ethernet), 1U);
    EXPECT_EQ(run->device(package), 2U);
    EXPECT_EQ(run->device(same_package), 2U);
    ASSERT_TRUE(run->commit());
  }
}

/// A log a node, also after the server began anew.
TEST_F(JobRunTest, KeepsStepsByNode) {
  for (int64_t i = 1; i <= 2; ++i) {
    auto run = JobRun::open(path_, "job");
    ASSERT_TRUE(run) << run.error().message;
    for (const char* host : {"node1", "node2"}) {
      Push push = test_push(host, i);
      push.batches[0].steps.push_back({i, 1.5, i * 100, 0});
      EXPECT_TRUE(run->add(push, push.batches[0], {run->device(push.devices[0])}, 1));
    }
    ASSERT_TRUE(run->commit());
  }
  const auto log = run::read_device_log(path_);
  ASSERT_EQ(log->training.size(), 2u);
  EXPECT_EQ(log->training[1].job, "node2");
  ASSERT_EQ(log->training[1].steps.size(), 2u);
  EXPECT_EQ(log->training[1].steps[1].end_ns, 200);
}

TEST_F(JobRunTest, KeepsAlertsAndThePrediction) {
  {
    auto run = JobRun::open(path_, "job");
    ASSERT_TRUE(run) << run.error().message;
    run->add(AlertRow{"hot", "critical", "node1 gpu 0", "is hot", 90, 1, 0, 0});
    run->add(AlertRow{"hot", "critical", "node1 gpu 0", "is hot", 91, 1, 3, 0});
    run->add(AlertRow{"cold", "warning", "node1 gpu 0", "is cold", 9, 1, 3, 5});
    run->set_prediction("{}");
    EXPECT_TRUE(run->waits());
    ASSERT_TRUE(run->commit());
    EXPECT_FALSE(run->waits());
  }
  const auto run = JobRun::open(path_, "job");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->prediction(), "{}");
  const auto open = run->open_alerts();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].rule, "hot");
  EXPECT_EQ(open[0].severity, "critical");
  EXPECT_EQ(open[0].firing_ns, 3);
  EXPECT_EQ(run::read_fact(path_, run::kPredictionFact), "{}");
}

/// Readings of one are none of the other's, also after the server began anew.
TEST_F(JobRunTest, ABoardThatWasExchangedIsAnother) {
  run::Device gpu = test_push("node1", 1).devices[0];
  const auto number = [&](JobRun& run, const char* uuid) {
    gpu.uuid = uuid;
    return run.device(gpu);
  };
  {
    auto run = JobRun::open(path_, "job");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(number(*run, "GPU-a"), 0u);
    EXPECT_EQ(number(*run, ""), 0u);  // whatever lies there
    EXPECT_EQ(number(*run, "GPU-b"), 1u);
    ASSERT_TRUE(add(*run, 1, 100));  // without a UUID
    ASSERT_TRUE(run->commit());
  }
  auto run = JobRun::open(path_, "job");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(number(*run, ""), 1u);
  EXPECT_EQ(number(*run, "GPU-a"), 0u);
  EXPECT_EQ(number(*run, "GPU-b"), 1u);
  EXPECT_EQ(run->devices().size(), 2u);
  const auto log = run::read_device_log(path_);
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->devices[0].series.empty());
  EXPECT_EQ(log->devices[1].series.size(), 1u);
}

TEST_F(JobRunTest, LeavesOtherRunsAlone) {
  run::Run other;
  other.source = "recorded";
  ASSERT_TRUE(run::write_run(other, path_));
  const auto size = std::filesystem::file_size(path_);
  EXPECT_FALSE(JobRun::open(path_, "job"));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(JobRunTest, OneWriterAtATime) {
  auto run = JobRun::open(path_, "job");
  ASSERT_TRUE(run);
  EXPECT_FALSE(JobRun::open(path_, "job"));
}

}  // namespace
}  // namespace ergometer::serve
