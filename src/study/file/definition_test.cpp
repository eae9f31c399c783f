#include "study/file/definition.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"

namespace ergometer::study {
namespace {

std::string definition_error(const std::string& text) {
  return base::error_of(parse_definition(text, "s.yaml"));
}

constexpr const char* kGood = R"(
title: T
question: Q?
base: {model: llama3-8b, cluster: hgx-h100, cluster.nodes: any, gpus: 8}
axes:
  tp: [1, 2]
  inlet_c: {from: 20, to: 30, step: 5}
  gbs: {from: 8, to: 32, factor: 2}
  way:
    - {label: deep, pp: 2, cluster.nic_bandwidth: 100 Gb/s}
    - {label: flat, pp: 1}
constraints: [tp * pp <= 4, "way != 'deep' or tp == 1"]
repeats: {seeds: [7, 8]}
figures:
  - {id: a, title: A, caption: C, kind: bar, x: way, y: 1 / power.tokens_per_j, series: tp}
  - id: b
    title: B
    caption: C
    kind: stack
    x: way
    parts: [{label: idle, value: performance.breakdown_s.idle}]
)";

TEST(Definition, ReadsEverything) {
  const auto d = parse_definition(kGood, "folder/study-1.yaml");
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->name, "study-1");
  ASSERT_EQ(d->sets.size(), 1u);
  const PointSet& set = d->sets[0];
  ASSERT_EQ(set.axes.size(), 4u);
  EXPECT_EQ(set.axes[1].values.size(), 3u);
  EXPECT_EQ(set.axes[1].values[2].label, "30");
  EXPECT_EQ(set.axes[2].values.size(), 3u);  // 8, 16, 32
  EXPECT_EQ(set.axes[3].values[0].change.cluster.at("nic_bandwidth"), "100 Gb/s");
  EXPECT_EQ(set.axes[3].values[0].change.settings.find("pipeline_model_parallel_size")->text, "2");
  EXPECT_EQ(set.constraints.size(), 2u);
  EXPECT_EQ(d->seeds, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(d->figures.size(), 2u);
  EXPECT_EQ(d->figures[0].y.title, "1 / power.tokens_per_j");
}

TEST(Definition, ErrorsNameLineKeyAndWhatIsAllowed) {
  EXPECT_EQ(
      definition_error("axis: {tp: [1]}\n"),
      "s.yaml:1: axis: is not a known key; did you mean axes?; allowed: name, aliases, title, "
      "question, base, axes, sets, constraints, repeats, rows, corrections, figures");
  EXPECT_NE(
      definition_error("axes:\n  tpx: [1, 2]\n").find("s.yaml:2: axes.tpx: found \"1\"; allowed: "),
      std::string::npos);
  EXPECT_NE(definition_error("axes:\n  tp: [1, 1]\n").find("has the value \"1\" twice"),
            std::string::npos);
  EXPECT_NE(definition_error("axes:\n  tp: []\n").find("has no value"), std::string::npos);
  EXPECT_NE(definition_error("axes:\n  tp: {from: 1, to: 8}\n").find("step or factor"),
            std::string::npos);
  EXPECT_NE(definition_error("axes:\n  tp: {from: 0, to: 8, factor: 2}\n").find("not above 0"),
            std::string::npos);
  EXPECT_NE(definition_error("axes:\n  cluster.nic_speed: [1]\n").find("is no number of a cluster"),
            std::string::npos);
  EXPECT_NE(definition_error("base: {modle: x}\n").find("did you mean model?"), std::string::npos);
  EXPECT_NE(
      definition_error("constraints: tp * pq < 4\n").find("pq is neither an axis nor a setting"),
      std::string::npos);
  EXPECT_NE(definition_error("constraints: tp *\n")
                .find("s.yaml:1: constraints: \"tp *\": found the end"),
            std::string::npos);
  EXPECT_NE(definition_error("repeats: {seeds: [1, 1]}\n").find("same seed twice"),
            std::string::npos);
  EXPECT_NE(definition_error("corrections: [{defect: x, note: y}]\naxes: {tp: [1]}\n")
                .find("rows is missing"),
            std::string::npos);
  EXPECT_NE(definition_error("sets: [{name: a}, {name: a}]\n").find("another set's"),
            std::string::npos);
}

TEST(Definition, FiguresUseWhatIsKnown) {
  const std::string head = "figures:\n  - {id: a, title: A, caption: C, kind: ";
  EXPECT_NE(definition_error(head + "line, x: tp, y: performance.step_time}\n")
                .find("did you mean performance.step_time_s?"),
            std::string::npos);
  EXPECT_NE(definition_error(head + "pie, x: tp, y: tp}\n").find("allowed: line, bar"),
            std::string::npos);
  EXPECT_NE(definition_error(head + "heat-map, x: tp, y: pp}\n").find("cell: is missing"),
            std::string::npos);
  EXPECT_NE(definition_error(head + "stack, x: tp}\n").find("parts: is missing"),
            std::string::npos);
  EXPECT_NE(
      definition_error(head + "line, x: tp, y: tp, series: kind}\n").find("an axis, a setting"),
      std::string::npos);
}

TEST(Definition, EveryStudyOfTheCatalogIsWhole) {
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != spec::CatalogKind::kStudy) continue;
    const auto definition = read_definition(entry.name);
    ASSERT_TRUE(definition) << definition.error().message;
    if (entry.path.ends_with(".csv")) continue;
    EXPECT_FALSE(definition->question.empty()) << entry.name;
    EXPECT_FALSE(definition->figures.empty()) << entry.name;
    EXPECT_EQ(definition->name, entry.name);
  }
}

}  // namespace
}  // namespace ergometer::study
