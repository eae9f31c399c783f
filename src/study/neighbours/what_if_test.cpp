#include "study/neighbours/what_if.h"

#include <gtest/gtest.h>

#include "compare/counterfactual.h"
#include "report/decision/comparison_json.h"

namespace ergometer::study {
namespace {

Neighbours small(const char* list) {
  spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                    {"cluster", "hgx-h100"},
                                    {"gpus", "8"},
                                    {"num_layers", "4"},
                                    {"seq_length", "2048"},
                                    {"tensor_model_parallel_size", "2"},
                                    {"global_batch_size", "16"}})
    settings.set(name, value, {"test", ""});
  return *neighbours(settings, *settings_to_vary(list));
}

TEST(WhatIf, ANeighbourIsWhatPredictAndCompareSayOfIt) {
  const Neighbours around = small("tp,mbs,cap");
  const auto played = what_if(around, "job", {.threads = 2});
  ASSERT_TRUE(played) << played.error().message;
  ASSERT_EQ(played->points.size(), around.points.size());
  EXPECT_FALSE(played->comparisons[played->job]);
  for (const size_t i : {size_t{0}, played->points.size() - 1}) {
    EXPECT_EQ(played->points[i].summary_json, predict(around.points[i]).summary_json);
    EXPECT_EQ(played->replicas[i], spec::resolve(around.points[i].settings)->parallelism.dp);
    const auto pair =
        compare::JobPair::make(around.points[around.job].settings, around.points[i].settings);
    auto compared = compare::compare_jobs(*pair, {});
    compared->a = "job";
    compared->b = around.points[i].id;
    ASSERT_TRUE(played->comparisons[i]);
    EXPECT_EQ(report::comparison_json({*played->comparisons[i]}),
              report::comparison_json({*compared}));
  }
}

TEST(WhatIf, ThreadsChangeNothing) {
  const Neighbours around = small("tp,cap");
  const auto one = what_if(around, "job", {.threads = 1}),
             four = what_if(around, "job", {.threads = 4});
  for (size_t i = 0; i < one->points.size(); ++i) {
    EXPECT_EQ(one->points[i].summary_json, four->points[i].summary_json);
    if (i == one->job) continue;
    EXPECT_EQ(report::comparison_json({*one->comparisons[i]}),
              report::comparison_json({*four->comparisons[i]}));
  }
}

// What does not fit stays, and says by how much.
TEST(WhatIf, WhatDoesNotFitStays) {
  spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "llama3-70b"},
                                    {"cluster", "hgx-h200"},
                                    {"gpus", "32"},
                                    {"tensor_model_parallel_size", "8"},
                                    {"pipeline_model_parallel_size", "4"},
                                    {"global_batch_size", "8"}})
    settings.set(name, value, {"test", ""});
  const auto played = what_if(*neighbours(settings, *settings_to_vary("tp")), "job", {});
  ASSERT_TRUE(played);
  const run::StudyPoint& first = played->points.front();
  EXPECT_EQ(first.axes.at("tp"), "1");
  EXPECT_EQ(first.status, run::PointStatus::kDoesNotFit);
  EXPECT_GT(first.values.at("memory.peak_bytes"), first.values.at("memory.capacity_bytes"));
  EXPECT_NE(first.reason, "");
}

}  // namespace
}  // namespace ergometer::study
