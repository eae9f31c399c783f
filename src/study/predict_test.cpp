#include "study/predict.h"

#include <gtest/gtest.h>

namespace ergometer::study {
namespace {

Point small(const std::string& id, const std::string& tp) {
  Point point;
  point.id = id;
  point.axes["tp"] = tp;
  for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                    {"cluster", "hgx-h100"},
                                    {"gpus", "8"},
                                    {"global_batch_size", "8"},
                                    {"zero", "1"}})
    point.settings.set(name, value, {"test", ""});
  point.settings.set("tensor_model_parallel_size", tp, {"test", ""});
  return point;
}

TEST(Predict, KeepsWhatCannotRunWithItsReason) {
  Point refused = small("c", "2");
  refused.refusal = "two files contradict each other";
  const auto points = predict({small("a", "8"), small("b", "3"), refused}, 2);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].status, run::PointStatus::kOk);
  EXPECT_EQ(points[0].axes.at("tp"), "8");
  EXPECT_GT(points[0].values.at("performance.step_time_s"), 0);
  EXPECT_GT(points[0].values.at("links.nvlink.utilization"), 0);
  EXPECT_EQ(points[0].values.at("memory.fits"), 1);
  EXPECT_EQ(points[1].status, run::PointStatus::kRefused);
  EXPECT_NE(points[1].reason.find("tensor_model_parallel_size"), std::string::npos);
  EXPECT_EQ(points[2].reason, "two files contradict each other");
  EXPECT_TRUE(points[2].summary_json.empty());
}

TEST(Predict, ThreadsChangeNothing) {
  const std::vector<Point> jobs = {small("a", "8"), small("b", "4"), small("c", "2")};
  const auto one = predict(jobs, 1);
  const auto three = predict(jobs, 3);
  for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(one[i].summary_json, three[i].summary_json);
}

}  // namespace
}  // namespace ergometer::study
