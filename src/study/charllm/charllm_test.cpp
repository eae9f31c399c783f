#include "study/charllm/charllm.h"

#include <gtest/gtest.h>

#include <set>

#include "base/test_support.h"
#include "spec/files/matrix.h"

namespace ergometer::study {
namespace {

TEST(Charllm, PointsHaveNamesOfTheirOwnAndCanRun) {
  const auto points = charllm_points();
  ASSERT_TRUE(points) << points.error().message;
  std::set<std::pair<std::string, std::string>> names;
  for (const Point& point : *points) {
    EXPECT_TRUE(names.insert({point.family, point.id}).second) << point.family << "/" << point.id;
    const auto job = spec::resolve(point.settings);
    EXPECT_TRUE(job) << point.family << "/" << point.id << ": " << base::error_of(job);
  }
}

TEST(Charllm, AnEmptyStudyHasNoFigureAndNoFinding) {
  const run::Study empty;
  EXPECT_TRUE(charllm_figures(empty).empty());
  EXPECT_TRUE(charllm_findings(empty).empty());
}

TEST(Charllm, AgreementCountsSignsApart) {
  std::vector<run::StudyFinding> findings(4);
  findings[0].id = "sign.a";
  findings[0].agrees = run::Agreement::kYes;
  findings[1].id = "sign.b";
  findings[1].agrees = run::Agreement::kInPart;
  findings[2].id = "size.c";
  findings[2].agrees = run::Agreement::kYes;
  findings[3].id = "open.d";
  findings[3].agrees = run::Agreement::kYes;
  EXPECT_EQ(agreement_text(findings),
            "1 of 2 signs and rank orders agree, 1 in part; 1 of 1 sizes agree, 0 in part");
}

}  // namespace
}  // namespace ergometer::study
