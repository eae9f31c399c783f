#include "launch/scripts.h"

#include <gtest/gtest.h>

#include "intake/launch_script.h"
#include "launch/test_job.h"
#include "launch/training.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::launch {
namespace {

Plan plan_of(std::vector<spec::Job> jobs, Scheduler scheduler) {
  Plan plan;
  plan.options.site.scheduler = scheduler;
  for (spec::Job& job : jobs) {
    PlannedRun run;
    run.number = static_cast<int64_t>(plan.runs.size()) + 1;
    run.job = plan.jobs.size();
    plan.runs.push_back(run);
    plan.jobs.push_back({"job", {}, std::move(job), {}, {}});
  }
  return plan;
}

const std::string& text_of(const std::vector<TextFile>& files, std::string_view path) {
  static const std::string kNone;
  for (const TextFile& file : files)
    if (file.path == path) return file.text;
  ADD_FAILURE() << "no " << path;
  return kNone;
}

spec::Job small_job(const std::string& gpus) {
  return test_job({{"model", "llama3-8b"}, {"gpus", gpus}, {"tp", "2"}});
}

/// An sbatch script asks for one number of nodes and of GPUs.
TEST(Scripts, OneBatchForEverySize) {
  const Plan plan = plan_of({small_job("16"), small_job("8"), small_job("16"), small_job("4")},
                            Scheduler::kSlurm);
  const std::vector<Batch> batches = batches_of(plan);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].file, "submit-1x4-gpus.sbatch");
  EXPECT_EQ(batches[2].file, "submit-2x8-gpus.sbatch");
  EXPECT_EQ(batches[2].runs, (std::vector<int64_t>{1, 3}));
  const std::string script = text_of(scripts_of(plan), "submit-2x8-gpus.sbatch");
  EXPECT_NE(script.find("#SBATCH --array=1,3%1\n"), std::string::npos);
  EXPECT_NE(script.find("#SBATCH --nodes=2\n"), std::string::npos);
  // Sizes alternate as the order of the runs has them.
  EXPECT_NE(text_of(scripts_of(plan), "submit.sh")
                .find("\nsubmit submit-2x8-gpus.sbatch 001\nsubmit submit-1x8-gpus.sbatch 002\n"
                      "submit submit-2x8-gpus.sbatch 003\nsubmit submit-1x4-gpus.sbatch 004\n"),
            std::string::npos);
}

TEST(Scripts, ValuesAreNotFilledTwice) {
  EXPECT_EQ(filled("@A@ and @B@", {{"@A@", "@B@"}, {"@B@", "b"}}), "@B@ and b");
}

/// What train.sh tells Megatron-LM says the job again.
TEST(Training, MegatronsScriptReadsBackAsTheJob) {
  for (const auto& settings :
       {std::map<std::string, std::string>{
            {"model", "llama3-70b"}, {"gpus", "32"}, {"tp", "4"}, {"pp", "4"}},
        {{"model", "mixtral-8x7b"}, {"gpus", "64"}, {"ep", "8"}}}) {
    const spec::Job job = test_job(settings);
    std::vector<std::string> notes;
    const auto files = training_files(Framework::kMegatron, job, {}, notes);
    ASSERT_TRUE(files) << files.error().message;
    // What settings.sh says beside it.
    const intake::ScriptContext site = {{{"DATA", ""}, {"FRAMEWORK", "/src"}}, {}, {}, 0};
    auto read = intake::parse_launch_script(text_of(*files, "train.sh"), "train.sh", site);
    ASSERT_TRUE(read) << read.error().message;
    spec::Settings back = read->settings;
    back.set("cluster", "hgx-h100", {"test", ""});
    back.set("gpus", std::to_string(job.gpus), {"test", ""});
    const auto again = spec::resolve(back);
    ASSERT_TRUE(again) << again.error().message;
    expect_same(job, *again);
  }
}

/// Megatron-LM asserts that positions cover the sequence.
TEST(Training, PositionsCoverTheSequence) {
  const spec::Job job =
      test_job({{"model", "llama3-8b"}, {"gpus", "8"}, {"cp", "4"}, {"seq", "65536"}});
  std::vector<std::string> notes;
  const auto files = training_files(Framework::kMegatron, job, {}, notes);
  ASSERT_TRUE(files);
  EXPECT_NE(text_of(*files, "train.sh").find("--max-position-embeddings 65536\n"),
            std::string::npos);
}

TEST(Kubernetes, EveryDocumentIsYaml) {
  Plan plan = plan_of({small_job("16")}, Scheduler::kKubernetes);
  Site& site = plan.options.site;
  site.container = "registry/it's:\"1\" # x";
  site.volume_claim = "shared";
  site.volume_path = "/shared";
  site.folder = "/shared/a folder";
  site.namespace_name = "123";
  site.secrets = {{"HF_TOKEN", "hugging-face", "token"}};
  const std::string text = text_of(scripts_of(plan), "runs/001/kubernetes.yaml");
  const size_t cut = text.find("---\n");
  ASSERT_NE(cut, std::string::npos);
  EXPECT_TRUE(spec::YamlMap::parse(text.substr(0, cut), "service"));
  auto job = spec::YamlMap::parse(text.substr(cut + 4), "job");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->map("metadata")->text("namespace"), "123");
  EXPECT_NE(text.find("namespace: \"123\""), std::string::npos);
  auto spec = job->map("spec");
  EXPECT_EQ(spec->integer("completions", 0, 0, 100), 2);
  auto container = spec->map("template")->map("spec")->maps("containers").at(0);
  EXPECT_EQ(container.text("image"), site.container);
  EXPECT_EQ(container.maps("env").at(2).map("valueFrom")->map("secretKeyRef")->text("name"),
            "hugging-face");
}

}  // namespace
}  // namespace ergometer::launch
