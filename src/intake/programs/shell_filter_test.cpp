#include <gtest/gtest.h>

#include "intake/programs/shell_utilities.h"

namespace ergometer::intake {
namespace {

/// What a filter prints of a text, "-" where it is not followed.
std::string filtered(const std::vector<std::string>& words, const std::string& input) {
  std::vector<ShellText> texts;
  for (const std::string& word : words) texts.push_back({word, 1});
  const auto result =
      shell_filter(texts, input, [](const std::string& path) { return "file " + path + "\n"; });
  return result ? result->output : "-";
}

/// A script of a few hundred bytes may not ask for gigabytes, nor for minutes.
TEST(ShellFilter, WhatGrowsWithoutEndIsNotFollowed) {
  std::string words, places, columns = "$0";
  for (int i = 0; i < 9; ++i) words += "s/[a]/aaaaaaaaaa/g;";
  EXPECT_EQ(filtered({"sed", words}, "a\n"), "-");
  EXPECT_EQ(filtered({"sed", "s/[a]/aa/g"}, "a\na\n"), "aa\naa\n");
  EXPECT_EQ(filtered({"sed", "s/a/" + std::string(100, 'a') + "/g"}, std::string(2000, 'a')), "-");
  for (int i = 0; i < 200; ++i) places += i == 0 ? "1" : ",1", columns += ",$0";
  EXPECT_EQ(filtered({"awk", "{print " + columns + "}"}, "a\n"), "-");
  const auto cut = shell_lines_of({{"cut", 1}, {"-c" + places, 1}}, "abc\n", {});
  EXPECT_FALSE(cut.has_value());
}

TEST(ShellFilter, AwkLooksUp) {
  const std::string sizes = "7b 32 4096\n13b 40 5120\n";
  EXPECT_EQ(filtered({"awk", "$1==\"13b\" {print $2, $3}"}, sizes), "40 5120\n");
  EXPECT_EQ(filtered({"awk", "-v", "s=7b", "$1 == s { print $NF }"}, sizes), "4096\n");
  EXPECT_EQ(filtered({"awk", "-F,", "{print NF}"}, "4,5,6,7\n\n"), "4\n0\n");
  EXPECT_EQ(filtered({"awk", "-Ft", "{print NF}"}, "4t5\n"), "-");  // of tabs
  EXPECT_EQ(filtered({"awk", "$1==\"70b\" {print $2}"}, sizes), "");
  // Another variable, numbers, blanks that count, texts beside each other.
  EXPECT_EQ(filtered({"awk", "$1==s {print $2}"}, sizes), "-");
  EXPECT_EQ(filtered({"awk", "$2==\"32\" {print $3}"}, sizes), "-");
  EXPECT_EQ(filtered({"awk", "$1==\"1 3b\" {print $2}"}, sizes), "-");
  EXPECT_EQ(filtered({"awk", "{print $2 $3}"}, sizes), "-");
}

TEST(ShellFilter, AwkSums) {
  const std::string hosts = "a slots=8\nb slots=8\n\nc slots=4\n";
  EXPECT_EQ(filtered({"awk", "-F=", "{s+=$2} END {print s}"}, hosts), "20\n");
  EXPECT_EQ(filtered({"awk", "-F", "=", "/b/ { n += $2; } END { print n; }"}, hosts), "8\n");
  EXPECT_EQ(filtered({"awk", "{s+=$1} END {print s}"}, "1\n2\n"), "3\n");
  // Another variable, a fraction, a word.
  EXPECT_EQ(filtered({"awk", "{s+=$1} END {print t}"}, "1\n"), "-");
  EXPECT_EQ(filtered({"awk", "{s+=$1} END {print s}"}, "1.5\n"), "-");
  EXPECT_EQ(filtered({"awk", "{s+=$1} END {print s}"}, hosts), "-");
  EXPECT_EQ(filtered({"awk", "{s+=1} END {print s}"}, hosts), "-");
}

TEST(ShellFilter, AwkAsACalculator) {
  EXPECT_EQ(filtered({"awk", "BEGIN{print 4*8}"}, ""), "32\n");
  EXPECT_EQ(filtered({"awk", "-v", "n=6", "-vm=4", "BEGIN { print int(n / m) * (m - -1) }"}, ""),
            "5\n");
  EXPECT_EQ(filtered({"awk", "BEGIN { print 1 / 3 }"}, ""), "0.333333\n");
  EXPECT_EQ(filtered({"awk", "BEGIN { printf \"%d\", 7 / 2 }"}, ""), "3");
  EXPECT_EQ(filtered({"awk", "BEGIN { printf(\"%.2f\\n\", 7 / 2) }"}, ""), "3.50\n");
  for (const char* other : {"BEGIN {print n}", "BEGIN {print 1 / 0}", "BEGIN {print 1", "BEGIN {}",
                            "BEGIN {print 1; print 2}", "BEGIN {print 2^3}"})
    EXPECT_EQ(filtered({"awk", other}, ""), "-") << other;
}

TEST(ShellFilter, QueriesOfValues) {
  const std::string json =
      R"({"a": {"b": 4, "c": "bf16", "d": false}, "l": [1, 2], "x-y": 7, "f": 1e-5, "n": null})";
  const auto jq = [&](const std::string& filter) { return filtered({"jq", "-r", filter}, json); };
  EXPECT_EQ(jq(".a.b"), "4\n");
  EXPECT_EQ(jq(".a[\"c\"]"), "bf16\n");
  EXPECT_EQ(jq(".a.b, .a.c"), "4\nbf16\n");
  EXPECT_EQ(jq("[.a.b, .a.c] | @tsv"), "4\tbf16\n");
  EXPECT_EQ(jq("[.a.b, .a.b] | join(\" \")"), "4 4\n");
  EXPECT_EQ(jq(".n"), "null\n");
  EXPECT_EQ(jq(".no // 3"), "3\n");
  EXPECT_EQ(jq(".a.b // 3"), "4\n");
  EXPECT_EQ(jq(".a.d // \"on\""), "on\n");
  EXPECT_EQ(jq(".[\"x-y\"]"), "7\n");
  // Sections, lists, fractions, other filters; x minus y; words in quotes.
  for (const char* other : {".a", ".l", ".l[0]", ".f", ".a.b | tostring", ".x-y", ".", ".a | .b"})
    EXPECT_EQ(jq(other), "-") << other;
  EXPECT_EQ(filtered({"jq", ".a.b"}, json), "4\n");
  EXPECT_EQ(filtered({"jq", ".a.c"}, json), "-");
  EXPECT_EQ(filtered({"jq", "--arg", "k", "v", ".a.b"}, json), "-");
  EXPECT_EQ(filtered({"yq", "e", ".a.b", "-"}, "a:\n  b: 8\n"), "8\n");
  EXPECT_EQ(filtered({"yq", "-r", ".a"}, "a: ${b}\nb: 8\n"), "-");
}

}  // namespace
}  // namespace ergometer::intake
