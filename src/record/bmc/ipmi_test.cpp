#include <gtest/gtest.h>

#include <chrono>

#include "record/bmc/ipmi_text.h"
#include "record/bmc/program.h"
#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

// In the form of `ipmitool -c sdr` of a Dell, a Supermicro and an HPE board.
constexpr const char* kDell =
    "Inlet Temp,23,degrees C,ok\nExhaust Temp,41,degrees C,nc\nTemp,61,degrees C,ok\n"
    "Fan1A RPM,8400,RPM,ok\nFan1B RPM,8000,RPM,ok\nFan9 RPM,disabled,RPM,ns\n"
    "Pwr Consumption,812,Watts,ok\nVoltage 1,230,Volts,ok\n";
constexpr const char* kSupermicro =
    "PSU1_PIN,1500,Watts,ok\nPSU2 Input Power,1480,Watts,ok\nPSU1 Output Power,1400,Watts,ok\n"
    "PSU3_PIN,no reading,Watts,ns\n";

TEST(Sdr, ByTheNamesOfMakers) {
  NodeReadings dell;
  read_sdr(kDell, dell);
  EXPECT_EQ(dell.value(Metric::kPower), 812);
  EXPECT_EQ(dell.value(Metric::kInletTemperature), 23);
  EXPECT_EQ(dell.value(Metric::kOutletTemperature), 41);
  EXPECT_EQ(dell.value(Metric::kFanSpeed), 8200);
  EXPECT_FALSE(dell.value(Metric::kFan));
  NodeReadings supermicro;
  read_sdr(kSupermicro, supermicro);
  EXPECT_EQ(supermicro.value(Metric::kPower), 2980);
}

TEST(Dcmi, TheReadingOfNow) {
  NodeReadings readings;
  read_dcmi_power(
      "\n    Instantaneous power reading:                   5220 Watts\n"
      "    Minimum during sampling period:                 18 Watts\n",
      readings);
  EXPECT_EQ(readings.total_w, 5220);
  NodeReadings none;
  read_dcmi_power("    Instantaneous power reading:   0 Watts\n", none);
  EXPECT_FALSE(none.total_w);
}

TEST(NodeReadings, ASumOfSuppliesNeedsAll) {
  NodeReadings readings;
  readings.supplies = 2;
  readings.supplies_in_w.add(700);
  EXPECT_FALSE(readings.value(Metric::kPower));
  readings.supplies_in_w.add(800);
  EXPECT_EQ(readings.value(Metric::kPower), 1500);
}

class Ipmitool : public ::testing::Test {
 protected:
  /// A program that answers by its first word.
  SourceOptions program(const std::string& dcmi, const std::string& sdr) {
    tree_.write("ipmitool",
                "#!/bin/sh\ncase \"$1\" in\ndcmi) " + dcmi + ";;\n-c) " + sdr + ";;\nesac\n");
    std::filesystem::permissions(tree_.path("ipmitool"), std::filesystem::perms::owner_all);
    SourceOptions options = tree_.options();
    options.ipmitool = tree_.path("ipmitool");
    return options;
  }
  FakeTree tree_;
  const std::string power_ = "echo '  Instantaneous power reading:   5000 Watts'";
  const std::string list_ = "echo 'Inlet Temp,23,degrees C,ok'; echo 'Pwr Consumption,1,Watts,ok'";
};

TEST_F(Ipmitool, PowerByDcmiTheRestByTheList) {
  const auto source = open_ipmi(program(power_, list_));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE((*source)->slow());
  EXPECT_EQ(look(**source),
            (Look{{{0, Metric::kPower}, 5000}, {{0, Metric::kInletTemperature}, 23}}));
}

TEST_F(Ipmitool, ABoardWithoutDcmi) {
  const auto source = open_ipmi(program("echo 'DCMI request failed' >&2; exit 1", list_));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->metrics().size(), 2U);
  EXPECT_EQ((look(**source)[{0, Metric::kPower}]), 1);
}

TEST_F(Ipmitool, WithoutADevice) {
  const std::string fail = "echo 'Could not open device at /dev/ipmi0' >&2; exit 1";
  const auto source = open_ipmi(program(fail, fail));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(source.error().message,
            tree_.path("ipmitool") + " -c sdr: Could not open device at /dev/ipmi0");
}

TEST_F(Ipmitool, ThatStopsAnsweringIsNotedOnce) {
  const auto source = open_ipmi(program(power_, list_));
  ASSERT_TRUE(source);
  program("exit 1", "exit 1");
  Batch batch;
  (*source)->read(batch);
  (*source)->read(batch);
  program(power_, list_);
  (*source)->read(batch);
  ASSERT_EQ(batch.notes.size(), 2U);
  EXPECT_EQ(batch.notes[0], "ipmi: no longer answers: " + tree_.path("ipmitool") +
                                " dcmi power reading: ended with status 1");
  EXPECT_EQ(batch.notes[1], "ipmi: answers again");
}

TEST(Program, ThatTakesTooLongIsEndedWithWhatItStarted) {
  const auto start = std::chrono::steady_clock::now();
  const auto text = run_program({"/bin/sh", "-c", "sleep 30 & sleep 30"}, 0.2);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("no answer within 0.2 s"), std::string::npos);
}

TEST(Program, ThatClosesItsOutputAndStaysIsEndedToo) {
  const auto text = run_program({"/bin/sh", "-c", "exec >&- 2>&-; sleep 30"}, 0.2);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("no answer within 0.2 s"), std::string::npos);
}

TEST(Program, WithMuchToSayOnBothSides) {
  const auto text =
      run_program({"/bin/sh", "-c", "head -c 200000 /dev/zero >&2; head -c 300000 /dev/zero"}, 30);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 300000U);
}

TEST(Program, ThatIsNotThere) {
  const auto text = run_program({"/nonexistent/ipmitool"}, 1);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "/nonexistent/ipmitool: No such file or directory");
}

}  // namespace
}  // namespace ergometer::record
