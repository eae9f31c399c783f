// What `launch` writes for a framework, read back, is the same job: over random jobs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_support.h"
#include "engine/prepared.h"
#include "intake/config/torchtitan.h"
#include "intake/launch_script.h"
#include "launch/as_written.h"
#include "launch/launchable.h"
#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/test_job.h"
#include "launch/torchtitan.h"
#include "plan/stages.h"
#include "search/space/random_candidates.h"
#include "spec/settings/setting_values.h"

namespace ergometer::launch {
namespace {

using spec::Job;

Result<spec::Settings> megatron_settings(const Job& job) {
  ERGOMETER_ASSIGN(const Arguments model, megatron_model(job.model));
  std::vector<std::string> ignored;
  return intake::parse_megatron_arguments(
      megatron_text(model) + megatron_text(megatron_layout(job)), "train.sh", ignored);
}

Result<spec::Settings> nemo_settings(const Job& job) {
  std::vector<std::string> notes, ignored;
  ERGOMETER_ASSIGN(const std::string yaml, nemo_yaml(job, 10, notes));
  EXPECT_TRUE(notes.empty()) << notes.front();
  return spec::parse_nemo(yaml, "nemo.yaml", ignored);
}

Result<spec::Settings> torchtitan_settings(const Job& job) {
  std::vector<std::string> notes;
  ERGOMETER_ASSIGN(const std::string toml, torchtitan_toml(job, 10, notes));
  EXPECT_TRUE(notes.empty()) << notes.front();
  ERGOMETER_ASSIGN(const intake::Reading reading, intake::parse_torchtitan(toml, "job.toml"));
  EXPECT_TRUE(reading.notes.empty()) << reading.notes.front();
  spec::Settings settings = reading.fallbacks;
  settings.merge(reading.defaults);
  settings.merge(reading.settings);
  return settings;
}

/// What a framework would run, as our reader of its files understands it.
Result<Job> read_back(Framework framework, const char* software, const Job& job) {
  ERGOMETER_ASSIGN(spec::Settings settings,
                   framework == Framework::kMegatron ? megatron_settings(job)
                   : framework == Framework::kNemo   ? nemo_settings(job)
                                                     : torchtitan_settings(job));
  settings.set("cluster", job.cluster.name, {"test", ""});
  settings.set("gpus", std::to_string(job.gpus), {"test", ""});
  settings.set("software", software, {"test", ""});
  return spec::resolve(settings);
}

void expect_alike(Job a, Job b, bool predicted = true) {
  // Which of the fused kernels runs is what is installed, not what is said.
  if (spec::is_fused(a.training.attention) && spec::is_fused(b.training.attention))
    b.training.attention = a.training.attention;
  // A checkpoint a layer, as if nothing were said.
  for (Job* job : {&a, &b})
    if (spec::Training& t = job->training; t.recompute == spec::Recompute::kFull &&
                                           t.recompute_method == spec::RecomputeMethod::kUniform)
      t.recompute_layers = std::max<int64_t>(1, t.recompute_layers);
  // Nobody shares gradients or parameters with anybody.
  if (b.parallelism.dp * b.parallelism.cp == 1) {
    b.parallelism.zero_stage = a.parallelism.zero_stage;
    b.training.overlap_grad_reduce = a.training.overlap_grad_reduce;
    b.training.overlap_param_gather = a.training.overlap_param_gather;
    b.training.reduce_every_micro_batch = a.training.reduce_every_micro_batch;
  }
  expect_same(a, b);
  EXPECT_EQ(plan::layers_per_chunk(a), plan::layers_per_chunk(b));
  for (const spec::SettingInfo& setting : spec::setting_table()) {
    SCOPED_TRACE(setting.name);
    // One stage sends nothing to another.
    if (setting.name == "batch_p2p_sync" && a.parallelism.pp == 1) continue;
    EXPECT_EQ(spec::setting_value(setting.name, a), spec::setting_value(setting.name, b));
  }
  if (!predicted) return;
  const auto x = engine::estimate(a), y = engine::estimate(b);
  ASSERT_EQ(x.has_value(), y.has_value());
  if (!x) return;
  EXPECT_NEAR(x->performance.step_time_s / y->performance.step_time_s, 1, 1e-9);
  EXPECT_NEAR(x->memory.peak_bytes / y->memory.peak_bytes, 1, 1e-9);
}

void read_back_random_jobs(Framework framework, const char* software, uint64_t seed) {
  constexpr int kOfASpace = 20;
  const int64_t wanted = base::random_cases(200);
  search::Draws draws(seed);
  for (int64_t jobs = 0; jobs < wanted;) {
    spec::Settings settings = search::random_settings(draws);
    settings.set("software", software, {"random", ""});
    const auto space = search::Space::make(settings, {});
    if (!space || space->bases().front().megatron.gpus > 64) continue;
    if (!check_model(framework, space->bases().front().megatron.model)) continue;
    const std::vector<search::Layout> layouts = space->layouts();
    search::LegalityCheck legal(*space);
    int of_space = 0;
    for (int tries = 0; tries < 20 * kOfASpace && of_space < kOfASpace && jobs < wanted; ++tries) {
      const auto candidate = search::random_candidate(*space, layouts, legal, draws);
      if (!candidate) continue;
      const spec::Settings said = space->settings(*candidate);
      const auto job = spec::resolve(said);
      ASSERT_TRUE(job) << job.error().message;
      if (!check_layout(framework, *job)) continue;
      ++of_space;
      ++jobs;
      std::string text;
      for (const auto& [name, value] : said.all()) text += name + "=" + value.text + " ";
      SCOPED_TRACE(text);
      const auto back = read_back(framework, software, *job);
      ASSERT_TRUE(back) << back.error().message;
      // Predicting takes ten times as long as all else; what it is made from is compared for every
      // job.
      expect_alike(*job, *back, jobs % 4 == 0);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ReadBack, MegatronsArgumentsAreTheSameJob) {
  read_back_random_jobs(Framework::kMegatron, "megatron-lm", 41);
}

TEST(ReadBack, NemosConfigurationIsTheSameJob) {
  read_back_random_jobs(Framework::kNemo, "nemo-1", 42);
}

TEST(ReadBack, TorchtitansTomlIsTheSameJob) {
  read_back_random_jobs(Framework::kTorchtitan, "torchtitan", 43);
}

/// Whatever is asked for: what is predicted is what is written, also where the framework runs
/// something else than that.
void predict_what_is_written(Framework framework, const char* software, uint64_t seed) {
  constexpr std::array kModules = {"core_attn", "layernorm", "core_attn,layernorm"};
  const int64_t wanted = base::random_cases(40);
  search::Draws draws(seed);
  int changed = 0;
  for (int64_t jobs = 0, tries = 0; jobs < wanted && tries < 100 * wanted; ++tries) {
    spec::Settings said = search::random_settings(draws);
    const auto set = [&](const char* name, const char* text) {
      said.set(name, text, {"random", ""});
    };
    set("software", software);
    set("gpus", "16");
    set("tensor_model_parallel_size", draws.pick(std::array{"1", "2", "4"}));
    if (draws.pick(std::array{true, false})) set("pipeline_model_parallel_size", "2");
    if (draws.pick(std::array{true, false})) set("fsdp", "true");
    switch (draws.pick(std::array{0, 1, 2, 3})) {
      case 0: break;
      case 1: set("recompute_granularity", "full"); break;
      case 2:
        set("recompute_granularity", "full");
        set("recompute_method", "block");
        set("recompute_num_layers", "3");
        break;
      default:
        set("recompute_granularity", "selective");
        set("recompute_modules", draws.pick(kModules));
    }
    if (draws.pick(std::array{true, false})) set("overlap_p2p", "true");
    const auto job = spec::resolve(said);
    if (!job || !check_launchable(*job) || !check_model(framework, job->model)) continue;
    std::vector<std::string> notes;
    const auto written = as_written(framework, said, *job, notes);
    if (!written) continue;
    std::string text;
    for (const auto& [name, value] : said.all()) text += name + "=" + value.text + " ";
    SCOPED_TRACE(text);
    const auto predicted = spec::resolve(*written);
    ASSERT_TRUE(predicted) << predicted.error().message;
    ++jobs;
    changed += notes.empty() ? 0 : 1;
    std::vector<std::string> none;
    const auto again = as_written(framework, *written, *predicted, none);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(none.empty()) << none.front();
  }
  EXPECT_GT(changed, 0);
}

TEST(ReadBack, MegatronRunsWhatIsPredicted) {
  predict_what_is_written(Framework::kMegatron, "megatron-lm", 51);
}

TEST(ReadBack, NemoRunsWhatIsPredicted) { predict_what_is_written(Framework::kNemo, "nemo-1", 52); }

TEST(ReadBack, TorchtitanRunsWhatIsPredicted) {
  predict_what_is_written(Framework::kTorchtitan, "torchtitan", 53);
}

// Those that no search tries.
TEST(ReadBack, TorchtitansTomlNamesItsOtherSchedules) {
  for (const char* schedule : {"looped-bfs", "zb-v", "dualpipe-v"}) {
    SCOPED_TRACE(schedule);
    spec::Settings said;
    for (const auto& [name, value] : {std::pair{"model", "llama3.1-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"software", "torchtitan"},
                                      {"gpus", "8"},
                                      {"pipeline_model_parallel_size", "4"},
                                      {"data_parallel_size", "2"},
                                      {"global_batch_size", "32"},
                                      {"zero", "0"},
                                      {"schedule", schedule}})
      said.set(name, value, {"test", ""});
    const auto job = spec::resolve(said);
    ASSERT_TRUE(job) << job.error().message;
    const auto allowed = check_layout(Framework::kTorchtitan, *job);
    ASSERT_TRUE(allowed) << allowed.error().message;
    const auto back = read_back(Framework::kTorchtitan, "torchtitan", *job);
    ASSERT_TRUE(back) << back.error().message;
    expect_alike(*job, *back);
  }
}

}  // namespace
}  // namespace ergometer::launch
