#include "optimize/files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/simulate.h"
#include "optimize/caps.h"
#include "optimize/test_jobs.h"
#include "spec/job/pipeline_layout.h"

namespace ergometer::optimize {
namespace {

Optimized changed(const spec::Job& job) {
  Optimized result;
  result.unchanged = result.chosen = job;
  result.keeps = false;
  result.chosen.parallelism.stage_layers = {5, 4, 4, 3};
  result.chosen.parallelism.rank_map = {4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15};
  set_override(result.chosen, 3, spec::OverrideKind::kPowerCap, 600);
  set_override(result.chosen, 3, spec::OverrideKind::kLockClock, 1.5e9);
  return result;
}

const std::string& text_of(const std::vector<File>& files, const std::string& name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const File& f) { return f.name == name; });
  EXPECT_NE(found, files.end()) << name;
  return found->text;
}

TEST(MegatronLayout, ReadsAsItWasWritten) {
  const std::vector<int64_t> layers = {21, 19, 1, 0, 20};
  EXPECT_EQ(megatron_layout(layers, 1), "Et*21|t*19|t||t*20mL");
  EXPECT_EQ(*spec::parse_pipeline_layout(megatron_layout(layers, 1)), layers);
}

TEST(Files, TheJobFileIsTheJobThatWasChosen) {
  const spec::Settings given = spec::test::settings_of(small_job());
  const Optimized result = changed(*spec::resolve(given));
  const auto read = spec::parse_job_file(job_file(job_settings(given, result)), "job.yaml");
  ASSERT_TRUE(read) << read.error().message;
  const auto again = spec::resolve(*read);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(engine::simulate(*again, {})->performance.step_time_s,
            engine::simulate(result.chosen, {})->performance.step_time_s);
}

TEST(Files, SayWhatSlurmAndNvidiaSmiTake) {
  const spec::Settings given = spec::test::settings_of(small_job());
  const auto files = files_of(changed(*spec::resolve(given)), given, {"cool", "warm"});
  EXPECT_TRUE(text_of(files, "slurm_hosts.txt").starts_with("cool\ncool\n"));
  EXPECT_NE(text_of(files, "gpu_order.sh")
                .find("cool\" \"*|*\" \"cool) export CUDA_VISIBLE_DEVICES=4,5,6,7,0,1,2,3"),
            std::string::npos);
  const std::string& set = text_of(files, "set_gpus.sh");
  EXPECT_NE(set.find("nvidia-smi -i 3 -pl 600\n    nvidia-smi -i 3 -lgc 1500,1500"),
            std::string::npos);
  EXPECT_NE(set.find("*) echo \"set_gpus.sh: the job has no node $(hostname)\" >&2; exit 1 ;;"),
            std::string::npos);
  EXPECT_EQ(text_of(files, "megatron_args.txt"),
            "--decoder-first-pipeline-num-layers 5\n--decoder-last-pipeline-num-layers 3\n");
}

}  // namespace
}  // namespace ergometer::optimize
