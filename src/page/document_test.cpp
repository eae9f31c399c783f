#include "page/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/test_support.h"
#include "page/differences.h"
#include "page/test_runs.h"
#include "page/timeline_rows.h"

namespace ergometer::page {
namespace {

using Json = nlohmann::json;
using test::named;
using test::small_run;

Json document_of(std::vector<NamedRun> runs, const DocumentOptions& options = {}) {
  const auto text = document(std::move(runs), options);
  EXPECT_TRUE(text.has_value()) << base::error_of(text);
  return text ? Json::parse(*text) : Json();
}

std::string error_of(std::vector<NamedRun> runs, const DocumentOptions& options) {
  return base::error_of(document(std::move(runs), options));
}

TEST(Document, OneRun) {
  const Json whole = document_of({named("job")});
  EXPECT_EQ(whole["title"], "job");
  EXPECT_FALSE(whole.contains("comparison"));
  EXPECT_FALSE(whole.contains("differences"));
  const Json& run = whole["runs"][0];
  EXPECT_EQ(run["name"], "job");
  EXPECT_EQ(run["summary"]["performance"]["step_time_s"], 0.01);
  EXPECT_EQ(run["ranks"]["stage"], Json({0, 0, 1, 1}));
  EXPECT_FALSE(run["ranks"].contains("mean_power_w"));  // nothing is known of power
  EXPECT_EQ(run["ranks"]["breakdown_s"]["exposed_all_gather"], Json({0.003, 0.003, 0.003, 0.003}));
  EXPECT_EQ(run["chassis"], Json({{"row", {0, 0}}, {"lane", {0, 1}}, {"cooling", "liquid"}}));
  EXPECT_EQ(run["assumptions"][1]["grade"], "datasheet");
  EXPECT_FALSE(run["assumptions"][0].contains("grade"));
  EXPECT_EQ(run["collectives"]["bus_gb_per_s"], Json({250}));
  EXPECT_FALSE(run.contains("series"));
}

TEST(Document, APlaceIsThatOfTheRankWhereverItWasPut) {
  run::Run run = small_run();
  for (run::Rank& rank : run.ranks) {
    rank.node = 1 - rank.node;
    rank.slot = 1 - rank.slot;
  }
  const Json job = document_of({named("job", std::move(run))})["runs"][0];
  EXPECT_EQ(job["ranks"]["node"], Json({1, 1, 0, 0}));
  EXPECT_EQ(job["timeline"]["ranks"][0]["node"], 1);  // of rank 0
  EXPECT_EQ(job["timeline"]["ranks"][0]["slot"], 1);
  EXPECT_EQ(job["timeline"]["ranks"][1]["node"], 0);  // of rank 2
}

TEST(Document, TimelineOfOneRankAStage) {
  const Json timeline = document_of({named("job")})["runs"][0]["timeline"];
  EXPECT_EQ(timeline["names"], Json({"gemm_kernel [qkv]", "norm_kernel [norm]", "stage 0"}));
  EXPECT_EQ(timeline["streams"], Json({"compute"}));
  ASSERT_EQ(timeline["ranks"].size(), 2u);
  const Json& second = timeline["ranks"][1];
  EXPECT_EQ(second["rank"], 2);
  EXPECT_EQ(second["node"], 1);
  EXPECT_EQ(second["tasks"]["kind"], Json({"forward", "wait", "send", "backward"}));
  EXPECT_EQ(second["tasks"]["duration_us"], Json({1000, 1000, 10, 1500}));
  EXPECT_EQ(second["tasks"]["what"], Json({-1, 2, -1, -1}));
  EXPECT_EQ(second["tasks"]["beside"], Json({0, 0, 1, 0}));
  EXPECT_EQ(second["kernels"]["start_us"], Json({0.123, 1.123, 2.123}));
  EXPECT_EQ(second["kernels"]["windows_us"], Json::array({{0, 10000}}));
  EXPECT_EQ(timeline["left_out"],
            "2 of 4 ranks are shown, one a pipeline stage unless others were asked for");
}

TEST(Document, AWindowOfKernelsIsSaidToBeOne) {
  run::Run run = small_run();
  run.kernels_from_ns = 1'000;
  run.kernels_to_ns = 5'000;
  const Json whole = document_of({named("job", run)});
  const Json& timeline = whole["runs"][0]["timeline"];
  EXPECT_EQ(timeline["ranks"][0]["kernels"]["windows_us"], Json::array({{1, 5}}));
  EXPECT_NE(timeline["left_out"].get<std::string>().find("4.00 us of a step of 10.0 ms"),
            std::string::npos)
      << timeline["left_out"];
  // What nothing hides is told from the whole step then: 3 of 10 ms.
  const Json& findings = whole["runs"][0]["findings"];
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Json& f) { return f["name"] == "exposed_all_gather"; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ((*found)["cost_s"], 0.003);
}

TEST(Document, WindowsOfKernelsAreAllThere) {
  run::Run run = small_run();
  run.kernels_from_ns = 1'000;
  run.kernels_to_ns = 5'000;
  run.kernel_windows = {{0, 500}, {1'000, 5'000}, {9'999'500, 10'000'000}};
  const Json timeline = document_of({named("job", run)})["runs"][0]["timeline"];
  EXPECT_EQ(timeline["ranks"][0]["kernels"]["windows_us"],
            Json::array({{0, 0.5}, {1, 5}, {9999.5, 10000}}));
  EXPECT_NE(timeline["left_out"].get<std::string>().find(
                "3 windows, together 5.00 us of a step of 10.0 ms"),
            std::string::npos)
      << timeline["left_out"];
}

// More kernels than a page holds: the start, the middle and the end of the step stay.
TEST(TimelineRows, WindowsAreShortenedAlike) {
  TimelineRows rows;
  rows.windows = {{0, 1'000'000}};
  rows.ranks.push_back({});
  for (int64_t i = 0; i < 1000; ++i)
    rows.ranks[0].kernels.push_back({.start_ns = i * 1000, .duration_ns = 900});
  keep_windows(rows, 1000);
  EXPECT_TRUE(rows.whole);
  keep_windows(rows, 100);
  EXPECT_FALSE(rows.whole);
  ASSERT_EQ(rows.windows.size(), 3u);
  EXPECT_EQ(rows.windows[0].from_ns, 0);
  EXPECT_NEAR(static_cast<double>(rows.windows[1].from_ns + rows.windows[1].to_ns), 1e6, 1);
  EXPECT_EQ(rows.windows[2].to_ns, 1'000'000);
  EXPECT_LE(rows.ranks[0].kernels.size(), 100u);
  EXPECT_GE(rows.ranks[0].kernels.size(), 95u);
  EXPECT_EQ(rows.ranks[0].kernels.front().start_ns, 0);
  EXPECT_EQ(rows.ranks[0].kernels.back().start_ns, 999'000);
}

TEST(Document, LimitsStandBesideReadings) {
  run::Run run = small_run();
  run.assumptions.push_back({"gpu", "tdp", "0.7 kW", "a data sheet", "datasheet"});
  run.assumptions.push_back({"gpu", "temperature_slowdown", "89 C", "a driver", "measured"});
  run.assumptions.push_back({"gpu", "power.reading_instant", "25 ms", "a paper", "measured"});
  run.assumptions.push_back({"conditions", "power_cap", "not set", "default", ""});
  run.log.devices.resize(1);
  run.log.devices[0].rank = 0;
  run.log.devices[0].series = {{run::Metric::kInstantPower, false, {{0, 500}, {1'000'000, 600}}}};
  const auto limits = [&] {
    return document_of({named("job", run)})["runs"][0]["series"]["limits"];
  };
  EXPECT_EQ(limits(), Json({{"tdp_w", 700}, {"slowdown_c", 89}, {"power_window_s", 0.025}}));
  run.assumptions.back().value = "550 W";
  EXPECT_EQ(limits()["power_cap_w"], 550);
  run.assumptions.push_back({"conditions", "sensor", "none", "--sensor", ""});
  EXPECT_FALSE(limits().contains("power_window_s"));
}

TEST(Document, RanksThatAreAskedFor) {
  DocumentOptions options;
  options.ranks = {2};
  EXPECT_EQ(document_of({named("job")}, options)["runs"][0]["timeline"]["ranks"].size(), 1u);
  options.ranks = {3};
  EXPECT_EQ(error_of({named("job")}, options),
            "--ranks: there is no timeline of rank 3; there are those of 0, 2");
}

TEST(Document, SeveralRunsSayWhatDiffers) {
  run::Run other = small_run();
  other.job_json.replace(other.job_json.find("\"tp\": 2"), 7, "\"tp\": 1");
  const Json whole = document_of({named("a"), named("b", other)});
  EXPECT_EQ(whole["title"], "a, b");
  EXPECT_EQ(whole["differences"], Json({{{"name", "parallelism.tp"}, {"values", {"2", "1"}}}}));
}

TEST(Differences, OrderSourcesAndWhatOnlyOneSays) {
  const std::vector<Difference> found = differences(
      {R"({"b": 1, "a": {"x": "same", "y": [1, 2]}, "source": "s", "a2": {"source": "p"}})",
       R"({"a": {"x": "same", "y": [1, 3]}, "c": true, "a2": {"source": "q"}})"});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].name, "b");
  EXPECT_EQ(found[0].values, (std::vector<std::string>{"1", ""}));
  EXPECT_EQ(found[1].name, "a.y");
  EXPECT_EQ(found[1].values, (std::vector<std::string>{"[1,2]", "[1,3]"}));
  EXPECT_EQ(found[3].name, "c");
}

TEST(Document, TelemetryOfManyGpusIsDistributed) {
  run::Run run = small_run();
  run.log.devices.resize(101);
  for (size_t i = 0; i < run.log.devices.size(); ++i) {
    run::Device& device = run.log.devices[i];
    device.rank = static_cast<int64_t>(i);
    const auto watts = static_cast<double>(i);
    device.series = {
        {run::Metric::kInstantPower, false, {{0, watts}, {1'000'000'000, watts + 100}}}};
  }
  const Json metric = document_of({named("job", run)})["runs"][0]["series"]["metrics"][0];
  EXPECT_EQ(metric["name"], "power_w");
  EXPECT_EQ(metric["gpus"].size(), 16u);
  // Of 0 .. 100 W: the 5th percentile is 5 W.
  EXPECT_EQ(metric["distribution"]["p5"], Json({5, 105}));
  EXPECT_EQ(metric["distribution"]["p50"], Json({50, 150}));
  EXPECT_EQ(metric["distribution"]["highest"], Json({100, 200}));
  EXPECT_EQ(metric["gpus"].front()["label"], "rank 0");
  EXPECT_EQ(metric["gpus"].back()["rank"], 100);
}

TEST(Document, Study) {
  run::Run run;
  run::Study study;
  study.name = "s";
  study.title = "A study </script>";
  study.axes = {{"tp", {"1", "2"}}};
  study.points.push_back({.id = "1",
                          .family = "f",
                          .axes = {{"tp", "1"}},
                          .settings = {{"tp", "1"}},
                          .status = run::PointStatus::kOk,
                          .reason = "",
                          .notes = {"odd"},
                          .summary_json = R"({"performance": {"step_time_s": 0.1},
                                              "cluster_power": {"mean_w": 2, "watts": [1, 2]}})",
                          .values = {}});
  study.points.push_back({.id = "2",
                          .family = "",
                          .axes = {},
                          .settings = {},
                          .status = run::PointStatus::kRefused,
                          .reason = "why",
                          .notes = {},
                          .summary_json = "",
                          .values = {}});
  study.figures.push_back({.id = "f1",
                           .label = "",
                           .title = "t",
                           .caption = "c",
                           .panel = "",
                           .reported = "",
                           .kind = run::FigureKind::kHeatMap,
                           .x = {"x", "", true, {}},
                           .y = {"y", "s", false, {"a"}},
                           .series = {{"l", {1, 2}, {NAN, 2}, {}, {}, {0.5, 1}, {-1, 0}}}});
  study.findings.push_back({.id = "5a",
                            .title = "t",
                            .reported = "r",
                            .source = "s",
                            .predicted = "p",
                            .why = "w",
                            .agrees = run::Agreement::kInPart,
                            .points = {0}});
  run.study = study;
  const Json whole = document_of({named("s", run)});
  EXPECT_TRUE(whole["runs"].empty());
  EXPECT_EQ(whole["title"], "A study </script>");
  const Json& points = whole["study"]["points"];
  EXPECT_EQ(points[0]["summary"], Json({{"performance", {{"step_time_s", 0.1}}}}));
  EXPECT_EQ(points[1]["status"], "refused");
  EXPECT_FALSE(points[1].contains("summary"));
  const Json& figure = whole["study"]["figures"][0];
  EXPECT_EQ(figure["kind"], "heat-map");
  EXPECT_EQ(figure["series"][0]["y"], Json({nullptr, 2}));
  EXPECT_EQ(figure["series"][0]["point"], Json({-1, 0}));
  EXPECT_EQ(figure["x"]["log"], true);
  EXPECT_EQ(whole["study"]["findings"][0]["agrees"], "in part");
  EXPECT_NE(error_of({named("s", run), named("b")}, {}).find("is a study"), std::string::npos);
}

TEST(Document, ARecordingHoldsWhatAnalyzePrints) {
  run::Run run;
  run.source = "recorded";
  run.facts = {{"command", "train.py"}};
  run::Device cpu;
  cpu.kind = run::DeviceKind::kCpu;
  cpu.name = "package-0";
  cpu.series = {
      {.metric = run::Metric::kPower, .samples = {{1'000'000'000, 100}, {3'000'000'000, 140}}}};
  run.log.devices = {cpu};
  run.log.notes = {"no permission"};
  run.log.training.emplace_back().phases = {{"block", 1'000'000'000, 2'000'000'000}};
  const Json recorded = document_of({named("r", run)})["runs"][0]["recorded"];
  EXPECT_EQ(recorded["telemetry"]["cpus"][0]["name"], "package-0");
  EXPECT_EQ(recorded["telemetry"]["notes"][0], "no permission");
  EXPECT_EQ(recorded["marks"][0]["name"], "block");
  EXPECT_EQ(recorded["marks"][0]["end_ns"], 2'000'000'000);
  EXPECT_FALSE(recorded.contains("trace"));
}

TEST(Document, SameInputSameBytes) {
  EXPECT_EQ(*document({named("job")}, {}), *document({named("job")}, {}));
}

// A Run of an older file, or of a recording that was cut short, may know next to nothing.
TEST(Document, ARunThatKnowsNothing) {
  run::Run simulated, recorded;
  recorded.source = "recorded";
  recorded.facts["command"] = "train";
  const Json whole = document_of({named("a", simulated), named("b", recorded)});
  EXPECT_FALSE(whole["runs"][0].contains("timeline"));
  EXPECT_EQ(whole["runs"][1]["summary"]["facts"]["command"], "train");
  EXPECT_FALSE(whole["runs"][1]["summary"].contains("performance"));
}

TEST(Document, SurvivesARunThatIsCalledRecordedAndHoldsWhatIsSimulated) {
  for (const char* source : {"recorded", "imported", "something"}) {
    run::Run run = test::small_run();
    run.source = source;
    EXPECT_TRUE(document({test::named("a", run)}, {})) << source;
    const auto two = document({test::named("a", run), test::named("b", run)}, {});
    EXPECT_TRUE(two || !two.error().message.empty()) << source;
    DocumentOptions all;
    all.all_ranks = true;
    EXPECT_TRUE(document({test::named("a", run)}, all)) << source;
  }
}

}  // namespace
}  // namespace ergometer::page
