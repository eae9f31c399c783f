#include "campaign/phases_file.h"

#include <gtest/gtest.h>

namespace ergometer::campaign {
namespace {

TEST(Tokens, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_tokens("15T").value_or(0), 15e12);
  EXPECT_EQ(parse_tokens("15T tokens").value_or(0), 15e12);
  EXPECT_EQ(parse_tokens("300B").value_or(0), 300e9);
  EXPECT_EQ(parse_tokens("1.4e12").value_or(0), 1.4e12);
  EXPECT_FALSE(parse_tokens("15 GB").has_value());
  EXPECT_FALSE(parse_tokens("0").has_value());
  EXPECT_FALSE(parse_tokens("").has_value());
}

TEST(Phases, AreTokensAndSettings) {
  const auto phases = parse_phases(
      "run:\n  - {tokens: 252M, seq: 4096, gbs: 1024}\n"
      "  - {name: long, tokens: 800G, seq: 131072, cp: 16}\n",
      "run.yaml");
  ASSERT_TRUE(phases.has_value()) << phases.error().message;
  ASSERT_EQ(phases->size(), 2U);
  EXPECT_EQ((*phases)[0].name, "phase 1");
  EXPECT_EQ((*phases)[0].tokens, 252e6);
  EXPECT_EQ((*phases)[0].settings.find("seq_length")->text, "4096");
  EXPECT_EQ((*phases)[1].name, "long");
  EXPECT_EQ((*phases)[1].settings.find("context_parallel_size")->text, "16");
}

TEST(Phases, ThatAreWrongSayWhere) {
  const auto said = [](const char* text) {
    const auto phases = parse_phases(text, "run.yaml");
    return phases ? std::string() : phases.error().message;
  };
  EXPECT_TRUE(said("runs:\n  - {tokens: 1T}\n").starts_with("run.yaml:1: runs"));
  EXPECT_TRUE(said("run:\n  - {seq: 4096}\n").starts_with("run.yaml:2:"));
  EXPECT_TRUE(said("run:\n  - {tokens: many}\n").starts_with("run.yaml:2: "));
  EXPECT_NE(said("run:\n  - {tokens: 1T, gpus: 8}\n").find("is the same in every phase"),
            std::string::npos);
  EXPECT_FALSE(said("run: []\n").empty());
}

}  // namespace
}  // namespace ergometer::campaign
