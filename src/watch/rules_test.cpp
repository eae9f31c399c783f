#include "watch/rules.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "watch/rule_file.h"

#include <cstdio>
#include <fstream>

namespace ergometer::watch {
namespace {

std::string error_of(const std::string& text) {
  return base::error_of(parse_rules(text, "r.yaml"));
}

TEST(Rules, ARuleIsReadWhole) {
  const auto rules = parse_rules(R"(
action: {file: all.jsonl}
rules:
  - name: hot
    metric: gpu_temperature
    take: highest
    per: node
    above: 90 C
    window: 2 min
    for: 30 s
    severity: critical
    action: {command: [sh, -c, "cat > alert"]}
  - {name: quiet, finding: silent}
)",
                                 "r.yaml");
  ASSERT_TRUE(rules) << rules.error().message;
  const Rule& hot = rules->at(0);
  EXPECT_EQ(hot.take, Rule::Take::kHighest);
  EXPECT_EQ(hot.per, Rule::Per::kNode);
  EXPECT_EQ(hot.above, 90);
  EXPECT_EQ(hot.window_ns, 120'000'000'000);
  EXPECT_EQ(hot.for_ns, 30'000'000'000);
  EXPECT_EQ(hot.action.command, (std::vector<std::string>{"sh", "-c", "cat > alert"}));
  EXPECT_EQ(meaning(hot),
            "hot (critical): the highest gpu_temperature, added up over the gpus of a node, over 2 "
            "min is "
            "above 90 C for 30 s; then: the command sh");
  EXPECT_EQ(meaning(rules->at(1)),
            "quiet (warning): there is a finding silent; then: a line into all.jsonl");
}

TEST(Rules, CountersAreTakenByTheirIncrease) {
  const auto rules = parse_rules("rules: [{name: e, metric: xid, above: 0}]", "r.yaml");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->at(0).take, Rule::Take::kIncrease);
  EXPECT_EQ(rules->at(0).window_ns, 60'000'000'000);
}

TEST(Rules, TheStandardSetIsOneAndCanBeChanged) {
  const auto standard = read_rules(kStandardRules);
  ASSERT_TRUE(standard) << standard.error().message;
  const auto own = parse_rules(
      "standard: true\naction: {file: a}\nrules: [{name: xid, metric: xid, above: 3}]", "r.yaml");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->size(), standard->size());
  for (const Rule& rule : *own) EXPECT_EQ(rule.action.target, "a");
}

TEST(Rules, WhatIsWrongIsNamed) {
  EXPECT_NE(error_of("rules: [{name: a, metric: gpu_temp, above: 1}]").find("gpu_temperature?"),
            std::string::npos);
  EXPECT_NE(error_of("rules:\n- name: a\n  metric: power\n").find("r.yaml:"), std::string::npos);
  for (const char* text : {"",
                           "rules: []",
                           "rule: []",
                           "rules: [{metric: power, above: 1}]",
                           "rules: [{name: a}]",
                           "rules: [{name: a, finding: silent, above: 1}]",
                           "rules: [{name: a, finding: silent, metric: power, above: 1}]",
                           "rules: [{name: a, metric: power, above: 1, below: 0}]",
                           "rules: [{name: a, metric: power, above: much}]",
                           "rules: [{name: a, metric: power, above: 1 C}]",
                           "rules: [{name: a, metric: power, above: 1, for: soon}]",
                           "rules: [{name: a, metric: power, above: 1, window: 0 s}]",
                           "rules: [{name: a, metric: power, above: 1, of: room}]",
                           "rules: [{name: a, metric: step_time_s, above: 1, of: gpu}]",
                           "rules: [{name: a, finding: throtled.hw_slowdown}]",
                           "rules: [{name: a, finding: throttled.*_thermal}]",
                           "rules: [{name: a, finding: silent, action: {}}]",
                           "rules: [{name: a, finding: silent, action: mail}]",
                           "rules: [{name: a, finding: silent, action: {file: f, command: [b]}}]",
                           "rules: [{name: a, finding: silent, action: {webhook: chat}}]",
                           "rules: [{name: a, finding: silent, action: {command: rm -rf x}}]",
                           "rules: [{name: a, finding: silent, action: {file: f, token-file: t}}]",
                           "rules: [{name: a, finding: silent}, {name: a, finding: slower}]"})
    EXPECT_NE(error_of(text), "") << text;
}

TEST(RuleFile, WrongRulesLeaveThoseFromBefore) {
  const std::string path = testing::TempDir() + "ergometer-rules-test.yaml";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("rules: [{name: a, finding: silent}]");
  auto file = RuleFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->look(false));
  write("rules: [{name: a, findings: silent, }]");
  EXPECT_TRUE(file->look(false));
  EXPECT_NE(file->problem(), "");
  EXPECT_EQ(file->rules().at(0).finding, "silent");
  EXPECT_FALSE(file->look(false));
  write("rules: [{name: a, finding: slower}]");
  EXPECT_TRUE(file->look(false));
  EXPECT_EQ(file->problem(), "");
  EXPECT_EQ(file->rules().at(0).finding, "slower");
  EXPECT_TRUE(file->look(true));
  std::remove(path.c_str());
  EXPECT_TRUE(file->look(false));
  EXPECT_NE(file->problem(), "");
  EXPECT_FALSE(RuleFile::open(path));
}

}  // namespace
}  // namespace ergometer::watch
