#include "spec/job/sequence_lengths.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ergometer::spec {
namespace {

using Counts = std::vector<std::pair<int64_t, int64_t>>;

TEST(SequenceLengths, ReadsEveryForm) {
  EXPECT_TRUE(parse_sequence_lengths("even")->is_even());
  const auto lognormal = parse_sequence_lengths("lognormal:800,1.2");
  ASSERT_TRUE(lognormal);
  EXPECT_EQ(lognormal->kind, LengthKind::kLognormal);
  EXPECT_EQ(lognormal->first, 800);
  EXPECT_EQ(lognormal->second, 1.2);
  EXPECT_EQ(lognormal->text, "lognormal:800,1.2");
  const auto uniform = parse_sequence_lengths("uniform:100-2000");
  ASSERT_TRUE(uniform);
  EXPECT_EQ(uniform->kind, LengthKind::kUniform);
  EXPECT_EQ(uniform->first, 100);
  EXPECT_EQ(uniform->second, 2000);
  EXPECT_EQ(parse_sequence_lengths("counts:3072,1024x2,1024")->counts,
            (Counts{{1024, 3}, {3072, 1}}));
}

TEST(SequenceLengths, ReadsATableOrALengthALine) {
  EXPECT_EQ(*parse_length_counts("length,count\n3072,1\n1024,2\n1024,1\n", "a.csv"),
            "counts:1024x3,3072x1");
  EXPECT_EQ(*parse_length_counts("count,length\n5,7\n", "a.csv"), "counts:7x5");
  EXPECT_EQ(*parse_length_counts("12\n700\r\n\n12\n", "a.txt"), "counts:12x2,700x1");
}

TEST(SequenceLengths, SaysWhatIsWrong) {
  for (const char* text :
       {"", "zipf:1", "lognormal:800", "lognormal:0,1", "lognormal:800,9", "lognormal:800,-1",
        "uniform:100", "uniform:9-5", "uniform:0-5", "counts:", "counts:5x0", "counts:5y2"}) {
    const auto lengths = parse_sequence_lengths(text);
    ASSERT_FALSE(lengths) << text;
    EXPECT_NE(lengths.error().message.find("allowed: even, lognormal:MEDIAN,SIGMA"),
              std::string::npos)
        << text;
  }
  const auto error = [](std::string_view text) {
    const auto counts = parse_length_counts(text, "a.csv");
    return counts ? std::string() : counts.error().message;
  };
  EXPECT_EQ(error("length,count\n5,0\n"),
            "a.csv:2: count: found \"0\"; allowed: a whole number from 1 to 1000000000");
  EXPECT_EQ(error("700\n12 tokens\n"),
            "a.csv:2: length: found \"12 tokens\"; allowed: a whole number from 1 to 134217728");
  EXPECT_EQ(error("\n\n"), "a.csv: holds no lengths");
  // As many of one length as are read again from the job that is written.
  EXPECT_EQ(error("length,count\n8,1000000000\n8,1\n"),
            "a.csv:3: count: found more than 1000000000 documents of 8 tokens");
  EXPECT_FALSE(parse_sequence_lengths("counts:8x1000000000,8"));
  EXPECT_NE(error("length,documents\n1,2\n"), "");
}

}  // namespace
}  // namespace ergometer::spec
