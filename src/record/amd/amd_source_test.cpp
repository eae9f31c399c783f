#include "record/amd/amd_source.h"
#include "base/test_support.h"
#include "record/test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace ergometer::record {
namespace {

namespace fs = std::filesystem;
using run::Metric;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

int64_t boot_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// A source over fake libraries under a script, and a tree of the kernel's files.
class Amd : public testing::Test, protected ReadSource {
 protected:
  ~Amd() override { unsetenv("ERGOMETER_FAKE_AMD"); }
  void script(const std::string& text) {
    std::ofstream(root_ / "script") << text;
    setenv("ERGOMETER_FAKE_AMD", (root_ / "script").c_str(), 1);
  }
  fs::path folder(int gpu) const {
    return root_ / "bus/pci/devices" / ("0000:c" + std::to_string(1 + gpu) + ":00.0");
  }
  void file(int gpu, const std::string& name, const std::string& text) {
    const fs::path path = folder(gpu) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  /// A GPU that the kernel has, with its card.
  void card(int gpu, int number) {
    file(gpu, "vendor", "0x1002\n");
    file(gpu, "device", "0x740c\n");
    const fs::path node = root_ / "class/drm" / ("card" + std::to_string(number));
    fs::create_directories(node);
    fs::create_directory_symlink(folder(gpu), node / "device");
  }
  /// A table v1.7 (MI300X).
  struct Table {
    int64_t boot_ns = 0;
    uint16_t watts = 743, hotspot_c = 71;
    uint64_t energy = 65536 * 100;
    uint32_t ticks = 0, power = 0, heat = 0, memory_heat = 0, prochot = 0;
  };
  void table(int gpu, const Table& it) {
    std::string bytes(2208, '\xff');
    const auto put = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
    put(0, uint16_t{2208});
    put(2, uint8_t{1});
    put(3, uint8_t{7});
    put(4, it.hotspot_c);
    put(10, it.watts);
    put(24, it.energy);
    put(32, it.boot_ns);
    put(40, it.ticks);
    put(44, it.prochot);
    put(48, it.power);
    put(52, it.heat);
    put(56, uint32_t{0});
    put(60, it.memory_heat);
    put(136, uint64_t{1000});
    put(200, uint64_t{2000});
    file(gpu, "gpu_metrics", bytes);
  }
  Opened try_open(const char* amd_smi, const char* rocm_smi) {
    SourceOptions options;
    options.amd_smi_libraries = {amd_smi};
    options.rocm_smi_libraries = {rocm_smi};
    options.sys = root_.string();
    options.metrics = wanted_;
    return amd::open(options, paces_);
  }
  void open(const char* amd_smi, const char* rocm_smi = "libno-rocm-smi.so") {
    if (!fs::exists(root_ / "class/drm")) card(0, 0);
    auto opened = try_open(amd_smi, rocm_smi);
    ASSERT_TRUE(opened) << opened.error().message;
    source_ = std::move(*opened);
  }
  const Batch& read() {
    batch_.clear();
    source_->read(batch_);
    return batch_;
  }
  void expect_all(const std::vector<std::pair<Metric, double>>& expected) {
    for (const auto& [metric, value] : expected) {
      ASSERT_THAT(values(metric), SizeIs(1)) << run::metric_info(metric).name;
      EXPECT_NEAR(values(metric)[0], value, 1e-9 * std::abs(value))
          << run::metric_info(metric).name;
      EXPECT_TRUE(gives(metric)) << run::metric_info(metric).name;
    }
    EXPECT_THAT(batch_.readings, SizeIs(expected.size()));
  }

  base::TestFolder temporary_;
  const fs::path root_ = temporary_.root();
  amd::Paces paces_{std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
  std::vector<Metric> wanted_;
};

constexpr const char* kMi300x = R"(
name AMD Instinct MI300X
value current_power 743
counter energy 655360 65536
value temperature.1 71
value temperature.2 64
value gfx_activity 98
value umc_activity 40
value clock.0 2100
value clock.1 1800
value clock.4 1300
value vram 85899345920
value power_cap 750000000
value ecc_corrected 3
value ecc_uncorrected 0
value replays 2
)";

TEST_F(Amd, SaysWhatIsMissing) {
  // A library without a GPU of the kernel's is not asked.
  script(kMi300x);
  const auto none = try_open(ERGOMETER_FAKE_AMD_SMI, ERGOMETER_FAKE_ROCM_SMI);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(none.error().message, "no GPU of AMD's under " + root_.string() + "/class/drm");
}

TEST_F(Amd, AmdSmiReadsEveryMetricInItsUnit) {
  script(kMi300x);
  const int64_t before = now_ns();
  open(ERGOMETER_FAKE_AMD_SMI);
  ASSERT_THAT(source_->devices(), SizeIs(1));
  EXPECT_EQ(source_->devices()[0].name, "AMD Instinct MI300X");
  EXPECT_EQ(source_->devices()[0].uuid, "abff74a1-0000-1000-80ab-000000000000");
  EXPECT_THAT(read().notes, IsEmpty());
  expect_all({
      {Metric::kInstantPower, 743},
      {Metric::kEnergy, 10},  // 655,360 counts of 2^-16 J, which the library calls 15.3 uJ
      {Metric::kHotspotTemperature, 71},
      {Metric::kMemoryTemperature, 64},
      {Metric::kGpuUtilization, 98},
      {Metric::kMemoryUtilization, 40},
      {Metric::kSmClock, 2100},
      {Metric::kFabricClock, 1800},
      {Metric::kMemoryClock, 1300},
      {Metric::kMemoryUsed, 80.0 * (1 << 30)},
      {Metric::kPowerLimit, 750},
      {Metric::kEccCorrected, 3},
      {Metric::kEccUncorrected, 0},
      {Metric::kPcieReplays, 2},
  });
  // What is "N/A" is not there: the average of an MI300X, its edge temperature, its fan.
  EXPECT_FALSE(gives(Metric::kAveragePower));
  EXPECT_FALSE(gives(Metric::kGpuTemperature));
  EXPECT_FALSE(gives(Metric::kFan));
  EXPECT_GE(samples(Metric::kEnergy)[0].time_ns, before);
}

TEST_F(Amd, TheEnergyCounterKeepsItsOwnTime) {
  script(std::string(kMi300x) + "set age_ns 80000000\n");
  open(ERGOMETER_FAKE_AMD_SMI);
  read();
  const double age_s = 1e-9 * static_cast<double>(samples(Metric::kInstantPower)[0].time_ns -
                                                  samples(Metric::kEnergy)[0].time_ns);
  EXPECT_NEAR(age_s, 0.08, 0.02);
}

TEST_F(Amd, AmdSmiOfOlderReleasesHasThePowerElsewhere) {
  script(std::string("value average_power 310\nset version 24 7 1\n"));
  open(ERGOMETER_FAKE_AMD_SMI);
  read();
  EXPECT_THAT(values(Metric::kAveragePower), ElementsAre(310));
  EXPECT_FALSE(gives(Metric::kInstantPower));  // an MI210 has none
  script(std::string("value average_power 310\nset version 25 25 3\n"));
  open(ERGOMETER_FAKE_AMD_SMI);
  read();
  EXPECT_THAT(values(Metric::kAveragePower), ElementsAre(310));
  // Still older: its structures are not known, the kernel's files stand in.
  file(0, "hwmon/hwmon0/power1_average", "311000000\n");
  script("value average_power 310\nset version 24 6 0\n");
  open(ERGOMETER_FAKE_AMD_SMI);
  read();
  EXPECT_THAT(values(Metric::kAveragePower), ElementsAre(311));
}

TEST_F(Amd, RocmSmiStandsInForAmdSmi) {
  script(R"(
name Instinct MI210
value power 287000000
value energy 131072
value temperature.0 51000
value temperature.1 66000
value temperature.2 60000
value clock.0 1700000000
value clock.4 1600000000
value busy 95
value memory_busy 31
value vram 1073741824
value power_cap 300000000
value fan 51
value ecc_corrected 1
value ecc_uncorrected 2
value replays 4
set flag 1
set average 1
)");
  open("libno-amd-smi.so", ERGOMETER_FAKE_ROCM_SMI);
  EXPECT_EQ(source_->devices()[0].name, "Instinct MI210");
  EXPECT_EQ(source_->devices()[0].uuid, "abcdef0000000000");
  const int64_t before = now_ns();
  EXPECT_THAT(read().notes, IsEmpty());
  expect_all({
      {Metric::kAveragePower, 287},
      {Metric::kEnergy, 2},
      {Metric::kGpuTemperature, 51},
      {Metric::kHotspotTemperature, 66},
      {Metric::kMemoryTemperature, 60},
      {Metric::kSmClock, 1700},
      {Metric::kMemoryClock, 1600},
      {Metric::kGpuUtilization, 95},
      {Metric::kMemoryUtilization, 31},
      {Metric::kMemoryUsed, 1073741824},
      {Metric::kPowerLimit, 300},
      {Metric::kFan, 20},
      {Metric::kEccCorrected, 1},
      {Metric::kEccUncorrected, 2},
      {Metric::kPcieReplays, 4},
  });
  // The library's time is none of this host's.
  EXPECT_GE(samples(Metric::kEnergy)[0].time_ns, before);
  // The same count with the same time is the same reading.
  read();
  EXPECT_THAT(values(Metric::kEnergy), IsEmpty());
  EXPECT_THAT(values(Metric::kAveragePower), SizeIs(1));
}

TEST_F(Amd, RocmSmiBeforeTheFlagHasTheSameClocks) {
  script("value clock.0 1700000000\nvalue power 100000000\n");
  open("libno-amd-smi.so", ERGOMETER_FAKE_ROCM_SMI);
  read();
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(1700));
  EXPECT_THAT(values(Metric::kInstantPower), ElementsAre(100));
}

TEST_F(Amd, TheKernelsFilesStandInForBoth) {
  card(0, 1);
  file(0, "product_name", "AMD INSTINCT MI210\n");
  file(0, "unique_id", "b1a2c3d4e5f60718\n");
  file(0, "hwmon/hwmon4/power1_average", "287000000\n");
  file(0, "hwmon/hwmon4/power1_cap", "300000000\n");
  file(0, "hwmon/hwmon4/temp1_label", "edge\n");
  file(0, "hwmon/hwmon4/temp1_input", "51000\n");
  file(0, "hwmon/hwmon4/temp2_label", "junction\n");
  file(0, "hwmon/hwmon4/temp2_input", "66000\n");
  file(0, "hwmon/hwmon4/temp3_label", "mem\n");
  file(0, "hwmon/hwmon4/temp3_input", "60000\n");
  file(0, "hwmon/hwmon4/freq1_label", "sclk\n");
  file(0, "hwmon/hwmon4/freq1_input", "1700000000\n");
  file(0, "pp_dpm_mclk", "0: 400Mhz\n1: 1600Mhz *\n");
  file(0, "pp_dpm_fclk", "0: 1800Mhz *\n");
  file(0, "gpu_busy_percent", "95\n");
  file(0, "mem_busy_percent", "31\n");
  file(0, "mem_info_vram_used", "1073741824\n");
  file(0, "ras/umc_err_count", "ue: 2\nce: 1\n");
  file(0, "pcie_replay_count", "4\n");
  file(0, "pcie_bw", "must not be read\n");
  open("libno-amd-smi.so");
  EXPECT_EQ(source_->devices()[0].name, "AMD INSTINCT MI210");
  EXPECT_EQ(source_->devices()[0].uuid, "b1a2c3d4e5f60718");
  EXPECT_THAT(read().notes, IsEmpty());
  expect_all({
      {Metric::kAveragePower, 287},
      {Metric::kPowerLimit, 300},
      {Metric::kGpuTemperature, 51},
      {Metric::kHotspotTemperature, 66},
      {Metric::kMemoryTemperature, 60},
      {Metric::kSmClock, 1700},
      {Metric::kMemoryClock, 1600},
      {Metric::kFabricClock, 1800},
      {Metric::kGpuUtilization, 95},
      {Metric::kMemoryUtilization, 31},
      {Metric::kMemoryUsed, 1073741824},
      {Metric::kEccCorrected, 1},
      {Metric::kEccUncorrected, 2},
      {Metric::kPcieReplays, 4},
  });
  // A file that changes is read anew, through the same handle.
  file(0, "gpu_busy_percent", "12\n");
  read();
  EXPECT_THAT(values(Metric::kGpuUtilization), ElementsAre(12));
}

TEST_F(Amd, CardsOfOthersAndConnectorsAreNoGpus) {
  card(0, 1);
  file(0, "gpu_busy_percent", "5\n");
  card(1, 2);
  file(1, "vendor", "0x10de\n");
  fs::create_directories(root_ / "class/drm/card1-DP-1");
  fs::create_directories(root_ / "class/drm/renderD128");
  open("libno-amd-smi.so");
  ASSERT_THAT(source_->devices(), SizeIs(1));
  EXPECT_EQ(source_->devices()[0].name, "AMD GPU 0x740c");
}

TEST_F(Amd, TheTableComesBeforeTheLibrary) {
  script(std::string(kMi300x) + "value current_power 1\n");
  table(0, {.boot_ns = boot_time_ns()});
  open(ERGOMETER_FAKE_AMD_SMI);
  const int64_t probed = calls("amdsmi_get_power_info");
  read();
  EXPECT_THAT(values(Metric::kInstantPower), ElementsAre(743));
  EXPECT_THAT(values(Metric::kEnergy), ElementsAre(100));
  EXPECT_THAT(values(Metric::kXgmiReceived), ElementsAre(1024e3));
  EXPECT_THAT(values(Metric::kXgmiSent), ElementsAre(2048e3));
  EXPECT_THAT(values(Metric::kSmClock), ElementsAre(2100));  // the table has none
  // An MI300X has no average: the library was asked for it once.
  EXPECT_EQ(calls("amdsmi_get_power_info"), probed);
  EXPECT_EQ(calls("amdsmi_get_energy_count"), 0);
}

TEST_F(Amd, ATableIsRecordedOnceWithTheDriversTime) {
  card(0, 0);
  const int64_t taken = boot_time_ns() - 50'000'000;
  table(0, {.boot_ns = taken});
  open("libno-amd-smi.so");
  const int64_t now = now_ns();
  read();
  ASSERT_THAT(samples(Metric::kInstantPower), SizeIs(1));
  EXPECT_NEAR(1e-9 * static_cast<double>(now - samples(Metric::kInstantPower)[0].time_ns), 0.05,
              0.02);
  EXPECT_THAT(read().readings, IsEmpty());
  table(0, {.boot_ns = taken + 40'000'000, .watts = 744});
  read();
  EXPECT_THAT(values(Metric::kInstantPower), ElementsAre(744));
}

TEST_F(Amd, TicksAtALimitBecomeSeconds) {
  card(0, 0);
  const int64_t start = boot_time_ns() - 3'000'000'000;
  constexpr uint32_t kNearWrap = 0xffffff00;
  table(0, {.boot_ns = start, .ticks = kNearWrap, .power = 500});
  open("libno-amd-smi.so");
  read();
  EXPECT_THAT(values(Metric::kSwPowerCapTime), ElementsAre(0));
  // 1,000 ticks in two seconds, over the end of 32 bits: 250 at the power limit, 100 and 40 too
  // hot.
  table(0, {.boot_ns = start + 2'000'000'000,
            .ticks = kNearWrap + 1000,
            .power = 750,
            .heat = 100,
            .memory_heat = 40,
            .prochot = 10});
  read();
  const auto one = [&](Metric metric) { return values(metric).at(0); };
  EXPECT_NEAR(one(Metric::kSwPowerCapTime), 0.5, 1e-3);
  EXPECT_NEAR(one(Metric::kSwThermalTime), 0.2, 1e-3);
  EXPECT_NEAR(one(Metric::kHwThermalTime), 0.02, 1e-3);
  // The firmware began anew: nothing is added.
  table(0, {.boot_ns = start + 2'500'000'000, .ticks = kNearWrap + 1100});
  read();
  EXPECT_NEAR(one(Metric::kSwPowerCapTime), 0.5, 1e-3);
}

TEST_F(Amd, TheSecondDiesZeroWattsAreNotRecorded) {
  for (int gpu = 0; gpu < 2; ++gpu) {
    card(gpu, gpu);
    file(gpu, "hwmon/hwmon0/power1_average", gpu == 0 ? "480000000\n" : "0\n");
    file(gpu, "gpu_busy_percent", "90\n");
  }
  open("libno-amd-smi.so");
  EXPECT_THAT(read().notes,
              ElementsAre("GPU 1 (0000:c2:00.0) reads 0 W, which is not recorded: where two dies "
                          "share a module, the first one reads the power of both"));
  EXPECT_THAT(values(Metric::kAveragePower, 0), ElementsAre(480));
  EXPECT_THAT(values(Metric::kAveragePower, 1), IsEmpty());
  EXPECT_THAT(values(Metric::kGpuUtilization, 1), ElementsAre(90));
}

TEST_F(Amd, OneGpuIsLostAndComesBack) {
  script("gpus 2\n" + std::string(kMi300x) + "lose 1 60 40\n");
  wanted_ = {Metric::kSmClock, Metric::kHotspotTemperature};
  open(ERGOMETER_FAKE_AMD_SMI);
  std::vector<std::string> notes;
  for (int i = 0; i < 60; ++i) {
    read();
    ASSERT_THAT(values(Metric::kSmClock, 0), SizeIs(1));
    notes.insert(notes.end(), batch_.notes.begin(), batch_.notes.end());
  }
  EXPECT_THAT(notes, ElementsAre("GPU 1 (0000:c2:00.0) no longer answers",
                                 "GPU 1 (0000:c2:00.0) answers again"));
  EXPECT_THAT(values(Metric::kSmClock, 1), ElementsAre(2100));
}

TEST_F(Amd, NoPermissionIsNotedOnce) {
  script("gpus 2\n" + std::string(kMi300x) + "status ecc_corrected 10\n");
  open(ERGOMETER_FAKE_AMD_SMI);
  EXPECT_THAT(read().notes,
              ElementsAre("no permission to read ecc_corrected, ecc_uncorrected of AMD GPUs"));
  EXPECT_THAT(read().notes, IsEmpty());
  EXPECT_FALSE(gives(Metric::kEccCorrected));
}

TEST_F(Amd, WhatChangesSlowlyIsReadOnceASecond) {
  paces_.slow = std::chrono::hours(1);
  script(kMi300x);
  open(ERGOMETER_FAKE_AMD_SMI);
  read();
  EXPECT_THAT(values(Metric::kPowerLimit), SizeIs(1));
  read();
  EXPECT_THAT(values(Metric::kPowerLimit), IsEmpty());
  EXPECT_THAT(values(Metric::kSmClock), SizeIs(1));
}

}  // namespace
}  // namespace ergometer::record
