#include "import/text/decimal.h"

#include <gtest/gtest.h>

namespace ergometer::importer {
namespace {

TEST(Nanoseconds, AreExactWhereADoubleIsNot) {
  EXPECT_EQ(nanoseconds("1695835572943613"), 1695835572943613000);
  EXPECT_EQ(nanoseconds("1695835572943613.001"), 1695835572943613001);
  EXPECT_EQ(nanoseconds("4458676983543.183"), 4458676983543183);
  EXPECT_EQ(nanoseconds("1428625731622.25"), 1428625731622250);
  EXPECT_EQ(nanoseconds("0"), 0);
  EXPECT_EQ(nanoseconds("0.001"), 1);
  EXPECT_EQ(nanoseconds("-0.769"), -769);
  EXPECT_EQ(nanoseconds("-1"), -1000);
}

TEST(Nanoseconds, RoundDigitsBelowToTheNearestAndHalvesToEven) {
  EXPECT_EQ(nanoseconds("1.2344"), 1234);
  EXPECT_EQ(nanoseconds("1.2346"), 1235);
  EXPECT_EQ(nanoseconds("1.2345"), 1234);
  EXPECT_EQ(nanoseconds("1.2355"), 1236);
  EXPECT_EQ(nanoseconds("1.23450000000000000000000000000000000000000000001"), 1235);
  EXPECT_EQ(nanoseconds("0.0005"), 0);
  EXPECT_EQ(nanoseconds("0.00050001"), 1);
  EXPECT_EQ(nanoseconds("0.0004999"), 0);
  EXPECT_EQ(nanoseconds("-1.2355"), -1236);
  EXPECT_EQ(nanoseconds("0.9999"), 1000);
}

TEST(Nanoseconds, ReadExponents) {
  EXPECT_EQ(nanoseconds("1e3"), 1000000);
  EXPECT_EQ(nanoseconds("1.5E+2"), 150000);
  EXPECT_EQ(nanoseconds("1234e-3"), 1234);
  EXPECT_EQ(nanoseconds("1.694128201422243e15"), 1694128201422243000);
  EXPECT_EQ(nanoseconds("1e-300"), 0);
  EXPECT_EQ(nanoseconds("0e999999999999999999999"), 0);
  EXPECT_EQ(nanoseconds("0.000000000000000000012e20"), 1200);
}

TEST(Nanoseconds, StopAtTheLargestTime) {
  EXPECT_EQ(nanoseconds("4611686018427387.903"), kLargestTime);
  EXPECT_EQ(nanoseconds("-4611686018427387.903"), -kLargestTime);
  EXPECT_EQ(nanoseconds("4611686018427387.904"), std::nullopt);
  EXPECT_EQ(nanoseconds("9999999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds("1e30"), std::nullopt);
  EXPECT_EQ(nanoseconds("1e999999999999999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds("123456789012345678901234567890"), std::nullopt);
}

TEST(Nanoseconds, RefuseWhatIsNoNumber) {
  for (const char* text : {"", "-", "+1", ".5", "1.", "1e", "1e+", "NaN", "null", "1 ", " 1",
                           "0x10", "1.2.3", "\"1\"", "Infinity", "1,5", "--1"})
    EXPECT_EQ(nanoseconds(text), std::nullopt) << text;
}

TEST(WholeNumber, TakesNoFraction) {
  EXPECT_EQ(whole_number("12"), 12);
  EXPECT_EQ(whole_number("-3"), -3);
  EXPECT_EQ(whole_number("12.0"), 12);
  EXPECT_EQ(whole_number("1.2e1"), 12);
  EXPECT_EQ(whole_number("1711964646000000000"), 1711964646000000000);
  EXPECT_EQ(whole_number("1.5"), std::nullopt);
  EXPECT_EQ(whole_number("0.05"), std::nullopt);
  EXPECT_EQ(whole_number("seven"), std::nullopt);
}

}  // namespace
}  // namespace ergometer::importer
