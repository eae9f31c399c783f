#include <gtest/gtest.h>

#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

class Hwmon : public ::testing::Test {
 protected:
  void chip(int number, const std::string& name,
            const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string folder = "sys/class/hwmon/hwmon" + std::to_string(number) + '/';
    tree_.write(folder + "name", name + "\n");
    for (const auto& [file, text] : files) tree_.write(folder + file, text + "\n");
  }
  Look look_once() {
    auto source = open_hwmon(tree_.options());
    if (!source) return {};
    devices_.assign((*source)->devices().begin(), (*source)->devices().end());
    EXPECT_TRUE((*source)->slow());
    return look(**source);
  }

  FakeTree tree_;
  std::vector<run::Device> devices_;
};

TEST_F(Hwmon, PackagesOfXeons) {
  chip(3, "coretemp",
       {{"temp1_label", "Package id 1"},
        {"temp1_input", "71000"},
        {"temp2_label", "Core 0"},
        {"temp2_input", "80000"}});
  EXPECT_EQ(look_once(), (Look{{{0, Metric::kCpuTemperature}, 71}}));
  EXPECT_EQ(devices_[0].index, 1);
  EXPECT_EQ(devices_[0].name, "package-1");
}

TEST_F(Hwmon, TdieOfAnEpycBeforeTctl) {
  chip(0, "k10temp",
       {{"temp1_label", "Tctl"},
        {"temp1_input", "75000"},
        {"temp2_label", "Tdie"},
        {"temp2_input", "65500"}});
  chip(10, "k10temp", {{"temp1_label", "Tctl"}, {"temp1_input", "60125"}});
  EXPECT_EQ(look_once(),
            (Look{{{0, Metric::kCpuTemperature}, 65.5}, {{1, Metric::kCpuTemperature}, 60.125}}));
  EXPECT_EQ(devices_[1].name, "package-1");
}

TEST_F(Hwmon, TheNodesPowerFromItsMeterBeforeItsSupplies) {
  chip(0, "cffps1",
       {{"power1_label", "pin"},
        {"power1_input", "900000000"},
        {"power2_label", "pout1"},
        {"power2_input", "850000000"}});
  chip(1, "cffps1", {{"power1_label", "pin"}, {"power1_input", "950000000"}});
  chip(2, "xdpe12284", {{"power1_label", "pin"}, {"power1_input", "500000000"}});
  EXPECT_EQ(look_once(), (Look{{{0, Metric::kPower}, 1850}}));
  EXPECT_EQ(devices_[0].kind, run::DeviceKind::kNode);
  chip(3, "power_meter", {{"power1_average", "1900000000"}});
  EXPECT_EQ(look_once(), (Look{{{0, Metric::kPower}, 1900}}));
}

TEST_F(Hwmon, AirByLabelAndFansThatTurn) {
  chip(0, "nct6775",
       {{"temp1_label", "Inlet Temp"},
        {"temp1_input", "24000"},
        {"temp2_label", "Ambient 2"},
        {"temp2_input", "26000"},
        {"temp3_label", "Exhaust"},
        {"temp3_input", "41000"},
        {"temp4_label", "SYSTIN"},
        {"temp4_input", "99000"},
        {"fan1_input", "8000"},
        {"fan2_input", "0"},
        {"fan3_input", "9000"}});
  chip(1, "amdgpu", {{"fan1_input", "500"}});
  chip(2, "nvme", {{"temp1_label", "Composite ambient"}, {"temp1_input", "50000"}});
  EXPECT_EQ(look_once(), (Look{{{0, Metric::kInletTemperature}, 25},
                               {{0, Metric::kOutletTemperature}, 41},
                               {{0, Metric::kFanSpeed}, 8500}}));
}

TEST_F(Hwmon, NothingOfTheNode) {
  chip(0, "nvme", {{"temp1_input", "50000"}});
  const auto source = open_hwmon(tree_.options());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
}

}  // namespace
}  // namespace ergometer::record
