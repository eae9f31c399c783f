#include "import/telemetry/value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::importer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// date -u -d '2023-07-14 10:12:46' +%s
constexpr int64_t kJuly = 1689329566;

TEST(TelemetryTime, CalendarTimesInEverySpelling) {
  for (const char* text : {"2023/07/14 10:12:46.483", "2023-07-14T10:12:46.483Z",
                           "2023-07-14 10:12:46,483", "2023-07-14T12:12:46.483+02:00",
                           "2023-07-14T05:42:46.483-0430", "2023-07-14 10:12:46.483 +00"})
    EXPECT_EQ(time_to_ns(text), kJuly * kSecond + 483'000'000) << text;
  EXPECT_EQ(time_to_ns("2023/07/14 10:12:46"), kJuly * kSecond);
  EXPECT_EQ(time_to_ns("2022-07-13 02:07:36.708783111"), 1657678056'708783111);
  EXPECT_EQ(time_to_ns("2024-02-29 00:00:00"), 1709164800 * kSecond);
  EXPECT_EQ(time_to_ns("1970-01-01 00:00:00"), 0);
}

TEST(TelemetryTime, WhatIsNoTime) {
  for (const char* text :
       {"", "N/A", "2023/13/14 10:12:46", "2023/07/32 10:12:46", "2023/02/29 10:12:46",
        "2024-04-31 00:00:00", "2023/07/14", "2023/07/14 10:12", "2023/07/14 25:12:46",
        "2023/07/14 10:12:46x", "2023/07/14 10:12:46.", "nan", "inf", "-5", "1e300", "0x12",
        "2023-07-14T10:12:46+99:00"})
    EXPECT_FALSE(time_to_ns(text)) << text;
}

TEST(TelemetryTime, NumbersByTheirSizeAndExact) {
  EXPECT_EQ(time_to_ns("1689329566.483"), kJuly * kSecond + 483'000'000);
  EXPECT_EQ(time_to_ns("1689329566483"), kJuly * kSecond + 483'000'000);
  EXPECT_EQ(time_to_ns("1689329566483001"), kJuly * kSecond + 483'001'000);
  EXPECT_EQ(time_to_ns("1689329566483001002"), kJuly * kSecond + 483'001'002);
  // A double has steps of 0.24 us here.
  EXPECT_EQ(time_to_ns("1689329566.483000123"), kJuly * kSecond + 483'000'123);
  EXPECT_EQ(seconds_to_ns("13586410.284991832"), 13586410'284991832);
}

TEST(TelemetryCell, NumbersUnitsAndWhatIsMissing) {
  const auto watts = read_cell(" 69.32 W");
  EXPECT_EQ(watts.kind, Cell::Kind::kNumber);
  EXPECT_EQ(watts.value, 69.32);
  EXPECT_EQ(watts.unit, "W");
  EXPECT_EQ(read_cell("23 %").unit, "%");
  EXPECT_EQ(read_cell("0x0000000000000004").value, 4);
  EXPECT_EQ(read_cell("Active").value, 1);
  EXPECT_EQ(read_cell("Not Active").value, 0);
  for (const char* text : {"", "[N/A]", "[Not Supported]", "N/A", "[Unknown Error]", "-"})
    EXPECT_EQ(read_cell(text).kind, Cell::Kind::kMissing) << text;
  for (const char* text : {"W", "many", "P0x", "1.2.3 W"})
    EXPECT_EQ(read_cell(text).kind, Cell::Kind::kBad) << text;
  EXPECT_TRUE(std::isnan(read_cell("nan").value));
}

TEST(TelemetryCell, Units) {
  EXPECT_EQ(unit_factor("mW", "W"), 1e-3);
  EXPECT_EQ(unit_factor("", "W"), 1);
  EXPECT_EQ(unit_factor("MiB", "B"), 1048576);
  EXPECT_FALSE(unit_factor("MHz", "W"));
  EXPECT_FALSE(unit_factor("furlong", "W"));
}

}  // namespace
}  // namespace ergometer::importer
