#include "study/figures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "study/finish.h"

namespace ergometer::study {
namespace {

run::StudyPoint point(const std::string& gpu, const std::string& gpus, const std::string& seed,
                      double tokens, double watts) {
  run::StudyPoint p;
  p.id = gpu + gpus + seed;
  p.axes = {{"gpu", gpu}, {"gpus", gpus}};
  if (!seed.empty()) p.axes["seed"] = seed;
  p.status = run::PointStatus::kOk;
  p.values = {{"performance.tokens_per_s", tokens}, {"power.cluster_mean_w", watts}};
  return p;
}

std::vector<run::Figure> figures(const std::string& figure, const run::Study& study) {
  const auto definition = parse_definition(
      "axes: {gpu: [{label: A}, {label: B}], gpus: [8, 16]}\nfigures:\n  - {id: f, title: T, "
      "caption: "
      "C, " +
          figure + "}\n",
      "s.yaml");
  EXPECT_TRUE(definition) << definition.error().message;
  if (!definition) return {};
  return make_figures(*definition, study);
}

run::Study two_by_two() {
  run::Study study;
  study.points = {point("A", "16", "", 300, 10), point("A", "8", "", 100, 5),
                  point("B", "8", "", 200, 4), point("B", "16", "", 50, 50)};
  return study;
}

TEST(Figures, LinesAreSortedAndHoldAnExpression) {
  const auto f = figures(
      "kind: line, x: gpus, y: performance.tokens_per_s / power.cluster_mean_w, series: gpu",
      two_by_two());
  ASSERT_EQ(f.size(), 1u);
  ASSERT_EQ(f[0].series.size(), 2u);
  EXPECT_EQ(f[0].series[0].x, (std::vector<double>{8, 16}));
  EXPECT_EQ(f[0].series[0].y, (std::vector<double>{20, 30}));  // 100 / 5, 300 / 10
  EXPECT_EQ(f[0].series[0].point, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(f[0].series[1].y, (std::vector<double>{50, 1}));
  EXPECT_TRUE(f[0].series[0].low.empty());
}

TEST(Figures, NormalizesAndFilters) {
  const auto most =
      figures("kind: line, x: gpus, y: performance.tokens_per_s, series: gpu, relative_to: max",
              two_by_two());
  EXPECT_EQ(most[0].series[0].y, (std::vector<double>{100.0 / 300, 1}));
  const auto first =
      figures("kind: line, x: gpus, y: performance.tokens_per_s, series: gpu, relative_to: first",
              two_by_two());
  EXPECT_EQ(first[0].series[0].y, (std::vector<double>{1, 3}));
  EXPECT_EQ(first[0].series[1].y, (std::vector<double>{1, 0.25}));
  const auto only =
      figures("kind: bar, x: gpus, y: performance.tokens_per_s, panel: gpu, where: gpu == 'B'",
              two_by_two());
  ASSERT_EQ(only.size(), 1u);
  EXPECT_EQ(only[0].panel, "B");
  EXPECT_EQ(only[0].x.categories, (std::vector<std::string>{"8", "16"}));
}

TEST(Figures, SeedsBecomeAMeanWithItsRange) {
  run::Study study;
  study.points = {point("A", "8", "1", 90, 1), point("A", "8", "2", 100, 1),
                  point("A", "8", "3", 140, 1)};
  const auto f = figures("kind: line, x: gpus, y: performance.tokens_per_s", study);
  EXPECT_EQ(f[0].series[0].y, (std::vector<double>{110}));  // (90 + 100 + 140) / 3
  EXPECT_EQ(f[0].series[0].low, (std::vector<double>{90}));
  EXPECT_EQ(f[0].series[0].high, (std::vector<double>{140}));
}

TEST(Figures, ShowTheSummarysIntervalAndLeaveOutWhatCannotRun) {
  run::Study study = two_by_two();
  study.points[0].values["performance.tokens_per_s_low"] = 290;
  study.points[0].values["performance.tokens_per_s_high"] = 320;
  study.points[2].status = run::PointStatus::kDoesNotFit;
  const auto f = figures("kind: line, x: gpus, y: performance.tokens_per_s, series: gpu", study);
  EXPECT_EQ(f[0].series[0].low, (std::vector<double>{100, 290}));
  EXPECT_EQ(f[0].series[0].high, (std::vector<double>{100, 320}));
  EXPECT_EQ(f[0].series[1].x, (std::vector<double>{16}));
}

TEST(Figures, HeatMapsIndexTheirCategories) {
  const auto f =
      figures("kind: heat-map, x: gpu, y: gpus, cell: performance.tokens_per_s", two_by_two());
  EXPECT_EQ(f[0].x.categories, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(f[0].y.categories, (std::vector<std::string>{"8", "16"}));
  EXPECT_EQ(f[0].series[0].x, (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(f[0].series[0].y, (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(f[0].series[0].value, (std::vector<double>{300, 100, 200, 50}));
}

TEST(Figures, CellsHaveATitleAndAUnit) {
  const auto f = figures(
      "kind: heat-map, x: gpu, y: gpus, cell: {value: performance.tokens_per_s, title: Rate, unit: "
      "tokens/s}",
      two_by_two());
  EXPECT_EQ(f[0].series[0].label, "Rate");
  EXPECT_EQ(f[0].y.unit, "tokens/s");
}

TEST(Figures, PanelsShareTheirCategoriesAndNameWhatIsABareNumber) {
  run::Study study = two_by_two();
  study.points.erase(study.points.begin());  // A with 16
  const auto f =
      figures("kind: bar, x: gpus, y: performance.tokens_per_s, series: gpus, panel: gpu", study);
  ASSERT_EQ(f.size(), 2u);
  EXPECT_EQ(f[0].x.categories, (std::vector<std::string>{"8", "16"}));
  EXPECT_EQ(f[1].x.categories, f[0].x.categories);
  EXPECT_EQ(f[0].series[0].label, "gpus 8");
  EXPECT_EQ(f[1].series[1].label, "gpus 16");
  EXPECT_EQ(f[1].series[1].x, (std::vector<double>{1}));
}

TEST(Finish, TellsEqualJobsFromSettingsWithoutEffect) {
  run::Study study;
  study.points = {point("A", "8", "", 1, 1), point("B", "8", "", 1, 1), point("C", "8", "", 1, 1),
                  point("D", "8", "", 2, 1)};
  study.points[0].settings = study.points[1].settings = {{"gpus", "8"}};
  study.points[2].settings = {{"gpus", "8"}, {"overlap_p2p", "true"}};
  note_equals(study);
  EXPECT_TRUE(study.points[0].notes.empty());
  EXPECT_EQ(study.points[1].notes, (std::vector<std::string>{"the same job as A8"}));
  EXPECT_EQ(study.points[2].notes,
            (std::vector<std::string>{"the same result as A8: overlap_p2p has no effect here"}));
  EXPECT_TRUE(study.points[3].notes.empty());
}

}  // namespace
}  // namespace ergometer::study
