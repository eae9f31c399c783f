#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace ergometer::base {
namespace {

TEST(Format, ThreeDigitsAndTheFittingUnit) {
  EXPECT_EQ(format_binary_bytes(97.1 * 1024 * 1024 * 1024), "97.1 GiB");
  EXPECT_EQ(format_bytes(104.26e9), "104 GB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_si(1.234e12), "1.23 T");
  EXPECT_EQ(format_si(32), "32");
  EXPECT_EQ(format_si(452.7e12, "FLOP/s"), "453 TFLOP/s");
  EXPECT_EQ(format_si(-1500, "W"), "-1.50 kW");
  EXPECT_EQ(format_seconds(7.951), "7.95 s");
  EXPECT_EQ(format_seconds(312e-6), "312 us");
  EXPECT_EQ(format_seconds(2.5e-9), "2.50 ns");
  EXPECT_EQ(format_seconds(-0.0815), "-81.5 ms");
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(150), "2.50 min");
  EXPECT_EQ(format_seconds(3 * 3600), "3.00 h");
  EXPECT_EQ(format_seconds(12 * 86400), "12.0 days");
  EXPECT_EQ(format_percent(0.4132), "41.3 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_count(1536), "1,536");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(999), "999");
}

TEST(Format, RoundingCarriesIntoTheNextUnit) {
  EXPECT_EQ(format_si(999.4), "999");
  EXPECT_EQ(format_si(999.6), "1.00 k");
  EXPECT_EQ(format_si(9.996e6), "10.0 M");
  EXPECT_EQ(format_si(99.96e6), "100 M");
  EXPECT_EQ(format_seconds(0.99951), "1.00 s");
  EXPECT_EQ(format_seconds(0.9994), "999 ms");
  EXPECT_EQ(format_binary_bytes(1023.6 * 1024), "1.00 MiB");
}

TEST(Format, NothingBreaksOnExtremes) {
  EXPECT_EQ(format_si(std::numeric_limits<double>::infinity(), "B"), "inf B");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::quiet_NaN()), "nan s");
  EXPECT_EQ(format_si(3e21), "3000 E");
  EXPECT_EQ(format_count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Split, KeepsEmptyPartsButOfAnEmptyText) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split("a", ','), Parts{"a"});
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split("a,", ','), (Parts{"a", ""}));
  EXPECT_EQ(split(",a", ','), (Parts{"", "a"}));
}

TEST(Text, IsTrimmedOfBlanks) {
  EXPECT_EQ(trimmed("\t two words\r\n"), "two words");
  EXPECT_EQ(trimmed(" line\n", " "), "line\n");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Text, IsCutToAWidth) {
  EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to("abcdefg", 6), "abc...");
}

TEST(Text, ListsInWords) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

TEST(Text, PartsWithoutBlanks) {
  EXPECT_EQ(trimmed_parts(" a | b||c ", '|'), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_TRUE(trimmed_parts(" ", ',').empty());
}

TEST(Text, RunsOfNumbersAreRanges) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({1}), "1");
  EXPECT_EQ(ranges_text({1, 2, 3}), "1-3");
  EXPECT_EQ(ranges_text({1, 3, 4, 7}), "1,3-4,7");
  EXPECT_EQ(ranges_text({4, 5, 0, 1, 9, 8}, ", "), "4-5, 0-1, 9, 8");
}

TEST(Text, HidesPasswordsInAddresses) {
  EXPECT_EQ(hide_passwords("curl http://me:pa:ss@host:80/a ftp://x:y@z"),
            "curl http://me:***@host:80/a ftp://x:***@z");
  for (const char* plain : {"", "http://host:80/a@b:c", "me:word@host", "http://me@host", "a://"})
    EXPECT_EQ(hide_passwords(plain), plain);
}

}  // namespace
}  // namespace ergometer::base
