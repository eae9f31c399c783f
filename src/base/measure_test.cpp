#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace ergometer::base {
namespace {

void expect_measure(std::string_view text, double value, std::string_view unit) {
  const auto measure = parse_measure(text);
  ASSERT_TRUE(measure) << text << ": " << measure.error().message;
  EXPECT_EQ(measure->value, value) << text;
  EXPECT_EQ(measure->unit, unit) << text;
}

std::string refusal(std::string_view text) {
  const auto measure = parse_measure(text);
  return measure ? "accepted" : measure.error().message;
}

TEST(ParseMeasure, ReadsWhatDataSheetsSay) {
  expect_measure("989 TFLOP/s", 989e12, "FLOP/s");
  expect_measure("3.35 TB/s", 3.35e12, "B/s");
  expect_measure("0.3 PFLOPS", 3e14, "FLOP/s");
  expect_measure("80 GB", 80e9, "B");
  expect_measure("80GiB", 80.0 * 1024 * 1024 * 1024, "B");
  expect_measure("1.98 GHz", 1.98e9, "Hz");
  expect_measure("700 W", 700, "W");
  expect_measure("400 Gb/s", 50e9, "B/s");
  expect_measure("400 Gbit/s", 50e9, "B/s");
  expect_measure("400 Gbps", 50e9, "B/s");
  expect_measure("2.5 us", 2.5e-6, "s");
  expect_measure("2.5 \xC2\xB5s", 2.5e-6, "s");
  expect_measure("2 min", 120, "s");
  expect_measure("60days", 5.184e6, "s");
  expect_measure("6 weeks", 3.6288e6, "s");
  expect_measure("1 hour", 3600, "s");
  expect_measure("256 M", 256e6, "");
  expect_measure("35 %", 0.35, "");
  expect_measure("0.85", 0.85, "");
  expect_measure("  1e3\tkB ", 1e6, "B");
  expect_measure("1.5E", 1.5e18, "");
  expect_measure("1.5E3", 1500, "");
  expect_measure("-5 degC", -5, "C");
  expect_measure("87 C", 87, "C");
  expect_measure("1.1 nJ", 1.1e-9, "J");
  expect_measure("0.52 pJ/FLOP", 0.52e-12, "J/FLOP");
  expect_measure("93 pJ/B", 93e-12, "J/B");
  expect_measure("0.05 K/W", 0.05, "K/W");
  expect_measure("50 mK/W", 0.05, "K/W");
  expect_measure("1.1 J/K", 1.1, "J/K");
  expect_measure("14 W/K", 14, "W/K");
  expect_measure("0.01 /K", 0.01, "/K");
  expect_measure("2 kW/s", 2000, "W/s");
}

TEST(ParseMeasure, RefusesWhatIsNoNumber) {
  const std::string expected = " is not a number with a unit, such as \"80 GB\" or \"400 Gb/s\"";
  for (const std::string text :
       {"", "GB", "nan", "NaN GB", "inf", "-inf B", "infinity", ".", "-", "e5", "+5", "--5"})
    EXPECT_EQ(refusal(text), "\"" + text + "\"" + expected);
}

TEST(ParseMeasure, RefusesUnknownUnitsAndTrailingJunk) {
  const std::string known =
      "; known are B, B/s, b/s, FLOP, FLOP/s, Hz, s, min, h, d, weeks, W, W/s, J, J/FLOP, J/B, "
      "J/K, K/W, W/K, /K, C and %, with prefixes such as k, M, G, T or, for bytes, Ki, Mi, Gi";
  EXPECT_EQ(refusal("80 XB"), "\"80 XB\" ends in the unknown unit \"XB\"" + known);
  for (const std::string text : {"80 GB x", "1,000 B", "0x10", "80 G B", "1.2.3", "5 m", "5 kmin",
                                 "5 KiW", "5 kC", "5 m/K", "1e5e5", "80 gb"})
    EXPECT_NE(refusal(text).find("ends in the unknown unit"), std::string::npos) << text;
}

TEST(ParseMeasure, RefusesWhatNoDoubleHolds) {
  EXPECT_EQ(refusal("1e999"), "\"1e999\" is out of range");
  EXPECT_EQ(refusal("1e300 PB"), "\"1e300\" is out of range");
  EXPECT_EQ(refusal("1e-999 s"), "\"1e-999\" is out of range");
  EXPECT_EQ(refusal("1e99999999999999999999"), "\"1e99999999999999999999\" is out of range");
  EXPECT_EQ(refusal("1.7e308 h"), "\"1.7e308 h\" is out of range");
}

TEST(ParseMeasure, MessagesShowOnlyTheBeginningOfLongInputAndNoControlCharacters) {
  const std::string message = refusal(std::string("\x1b[31m") + std::string(500, 'x'));
  EXPECT_LT(message.size(), 160u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(ParseMeasure, HoldsTheUnitToWhatIsAskedFor) {
  EXPECT_EQ(*parse_measure("700 W", "W"), 700);
  EXPECT_EQ(parse_measure("80 GB", "B/s").error().message,
            "\"80 GB\" is in B; expected one in B/s, such as \"400 Gb/s\"");
  EXPECT_EQ(parse_measure("0.5", "s").error().message,
            "\"0.5\" is a pure number; expected one in s, such as \"2.5 us\"");
  EXPECT_EQ(parse_measure("5 s", "").error().message,
            "\"5 s\" is in s; expected one without a unit, such as \"0.85\"");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(*parse_number("1e-3"), 1e-3);
  EXPECT_EQ(*parse_number(" -0.5 "), -0.5);
  for (const std::string text : {"", "1 2", "1x", "nan", "inf", "0x1p3", "1e"})
    EXPECT_EQ(parse_number(text).error().message, "\"" + text + "\" is not a number");
}

TEST(ParseInteger, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(*parse_integer("4096"), 4096);
  EXPECT_EQ(*parse_integer("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_integer("9223372036854775808").error().message,
            "\"9223372036854775808\" is out of range");
  for (const std::string text : {"", "1.0", "1e3", "0x10", "+1", "12 3"})
    EXPECT_EQ(parse_integer(text).error().message, "\"" + text + "\" is not an integer");
}

TEST(ParseMeasure, SaysWhatTheUnitShouldBe) {
  EXPECT_EQ(refusal("200 GBps"),
            "\"200 GBps\" ends in the unknown unit \"GBps\"; write 200 GB/s for bytes or 200 Gb/s "
            "for bits");
  EXPECT_NE(refusal("25 gb/s").find("write 25 GB/s for bytes or 25 Gb/s for bits"),
            std::string::npos);
  EXPECT_NE(refusal("989 tflops").find("did you mean 989 TFLOPS?"), std::string::npos);
  EXPECT_NE(refusal("1980 mhz").find("did you mean 1980 MHz?"), std::string::npos);
  EXPECT_NE(refusal("80 parsec").find("known are B, B/s"), std::string::npos);
}

TEST(ParseCount, ReadsThousandsApartAndNothingElse) {
  EXPECT_EQ(parse_count("1024"), 1024);
  EXPECT_EQ(parse_count("1,024"), 1024);
  EXPECT_EQ(parse_count("12,345,678"), 12345678);
  for (const char* text :
       {"1,02", "1,0244", "0,123", ",123", "1,,234", "1024,000", "1,2,3", "1,-23"})
    EXPECT_FALSE(parse_count(text)) << text;
}

}  // namespace
}  // namespace ergometer::base
