#include "record/nvml/nvml_source.h"
#include "record/test_support.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ergometer::record {
namespace {

using run::Metric;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

/// A source over the fake library under a script; its clock stands still unless the script says so.
class Nvml : public testing::Test, protected ReadSource {
 protected:
  void TearDown() override {
    unsetenv("ERGOMETER_FAKE_NVML");
    std::filesystem::remove(path_);
  }
  void script(const std::string& text) {
    std::ofstream(path_) << text;
    setenv("ERGOMETER_FAKE_NVML", path_.c_str(), 1);
  }
  Opened try_open(const std::string& text, const char* library = ERGOMETER_FAKE_NVML) {
    script(text);
    SourceOptions options;
    options.nvml_libraries = {library};
    options.metrics = wanted_;
    return nvml::open(options, paces_);
  }
  void open(const std::string& text, const char* library = ERGOMETER_FAKE_NVML) {
    auto opened = try_open(text, library);
    ASSERT_TRUE(opened) << opened.error().message;
    source_ = std::move(*opened);
  }
  /// Moves the script's clock, then reads.
  const Batch& read(int64_t later_us = 0) {
    void* const fake = dlopen(ERGOMETER_FAKE_NVML, RTLD_NOW | RTLD_NOLOAD);
    if (fake != nullptr) {
      reinterpret_cast<void (*)(long long)>(dlsym(fake, "fake_nvml_advance_us"))(later_us);
      dlclose(fake);
    }
    batch_.clear();
    source_->read(batch_);
    return batch_;
  }

  std::string path_ = testing::TempDir() + "nvml_script_" + std::to_string(getpid());
  std::vector<Metric> wanted_;
  /// Everything at every read.
  nvml::Paces paces_{std::chrono::milliseconds(0), std::chrono::milliseconds(0),
                     std::chrono::milliseconds(0)};
};

/// An H200 at a time that stands still.
std::string h200(int64_t behind_us = 0) {
  const int64_t now_us = now_ns() / 1000 - behind_us;
  return "name NVIDIA H200\nclock_us " + std::to_string(now_us) + R"(
value architecture 9
value capability_major 9
value capability_minor 0
value 186 612345 700000   # mW
value 185 600000
value 186.2 98000
counter 83 5000000 60000  # mJ
value 82 64
counter 197 1000000 500
counter 198 2000000 700
value 138.all 1000        # KiB
value 139.all 2000
value 74 1500000000       # ns
value 76 0
value 269 2500000000
value 270 0
value 271 40000000
value temperature 61
value margin 26
value 196 0
value sm_clock 1755
value memory_clock 3201
value reasons 4
value gpu_util 97
value memory_util 41
value 190 700000
value 3 2
value 4 0
value 94 1
value 38 1
value 52 2
value 59 3
value memory_used 85899345920
)";
}

TEST_F(Nvml, SaysWhatIsMissing) {
  SourceOptions options;
  options.nvml_libraries = {"libno-nvml.so.1", "libno-nvml.so"};
  const auto none = open_nvml(options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(none.error().message,
            "this machine lacks libno-nvml.so.1, libno-nvml.so: NVIDIA's GPUs are read through "
            "their driver");
  const auto no_driver = try_open("status init 9\n");
  ASSERT_FALSE(no_driver);
  EXPECT_EQ(no_driver.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(no_driver.error().message, "NVML: start: Driver Not Loaded");
  EXPECT_EQ(try_open("gpus 0\n").error().message, "NVML finds no GPU");
  EXPECT_EQ(try_open("status handle 4\n").error().message,
            "NVML: GPU 0 does not answer: Insufficient Permissions");
}

TEST_F(Nvml, ReadsEveryMetricInItsUnit) {
  open(h200());
  ASSERT_THAT(source_->devices(), SizeIs(1));
  EXPECT_EQ(source_->devices()[0].name, "NVIDIA H200");
  EXPECT_EQ(source_->devices()[0].uuid, "GPU-00000000");
  EXPECT_EQ(source_->devices()[0].index, 0);
  EXPECT_THAT(read().notes, IsEmpty());
  const std::vector<std::pair<Metric, double>> expected = {
      {Metric::kInstantPower, 612.345},
      {Metric::kAveragePower, 600},
      {Metric::kMemoryPower, 98},
      {Metric::kEnergy, 5000},
      {Metric::kMemoryTemperature, 64},
      {Metric::kPcieSent, 1e6},
      {Metric::kPcieReceived, 2e6},
      {Metric::kNvlinkSent, 1024e3},
      {Metric::kNvlinkReceived, 2048e3},
      {Metric::kSwPowerCapTime, 1.5},
      {Metric::kSyncBoostTime, 0},
      {Metric::kSwThermalTime, 2.5},
      {Metric::kHwThermalTime, 0},
      {Metric::kHwPowerBrakeTime, 0.04},
      {Metric::kGpuTemperature, 61},
      {Metric::kTemperatureMargin, 26},
      {Metric::kSmClock, 1755},
      {Metric::kMemoryClock, 3201},
      {Metric::kEventReasons, 4},
      {Metric::kGpuUtilization, 97},
      {Metric::kMemoryUtilization, 41},
      {Metric::kPowerLimit, 700},
      {Metric::kEccCorrected, 2},
      {Metric::kEccUncorrected, 0},
      {Metric::kPcieReplays, 1},
      {Metric::kNvlinkErrors, 6},
      {Metric::kMemoryUsed, 80.0 * (1 << 30)},
  };
  for (const auto& [metric, value] : expected) {
    ASSERT_THAT(values(metric), SizeIs(1)) << run::metric_info(metric).name;
    EXPECT_DOUBLE_EQ(values(metric)[0], value) << run::metric_info(metric).name;
    EXPECT_TRUE(gives(metric)) << run::metric_info(metric).name;
  }
  EXPECT_THAT(batch_.readings, SizeIs(expected.size()));
  // No fan on this GPU; the power drawn is there as instant and average.
  EXPECT_FALSE(gives(Metric::kFan));
  EXPECT_FALSE(gives(Metric::kPower));
  EXPECT_FALSE(gives(Metric::kModulePower));
}

TEST_F(Nvml, ReadsOnlyWhatIsWanted) {
  wanted_ = {Metric::kInstantPower, Metric::kTemperatureMargin};
  open(h200());
  read();
  EXPECT_THAT(batch_.readings, SizeIs(2));
  EXPECT_THAT(source_->metrics(), ElementsAre(Metric::kInstantPower, Metric::kTemperatureMargin));
  EXPECT_EQ(calls("nvmlDeviceGetFieldValues"), 1);
  EXPECT_EQ(calls("nvmlDeviceGetMarginTemperature"), 1);
  EXPECT_EQ(calls("nvmlDeviceGetClockInfo"), 0);
}

TEST_F(Nvml, AsksForAllFastFieldsInOneCall) {
  open("gpus 8\n" + h200());
  using std::chrono::seconds;
  read();
  // Slow fields are due at every read here: two calls a GPU.
  EXPECT_EQ(calls("nvmlDeviceGetFieldValues"), 16);
  EXPECT_EQ(calls("nvmlDeviceGetUtilizationRates"), 8);
  EXPECT_EQ(calls("nvmlDeviceGetPowerUsage"), 0);
  for (const CallCost& cost : source_->costs()) {
    EXPECT_GE(cost.longest_ns * cost.count, cost.total_ns) << cost.call;
    if (cost.call != "probing") {
      EXPECT_EQ(cost.failed, 0) << cost.call;
    }
  }
}

TEST_F(Nvml, RecordsAnUpdateOnceAndWithTheDriversTime) {
  open(h200());
  read();
  const auto first = samples(Metric::kInstantPower);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].time_ns % 1000, 0);  // the script's microseconds
  read(50'000);                           // within the same update of 100 ms
  EXPECT_THAT(values(Metric::kInstantPower), IsEmpty());
  EXPECT_THAT(values(Metric::kEnergy), IsEmpty());
  EXPECT_THAT(values(Metric::kSmClock), SizeIs(1));  // a getter has no time of its own
  read(60'000);
  const auto second = samples(Metric::kInstantPower);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].value, 700);
  EXPECT_EQ(second[0].time_ns - first[0].time_ns, 100'000'000);
  EXPECT_THAT(values(Metric::kEnergy), ElementsAre(5060));
}

TEST_F(Nvml, TakesTheHostsTimeWhereTheDriverGivesNone) {
  open(h200() + "set stamp none\n");
  const int64_t before = now_ns();
  read();
  ASSERT_THAT(samples(Metric::kInstantPower), SizeIs(1));
  EXPECT_GE(samples(Metric::kInstantPower)[0].time_ns, before);
  EXPECT_LE(samples(Metric::kInstantPower)[0].time_ns, now_ns());
  EXPECT_THAT(batch_.notes, IsEmpty());
  // The number stands still, and nothing says that it is the same update.
  read();
  EXPECT_THAT(values(Metric::kInstantPower), SizeIs(1));
}

TEST_F(Nvml, ATimeOfAnotherClockIsNotedOnceAndNotRecorded) {
  open(h200() + "set stamp foreign\n");
  const int64_t before = now_ns();
  read();
  ASSERT_THAT(samples(Metric::kEnergy), SizeIs(1));
  EXPECT_GE(samples(Metric::kEnergy)[0].time_ns, before);
  EXPECT_THAT(batch_.notes, ElementsAre(HasSubstr("off this host's clock")));
  EXPECT_THAT(read(100'000).notes, IsEmpty());
  EXPECT_THAT(values(Metric::kEnergy), ElementsAre(5060));
}

TEST_F(Nvml, PowerDrawnMeansWhatTheArchitectureMakesOfIt) {
  const auto metric_of = [&](const std::string& identity) {
    open("value power 400000\n" + identity);
    read();
    std::vector<Metric> found;
    for (const Reading& reading : batch_.readings) found.push_back(reading.metric);
    return found;
  };
  const auto identity = [](int architecture, int major, int minor) {
    return "status 186 3\nvalue architecture " + std::to_string(architecture) +
           "\nvalue capability_major " + std::to_string(major) + "\nvalue capability_minor " +
           std::to_string(minor) + "\n";
  };
  wanted_ = {Metric::kPower, Metric::kInstantPower, Metric::kAveragePower};
  EXPECT_THAT(metric_of(identity(5, 7, 0)), ElementsAre(Metric::kInstantPower));    // V100
  EXPECT_THAT(metric_of(identity(7, 8, 0)), ElementsAre(Metric::kInstantPower));    // A100: GA100
  EXPECT_THAT(metric_of(identity(7, 8, 6)), ElementsAre(Metric::kAveragePower));    // A40: GA102
  EXPECT_THAT(metric_of(identity(9, 9, 0)), ElementsAre(Metric::kAveragePower));    // H100
  EXPECT_THAT(metric_of(identity(10, 10, 0)), ElementsAre(Metric::kAveragePower));  // B200
  EXPECT_THAT(metric_of("status 186 3\n"), ElementsAre(Metric::kPower));            // nobody says
}

TEST_F(Nvml, SumsUpLinksWhereTheDriverDoesNot) {
  // Three links of 18; no sum over all.
  std::string links;
  for (int link = 0; link < 3; ++link)
    links += "value 138." + std::to_string(link) + " " + std::to_string(100 + link) + "\n";
  open(links);
  read();
  EXPECT_THAT(values(Metric::kNvlinkSent), ElementsAre(1024.0 * (100 + 101 + 102)));
  EXPECT_FALSE(gives(Metric::kNvlinkReceived));
}

TEST_F(Nvml, ASumThatIsLinkZeroAloneIsNotBelieved) {
  open("value 138.all 100\nvalue 138.0 100\nvalue 138.1 101\n");
  read();
  EXPECT_THAT(values(Metric::kNvlinkSent), ElementsAre(1024.0 * 201));
}

TEST_F(Nvml, ALinkThatFailsMakesNoSum) {
  open(h200() + "status 138.all 3\nvalue 138.0 100\nvalue 138.1 101 -1\n");
  read();
  EXPECT_THAT(values(Metric::kNvlinkSent), ElementsAre(1024.0 * 201));
  read(100'000);
  EXPECT_THAT(values(Metric::kNvlinkSent), IsEmpty());
  EXPECT_THAT(values(Metric::kNvlinkReceived), SizeIs(1));
}

TEST_F(Nvml, AScopeThatTheDriverIgnoresGivesNothing) {
  // All scopes answer with the GPU's own power.
  open("value 186 500000\nvalue 186.1 500000\nvalue 186.2 500000\n");
  EXPECT_FALSE(gives(Metric::kModulePower));
  EXPECT_FALSE(gives(Metric::kMemoryPower));
  // Grace and Hopper.
  open("value 186 500000\nvalue 186.1 620000\nvalue 186.2 90000\n");
  read();
  EXPECT_THAT(values(Metric::kModulePower), ElementsAre(620));
  EXPECT_THAT(values(Metric::kMemoryPower), ElementsAre(90));
}

TEST_F(Nvml, UnwrapsCountersOf32Bits) {
  open(h200() + "set type 197 1\ncounter 197 4294967000 500\n");
  read();
  EXPECT_THAT(values(Metric::kPcieSent), ElementsAre(4294967000.0));
  read(100'000);
  EXPECT_THAT(values(Metric::kPcieSent), ElementsAre(4294967500.0));
  EXPECT_THAT(values(Metric::kPcieReceived), ElementsAre(2000700));
}

TEST_F(Nvml, ACounterThatFallsIsRecordedAsItIs) {
  open(h200() + "counter 83 5000000 -1000000\n");
  read();
  read(100'000);
  EXPECT_THAT(values(Metric::kEnergy), ElementsAre(4000));
}

TEST_F(Nvml, AllOnesAreNoReading) {
  open("value 82 4294967295\nset type 82 1\nvalue 186 -1\n");
  EXPECT_FALSE(gives(Metric::kMemoryTemperature));
  EXPECT_FALSE(gives(Metric::kInstantPower));
}

TEST_F(Nvml, MarginOfOlderGpusComesFromTheThreshold) {
  open("value threshold.3 93\nvalue temperature 71\n");
  read();
  EXPECT_THAT(values(Metric::kTemperatureMargin), ElementsAre(22));
  EXPECT_THAT(values(Metric::kGpuTemperature), ElementsAre(71));
  // A margin of T.Limit counts from its own threshold.
  open("value margin 10\nvalue 196 3\n");
  read();
  EXPECT_THAT(values(Metric::kTemperatureMargin), ElementsAre(7));
}

TEST_F(Nvml, CatchesEverySampleOfABufferOnce) {
  open(h200() + R"(
update_us 20000
value ring.5 1000 1001 1002 1003 1004 1005 1006 1007
set ring 5 100
)");
  const auto times = [&] { return samples(Metric::kSmClock); };
  read();  // what was buffered before the recording is not part of it
  EXPECT_THAT(values(Metric::kSmClock), IsEmpty());
  read(100'000);
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(1001, 1002, 1003, 1004, 1005));
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(times()[i].time_ns - times()[i - 1].time_ns, 20'000'000);
  read();
  EXPECT_THAT(values(Metric::kSmClock), IsEmpty());
  read(50'000);
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(1006, 1007));
  // The getter was never asked, the other clock has no buffer.
  EXPECT_THAT(values(Metric::kMemoryClock), ElementsAre(3201));
}

TEST_F(Nvml, ABufferWithoutNewsIsReplacedByTheGetter) {
  open(h200(3'000'000) + "value ring.5 1000\nset ring 5 100\n");
  read();
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(1755));
}

TEST_F(Nvml, ABufferOfPowerIsInstantOnlyWhereTheDrawIs) {
  const std::string ring = "update_us 20000\nvalue ring.0 300000 310000\nset ring 0 100\n";
  open(h200() + ring);
  read(20'000);
  EXPECT_THAT(values(Metric::kPower), ElementsAre(310));
  EXPECT_THAT(values(Metric::kInstantPower), SizeIs(1));  // of the field
  open(h200() + ring + "value architecture 5\nvalue capability_major 7\n");
  read(40'000);
  EXPECT_THAT(values(Metric::kInstantPower), ElementsAre(310, 300));
  EXPECT_FALSE(gives(Metric::kPower));
}

TEST_F(Nvml, AnOldDriverGivesWhatItsGettersGive) {
  open(
      h200() + "value power 250000\nvalue violation.0 3000000000\nvalue ecc.0 7\nvalue replays 2\n",
      ERGOMETER_FAKE_NVML_OLD);
  batch_.clear();
  source_->read(batch_);
  EXPECT_THAT(values(Metric::kPower), ElementsAre(250));  // no architecture: nobody says
  EXPECT_THAT(values(Metric::kSwPowerCapTime), ElementsAre(3));
  EXPECT_THAT(values(Metric::kEccCorrected), ElementsAre(7));
  EXPECT_THAT(values(Metric::kPcieReplays), ElementsAre(2));
  EXPECT_THAT(values(Metric::kEventReasons), ElementsAre(4));  // under the older name
  EXPECT_FALSE(gives(Metric::kInstantPower));
  EXPECT_FALSE(gives(Metric::kEnergy));
  EXPECT_THAT(batch_.notes, IsEmpty());
}

TEST_F(Nvml, WhatChangesSlowlyIsReadOnceASecond) {
  paces_.slow = std::chrono::hours(1);
  open(h200() + "set xid 0 79\n");
  read();
  EXPECT_THAT(values(Metric::kPowerLimit), SizeIs(1));
  const size_t all = batch_.readings.size();
  const int64_t fields = calls("nvmlDeviceGetFieldValues");
  read(100'000);
  // Limits, two of ECC, replays, NVLink errors, memory used; and the XID.
  EXPECT_EQ(batch_.readings.size(), all - 7);
  EXPECT_EQ(calls("nvmlDeviceGetFieldValues"), fields + 1);
}

TEST_F(Nvml, NoPermissionIsNotedOnceForAllGpus) {
  open("gpus 4\n" + h200() + "status 190 4\nstatus power_limit 4\nstatus memory_used 4\n");
  EXPECT_THAT(read().notes,
              ElementsAre("no permission to read power_limit, memory_used of NVIDIA GPUs"));
  EXPECT_FALSE(gives(Metric::kPowerLimit));
  EXPECT_THAT(read().notes, IsEmpty());
  EXPECT_THAT(values(Metric::kSmClock, 3), ElementsAre(1755));
}

TEST_F(Nvml, AFieldThatTakesLongIsReadOnceASecond) {
  paces_.slow = std::chrono::hours(1);
  open(h200() + "latency_us 185 3300\n");
  EXPECT_THAT(read().notes, ElementsAre("average_power of NVIDIA GPUs: read once a second, because "
                                        "NVML takes over 1 ms"));
  EXPECT_THAT(values(Metric::kAveragePower), ElementsAre(600));
  EXPECT_THAT(values(Metric::kInstantPower), SizeIs(1));
  read(100'000);  // not a second later
  EXPECT_THAT(values(Metric::kAveragePower), IsEmpty());
  EXPECT_THAT(values(Metric::kInstantPower), SizeIs(1));
}

TEST_F(Nvml, OneGpuIsLostAndComesBack) {
  wanted_ = {Metric::kSmClock};
  // Every read is one call a GPU; making the plan takes a few.
  open("gpus 3\n" + h200() + "lose 1 20 15\n");
  EXPECT_THAT(read().notes, IsEmpty());
  std::vector<std::string> notes;
  size_t without = 0;
  for (int i = 0; i < 60; ++i) {
    read();
    ASSERT_THAT(values(Metric::kSmClock, 0), SizeIs(1));
    ASSERT_THAT(values(Metric::kSmClock, 2), SizeIs(1));
    without += values(Metric::kSmClock, 1).empty();
    notes.insert(notes.end(), batch_.notes.begin(), batch_.notes.end());
  }
  EXPECT_THAT(notes, ElementsAre("GPU 1 (00000000:1A:00.0) no longer answers: GPU is lost",
                                 "GPU 1 (00000000:1A:00.0) answers again"));
  EXPECT_GT(without, 2u);
  EXPECT_LT(without, 20u);
  EXPECT_THAT(values(Metric::kSmClock, 1), SizeIs(1));
}

TEST_F(Nvml, AGpuThatIsLostFromTheStartIsListedAndNoted) {
  open("gpus 2\n" + h200() + "lose 0 0\n");
  EXPECT_THAT(source_->devices(), SizeIs(2));
  EXPECT_THAT(read().notes, ElementsAre("GPU 0 (00000000:19:00.0) does not answer"));
  EXPECT_THAT(values(Metric::kSmClock, 1), SizeIs(1));
  EXPECT_THAT(read().notes, IsEmpty());
}

TEST_F(Nvml, WhenAllAreLostTheLibraryIsStartedAgain) {
  open(h200() + "lose 0 0\n");
  script(h200() + "value sm_clock 345\n");  // what the library reads when it starts
  EXPECT_THAT(read().notes, ElementsAre(HasSubstr("does not answer"), HasSubstr("answers again")));
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(345));
}

TEST_F(Nvml, ReportsXidsOfTheirGpu) {
  open("gpus 2\n" + h200() + "set xid 1 79\nset xid 1 79\nset xid 0 31\n");
  read();
  EXPECT_THAT(values(Metric::kXid, 1), ElementsAre(79, 79));
  EXPECT_THAT(values(Metric::kXid, 0), ElementsAre(31));
  EXPECT_THAT(batch_.notes, ElementsAre("GPU 1 (00000000:1A:00.0): the driver reports XID 79",
                                        "GPU 0 (00000000:19:00.0): the driver reports XID 31"));
  EXPECT_TRUE(gives(Metric::kXid));
  read();
  EXPECT_THAT(values(Metric::kXid, 1), IsEmpty());
  open(h200() + "status events 4\n");
  EXPECT_FALSE(gives(Metric::kXid));
  EXPECT_THAT(read().notes, ElementsAre("no permission to read xid of NVIDIA GPUs"));
}

TEST_F(Nvml, AGpuUnderMigHasNoUtilisation) {
  open("value mig 1\nstatus gpu_util 3\nvalue temperature 50\n");
  EXPECT_THAT(read().notes, ElementsAre("GPU 0 is divided by MIG: readings are of the whole GPU, "
                                        "and it has no utilisation"));
  EXPECT_FALSE(gives(Metric::kGpuUtilization));
  EXPECT_THAT(values(Metric::kGpuTemperature), ElementsAre(50));
}

}  // namespace
}  // namespace ergometer::record
