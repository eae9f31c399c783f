#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

std::string ipmi_error(std::string_view text) {
  return base::error_of(parse_telemetry(text, "dcmi.txt", {}));
}

TEST(IpmiPower, BothWaysToSayWhen) {
  const char* const text =
      "    Instantaneous power reading:                  6500 Watts\n"
      "    Average power reading over sample period:     6400 Watts\n"
      "    IPMI timestamp:                           Tue Mar  4 10:11:12 2025\n"
      "    Power reading state is:                   activated\n\n"
      "    Instantaneous power reading:                  7100 Watts\n"
      "    IPMI timestamp: 03/04/2025 10:11:17 UTC    Sampling period: 00000001 Seconds.\n"
      "    Instantaneous power reading:                  7200 Watts\n";
  const auto log = parse_telemetry(text, "dcmi.txt", {});
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->devices.size(), 1U);
  EXPECT_EQ(log->devices[0].kind, run::DeviceKind::kNode);
  const std::vector<run::Sample>& readings = log->devices[0].find(run::Metric::kPower)->samples;
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].value, 6500);
  EXPECT_EQ(readings[1].value, 7100);
  constexpr int64_t kFirst = int64_t{1741083072} * 1'000'000'000;  // 2025-03-04T10:11:12Z
  EXPECT_EQ(readings[0].time_ns, kFirst);
  EXPECT_EQ(readings[1].time_ns, kFirst + 5'000'000'000);
  ASSERT_EQ(log->dropped.size(), 1U);
  EXPECT_EQ(log->dropped[0].count, 1);
}

TEST(IpmiPower, AZoneThatIsNotUtcIsSaid) {
  const auto log = parse_telemetry(
      "Instantaneous power reading: 5 Watts\nIPMI timestamp: 03/04/2025 10:11:12 EST\n", "d.txt",
      {});
  ASSERT_TRUE(log);
  ASSERT_EQ(log->notes.size(), 1U);
  EXPECT_EQ(log->notes[0], "d.txt: its times are in EST, and are taken for UTC");
}

TEST(IpmiPower, WrongInputNamesLineFoundAndAllowed) {
  EXPECT_EQ(ipmi_error("Instantaneous power reading: much\n"),
            "dcmi.txt:1: Instantaneous power reading: found 'much', allowed: a number of Watts");
  EXPECT_EQ(ipmi_error("Instantaneous power reading: 5 Watts\nIPMI timestamp: now\n"),
            "dcmi.txt:2: IPMI timestamp: found 'now', allowed: a time such as Tue Mar  4 10:11:12 "
            "2025 or 03/04/2025 10:11:12 UTC");
}

}  // namespace
}  // namespace ergometer::importer
