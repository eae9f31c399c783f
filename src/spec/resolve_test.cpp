#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "spec/read.h"
#include "spec/settings.h"

namespace ergometer::spec {
namespace {

/// Settings as the command line makes them: {"tp", "4"} is `--tp 4`.
Settings flags(std::initializer_list<std::pair<const char*, const char*>> values) {
  Settings settings;
  for (const auto& [word, text] : values)
    settings.set(find_setting(word)->name, text, Origin{std::string("--") + word, ""});
  return settings;
}

Settings study_job(std::initializer_list<std::pair<const char*, const char*>> values = {}) {
  Settings settings = flags({{"model", "llama3-70b"}, {"cluster", "charllm-h200"}, {"tp", "4"}, {"pp", "4"},
                             {"mbs", "1"}, {"gbs", "128"}, {"seq", "8192"}});
  settings.merge(flags(values));
  return settings;
}

TEST(Resolve, FillsWhatIsLeft) {
  const auto job = resolve(study_job());
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->gpus, 32);
  EXPECT_EQ(job->parallelism.dp, 2);  // 32 / (4 x 4)
  EXPECT_EQ(job->micro_batches(), 64);
  EXPECT_TRUE(job->parallelism.sequence_parallel);
  EXPECT_EQ(job->parallelism.zero_stage, 1);
  EXPECT_EQ(job->model.heads, 64);
  EXPECT_EQ(job->cluster.node.gpu.sms, 132);
  EXPECT_EQ(job->origins.at("tensor_model_parallel_size").text, "--tp");
  EXPECT_TRUE(job->origins.at("data_parallel_size").text.starts_with("default: "));
}

}  // namespace
}  // namespace ergometer::spec
