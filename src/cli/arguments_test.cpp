#include <gtest/gtest.h>

#include "base/test_support.h"
#include "cli/console/command.h"
#include "cli/help.h"

namespace ergometer::cli {
namespace {

Result<Arguments> parse(const char* command, const std::vector<std::string>& words) {
  return parse_arguments(*find_command(command), words);
}

std::string error(const char* command, const std::vector<std::string>& words) {
  return base::error_of(parse(command, words));
}

TEST(Arguments, LongAndShortNamesAreOneFlag) {
  const auto arguments =
      parse("simulate", {"gpt3-175b", "--tp", "8", "--pipeline-model-parallel-size=4"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->words, std::vector<std::string>{"gpt3-175b"});
  EXPECT_EQ(arguments->value("tensor-model-parallel-size"), "8");
  EXPECT_EQ(arguments->written.at("tensor-model-parallel-size"), "--tp");
  EXPECT_EQ(arguments->value("pipeline-model-parallel-size"), "4");
  EXPECT_EQ(arguments->written.at("pipeline-model-parallel-size"),
            "--pipeline-model-parallel-size");
}

TEST(Arguments, SwitchesGoOnAndOff) {
  EXPECT_EQ(parse("simulate", {"m", "--fsdp"})->value("fsdp"), "true");
  EXPECT_EQ(parse("simulate", {"m", "--no-fsdp"})->value("fsdp"), "false");
  EXPECT_EQ(parse("simulate", {"m", "--fsdp", "--no-fsdp"})->value("fsdp"), "false");
  EXPECT_FALSE(parse("simulate", {"m"})->has("fsdp"));
}

TEST(Arguments, TheLastOfARepeatedFlagCounts) {
  EXPECT_EQ(parse("simulate", {"m", "--tp", "4", "--tp", "8"})->value("tensor-model-parallel-size"),
            "8");
}

TEST(Arguments, OverridesAddUp) {
  const auto arguments = parse(
      "simulate", {"m", "--override", "node0.fan=50%", "--tp", "2", "--override=gpu1.speed=80%"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->value("override"), "node0.fan=50%,gpu1.speed=80%");
  EXPECT_EQ(arguments->words, std::vector<std::string>{"m"});
}

TEST(Arguments, UnderscoresAreDashes) {
  EXPECT_EQ(parse("simulate", {"m", "--micro_batch_size=2"})->value("micro-batch-size"), "2");
}

TEST(Arguments, ANegativeValueIsAValue) {
  EXPECT_EQ(parse("simulate", {"m", "--tp", "-1"})->value("tensor-model-parallel-size"), "-1");
}

TEST(Arguments, ExplainMayStandAlone) {
  EXPECT_EQ(parse("simulate", {"m", "--explain", "mfu"})->value("explain"), "mfu");
  EXPECT_TRUE(parse("simulate", {"m", "--explain"})->has("explain"));
  EXPECT_EQ(parse("simulate", {"m", "--explain"})->value("explain"), "");
  EXPECT_EQ(parse("simulate", {"m", "--explain", "--json"})->value("explain"), "");
}

TEST(Arguments, AnUnknownFlagSuggestsTheNearest) {
  EXPECT_NE(error("simulate", {"m", "--tensor-parallel-size", "4"})
                .find("unknown option --tensor-parallel-size"),
            std::string::npos);
  EXPECT_NE(
      error("simulate", {"m", "--microbatch-size", "4"}).find("did you mean --micro-batch-size?"),
      std::string::npos);
  EXPECT_NE(error("simulate", {"m", "-tp", "4"}).find("did you mean --tp?"), std::string::npos);
}

TEST(Arguments, WhatHasNoPlaceIsRefused) {
  EXPECT_NE(error("completion", {"a", "b"}).find("unexpected argument 'b'"), std::string::npos);
  EXPECT_NE(error("completion", {}).find("bash, zsh or fish is missing"), std::string::npos);
  EXPECT_EQ(error("simulate", {"m", "--tp"}), "simulate: --tp needs a value");
  EXPECT_EQ(error("simulate", {"m", "--tp", "--pp", "4"}),
            "simulate: --tp needs a value (--tp=--pp gives it that one)");
  EXPECT_EQ(error("simulate", {"m", "--script-args", "--gbs=4"}),
            "simulate: --script-args needs a value (--script-args=--gbs=4 gives it that one)");
  EXPECT_EQ(error("simulate", {"m", "--script-args", "--gbs=4 --tp 2"}), "");
  EXPECT_EQ(error("simulate", {"m", "--script-args=--gbs=4"}), "");
  EXPECT_NE(error("simulate", {"m", "--engine", "swep"}).find("did you mean sweep?"),
            std::string::npos);
}

TEST(Help, EveryCommandFitsAScreenAndLeadsWithExamples) {
  for (const Command& command : commands()) {
    const std::string help = command_help(command, false);
    EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 50) << command.name;
    EXPECT_LT(help.find("Examples:"), help.find("\n  --")) << command.name;
    EXPECT_NE(help.find("Examples:"), std::string::npos) << command.name;
    size_t start = 0;
    for (size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1)
      EXPECT_LE(end - start, 80u) << help.substr(start, end - start);
  }
}

}  // namespace
}  // namespace ergometer::cli
