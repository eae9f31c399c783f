#include "study/expand.h"

#include <gtest/gtest.h>

#include <map>

#include "base/test_support.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

Expansion expanded(const std::string& text) {
  const auto definition = parse_definition(text, "s.yaml");
  EXPECT_TRUE(definition) << definition.error().message;
  if (!definition) return {};
  return base::value_of(expand(*definition));
}

TEST(Expand, TheFirstAxisVariesSlowestAndConstraintsCut) {
  // 3 x 2 less those with tp * pp > 4: (4, 2).
  const Expansion e = expanded(
      "base: {model: llama3-8b, cluster: hgx-h100}\naxes: {tp: [1, 2, 4], pp: [1, 2]}\n"
      "constraints: tp * pp <= 4\n");
  ASSERT_EQ(e.points.size(), 5u);
  EXPECT_EQ(e.left_out, 1u);
  EXPECT_EQ(e.points[0].id, "tp=1,pp=1");
  EXPECT_EQ(e.points[1].id, "tp=1,pp=2");
  EXPECT_EQ(e.points[4].id, "tp=4,pp=1");
  EXPECT_EQ(e.points[4].settings.find("tensor_model_parallel_size")->text, "4");
  ASSERT_EQ(e.axes.size(), 2u);
  EXPECT_EQ(e.axes[0].labels, (std::vector<std::string>{"1", "2", "4"}));
}

TEST(Expand, SetsAreJoinedAndSeedsRepeatEveryPoint) {
  const Expansion e = expanded(
      "sets:\n  - {name: a, base: {gpus: 8}, axes: {tp: [1, 2]}}\n"
      "  - {name: b, axes: {pp: [4]}}\nrepeats: {seeds: [5, 9]}\n");
  ASSERT_EQ(e.points.size(), 6u);
  EXPECT_EQ(e.points[1].id, "tp=1,seed=9");
  EXPECT_EQ(e.points[1].settings.find("seed")->text, "9");
  EXPECT_EQ(e.points[5].family, "b");
  EXPECT_EQ(e.points[5].settings.find("gpus"), nullptr);
  EXPECT_EQ(e.axes.back().name, "seed");
}

/// The software of every point of llama3-8b on 8 GPUs, by its id.
std::map<std::string, std::string> software_of(const std::string& axes) {
  std::map<std::string, std::string> software;
  const Expansion e =
      expanded("base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, lora: 16}\naxes: " + axes);
  for (const Point& point : e.points) {
    const auto job = spec::resolve(point.settings);
    if (!job) continue;
    // Predictions are no surer for it.
    EXPECT_EQ(job->recipe.source, "inferred") << point.id;
    software[point.id] = job->recipe.name;
  }
  return software;
}

// FSDP and 4 bits suggest other software; Megatron-LM has no 4 bits.
TEST(Expand, PointsShareSoftwareThatNobodyNamesInAnyOrder) {
  using Software = std::map<std::string, std::string>;
  const Software fsdp = {{"fsdp=false", "megatron-lm"}, {"fsdp=true", "megatron-lm"}};
  EXPECT_EQ(software_of("{fsdp: [false, true]}\n"), fsdp);
  EXPECT_EQ(software_of("{fsdp: [true, false]}\n"), fsdp);
  const Software bits = {{"quantize=16-bit", "transformers 2026"},
                         {"quantize=nf4", "transformers 2026"}};
  EXPECT_EQ(software_of("{quantize: [16-bit, nf4]}\n"), bits);
  EXPECT_EQ(software_of("{quantize: [nf4, 16-bit]}\n"), bits);
}

// AMD's Primus runs on no GPU of NVIDIA's, whichever is first.
TEST(Expand, SoftwareThatNobodyNamesIsTheVendors) {
  for (const char* clusters : {"hgx-h100, mi300x", "mi300x, hgx-h100"}) {
    const Expansion e =
        expanded(std::string("base: {model: llama3-8b, gpus: 8}\naxes: {cluster: [") + clusters +
                 "], fsdp: [true, false]}\n");
    ASSERT_EQ(e.points.size(), 4u);
    for (const Point& point : e.points) {
      const bool of_amd = point.axes.at("cluster") == "mi300x";
      EXPECT_EQ(spec::resolve(point.settings)->recipe.name, of_amd ? "primus" : "megatron-lm")
          << point.id;
    }
    EXPECT_TRUE(e.points.front().notes.empty());
    const bool amd_first = e.points.front().axes.at("cluster") == "mi300x";
    EXPECT_EQ(e.points.back().notes,
              std::vector<std::string>{
                  amd_first ? "assumed to run under megatron-lm, the first row under primus"
                            : "assumed to run under primus, the first row under megatron-lm"});
  }
}

TEST(Expand, NumbersOfTheClusterExtendIt) {
  const Expansion e = expanded(
      "base: {cluster: charllm-h200}\naxes: {cluster.node_bandwidth: [100 Gb/s, 800 Gb/s]}\n");
  ASSERT_EQ(e.points.size(), 2u);
  EXPECT_EQ(e.points[1].settings.find("cluster")->text,
            R"({"extends": "charllm-h200", "node_bandwidth": "800 Gb/s"})");
}

TEST(Expand, FingerprintsDifferWithThePoints) {
  const auto print = [](const std::string& text) {
    const auto definition = parse_definition(text, "s.yaml");
    return fingerprint(*definition, *expand(*definition));
  };
  EXPECT_EQ(print("axes: {tp: [1, 2]}\n"), print("title: other words\naxes: {tp: [1, 2]}\n"));
  EXPECT_NE(print("axes: {tp: [1, 2]}\n"), print("axes: {tp: [1, 4]}\n"));
}

TEST(Expand, CorrectsTheMatrixAndSaysSo) {
  const auto definition = read_definition("charllm");
  ASSERT_TRUE(definition) << definition.error().message;
  const auto expansion = expand(*definition);
  ASSERT_TRUE(expansion) << expansion.error().message;
  size_t corrected = 0;
  for (const Point& point : expansion->points) {
    EXPECT_FALSE(point.refusal) << point.id << ": " << *point.refusal;
    for (const std::string& note : point.notes)
      corrected += note.starts_with("corrected: ") ? 1 : 0;
    if (point.family == "optimization-sweep-h100-fsdp") {
      EXPECT_EQ(point.settings.find("gpus")->text, "64") << point.id;
    }
  }
  // 8 node counts, 22 sizes, 60 scripts, 32 stray copies; see catalog/studies/README.md.
  EXPECT_EQ(corrected, 8u + 22 + 60 + 32);
  // 386 rows and 2 models x 5 layouts x 2 micro batches x 2 kinds of recomputation on MI250.
  EXPECT_GE(expansion->points.size(), 386u + 40);
}

TEST(PointValue, ReadsLabelsSettingsAndResults) {
  run::StudyPoint point;
  point.axes = {{"network", "400 Gb/s"}, {"model", "8x7b"}, {"share", "50%"}};
  point.settings = {{"tensor_model_parallel_size", "4"}, {"gpus", "32"}, {"fsdp", "true"}};
  point.values = {{"performance.mfu", 0.4}};
  const auto number = [&](const char* name) { return std::get<double>(*point_value(name, point)); };
  EXPECT_EQ(number("network"), 400);
  EXPECT_EQ(number("share"), 50);
  EXPECT_EQ(std::get<std::string>(*point_value("model", point)), "8x7b");
  EXPECT_EQ(number("tp"), 4);
  EXPECT_EQ(number("pp"), 1);
  EXPECT_EQ(number("dp"), 8);  // 32 / (4 x 1 x 1)
  EXPECT_EQ(number("fsdp"), 1);
  EXPECT_EQ(number("performance.mfu"), 0.4);
  EXPECT_FALSE(point_value("seq", point));
  EXPECT_EQ(label_number("1e3 W")->number, 1000);
  EXPECT_FALSE(label_number("2 or 3"));
}

}  // namespace
}  // namespace ergometer::study
