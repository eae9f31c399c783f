#include "search/space/space.h"
#include "base/test_support.h"

#include <algorithm>
#include <set>

#include "engine/prepared.h"
#include "plan/stages.h"
#include "search/space/random_candidates.h"
#include "search/space/stage_split.h"
#include "search/space/test_space.h"
#include "search/space/why_none.h"
#include "spec/settings/in_full.h"
#include "spec/settings/setting_values.h"

namespace ergometer::search {
namespace {

/// Any division of any batch, legal or not.
Candidate anything(Draws& draws, const Space& space) {
  constexpr std::array<int64_t, 5> kSizes = {1, 2, 3, 4, 8};
  Candidate c;
  c.layout.tp = c.layout.etp = draws.pick(kSizes);
  c.layout.cp = draws.pick(kSizes);
  c.layout.pp = draws.pick(kSizes);
  const int64_t unit = c.layout.tp * c.layout.cp * c.layout.pp;
  const int64_t gpus = space.bases().front().megatron.gpus;
  // The number of GPUs is given: what does not divide it is no candidate at all.
  if (gpus % unit != 0) return anything(draws, space);
  c.layout.dp = gpus / unit;
  c.layout.vpp = c.layout.pp == 1 ? 1 : draws.pick(std::array<int64_t, 4>{1, 2, 3, 4});
  c.layout.split = draws.pick(std::array{Split::kGiven, Split::kEmbeddingAndLoss, Split::kLoss,
                                         Split::kShortLast, Split::kShortEnds, Split::kOwn});
  c.layout.ep = space.bases().front().megatron.model.experts.count > 0 ? draws.pick(kSizes) : 1;
  c.layout.micro_batch = draws.pick(kSizes);
  c.layout.sequence_parallel = draws.pick(std::array{false, true});
  c.layout.schedule = static_cast<spec::Schedule>(draws.pick(std::array{0, 1, 2, 3}));
  c.recomputation.choice = draws.pick(std::array{0, 1, 2, 3});
  c.overlap.tensor = draws.pick(std::array{false, true});
  c.overlap.pipeline = draws.pick(std::array{false, true});
  c.data.sharding = static_cast<Sharding>(draws.pick(std::array{0, 1, 2, 3, 4}));
  c.data.overlap_gradients = draws.pick(std::array{false, true});
  c.data.overlap_parameters = draws.pick(std::array{false, true});
  return c;
}

TEST(Space, VisitsNoMoreThanAreAskedFor) {
  const Space space = test::space_of({{"model", "deepseek-16b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"gbs", "16"},
                                      {"seq_length", "1024"}});
  for (size_t most = 1; most <= 3; ++most) {
    size_t visits = 0;
    EXPECT_FALSE(space.for_each_layout([&](const Layout&) { return ++visits < most; }));
    EXPECT_EQ(visits, most);
  }
  EXPECT_TRUE(space.for_each_layout([](const Layout&) { return true; }));
  EXPECT_TRUE(space.has_layouts());
}

// GPUs that have less than the limit keep what they have.
TEST(Space, UsesNoMoreMemoryThanTheLimit) {
  SpaceOptions options;
  const auto memory = [&](const char* cluster) {
    const Space space = test::space_of(
        {{"model", "llama3-8b"}, {"cluster", cluster}, {"gpus", "8"}, {"gbs", "16"}}, options);
    const Space::Base& base = space.bases().front();
    EXPECT_EQ(base.megatron.cluster.node.gpu.memory_bytes, base.fsdp.cluster.node.gpu.memory_bytes);
    EXPECT_EQ(space.job({}).cluster.node.gpu.memory_bytes,
              base.megatron.cluster.node.gpu.memory_bytes);
    return base.megatron.cluster.node.gpu.memory_bytes;
  };
  const double whole = memory("hgx-h100");
  options.max_memory_bytes = 40e9;
  EXPECT_EQ(memory("hgx-h100"), 40e9 + 512.0 * (1 << 20));  // what the driver keeps
  options.max_memory_bytes = 200e9;
  EXPECT_EQ(memory("hgx-h100"), whole);

  spec::Cluster unlike;
  unlike.groups.resize(2);
  unlike.node.gpu.memory_bytes = unlike.groups[0].node.gpu.memory_bytes = 80e9;
  unlike.groups[1].node.gpu.memory_bytes = 32e9;
  limit_memory(unlike, 40e9);
  EXPECT_EQ(unlike.node.gpu.memory_bytes, 40e9);
  EXPECT_EQ(unlike.groups[0].node.gpu.memory_bytes, 40e9);
  EXPECT_EQ(unlike.groups[1].node.gpu.memory_bytes, 32e9);
}

// As many copies on every rank, no expert twice: 4 copies lie on 2 or 4 ranks, not on 1 or 8.
TEST(Space, CopiesOfExpertsAreDividedOverTheirRanks) {
  const Space space = test::space_of({{"model", "deepseek-16b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"gbs", "16"},
                                      {"seq_length", "1024"},
                                      {"moe_redundant_experts", "4"}});
  std::set<int64_t> ranks;
  space.for_each_layout([&](const Layout& layout) {
    ranks.insert(layout.ep);
    return true;
  });
  EXPECT_EQ(ranks, (std::set<int64_t>{2, 4}));
}

// 64 experts and 8 copies are 72, which 3 ranks divide where they do not divide the experts.
TEST(Space, RanksDivideExpertsAndCopiesTogether) {
  const Space space = test::space_of({{"model", "deepseek-16b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "24"},
                                      {"gbs", "48"},
                                      {"seq_length", "1024"},
                                      {"moe_redundant_experts", "8"}});
  std::set<int64_t> ranks;
  space.for_each_layout([&](const Layout& layout) {
    ranks.insert(layout.ep);
    return true;
  });
  EXPECT_EQ(ranks, (std::set<int64_t>{2, 3, 4, 6, 8, 12, 24}));
}

TEST(Space, SaysThatNoRanksDivideCopies) {
  const WhyNone none = why_none(test::space_of({{"model", "deepseek-16b"},
                                                {"cluster", "hgx-h100"},
                                                {"gpus", "8"},
                                                {"gbs", "16"},
                                                {"seq_length", "1024"},
                                                {"moe_redundant_experts", "3"}}));
  EXPECT_GT(none.divisions, 0);
  EXPECT_EQ(none.legal, 0);
  EXPECT_TRUE(std::ranges::any_of(none.ruled_out, [](const RuledOut& one) {
    return one.why.find(" ranks do not divide") != std::string::npos;
  }));
}

/// What a framework runs and a search does not try: other ways to divide layers, sequence
/// parallelism that is switched off, FSDP with stages.
bool is_left_out(const Space& space, const Candidate& candidate) {
  const Layout& layout = candidate.layout;
  const spec::Job& job = space.bases().front().megatron;
  const std::vector<Split> splits = splits_of(job, layout.pp, layout.vpp);
  return std::find(splits.begin(), splits.end(), layout.split) == splits.end() ||
         (layout.tp == 1 && layout.sequence_parallel) ||
         (layout.pp > 1 && candidate.data.sharding == Sharding::kFsdp);
}

TEST(Space, LegalIsWhatResolveAccepts) {
  Draws draws(7);
  for (const char* model : {"llama3-70b", "mixtral-8x7b", "gpt3-13b"}) {
    const Space space = test::space_of({{"model", model},
                                        {"cluster", "h100-superpod"},
                                        {"gpus", "64"},
                                        {"gbs", "256"},
                                        {"seq_length", "2048"}});
    LegalityCheck legal(space);
    int accepted = 0;
    constexpr int kTries = 700;
    for (int i = 0; i < kTries; ++i) {
      const Candidate candidate = anything(draws, space);
      const auto job = spec::resolve(space.settings(candidate));
      if (is_left_out(space, candidate)) {
        continue;
      }
      ASSERT_EQ(legal(candidate), job.has_value()) << base::error_of(job);
      accepted += job.has_value() ? 1 : 0;
    }
    EXPECT_GT(accepted, 5);
    EXPECT_LT(accepted, kTries);
  }
}

// What a search saves: under every framework, and under none, the job that was played.
TEST(Space, SettingsInFullAreTheSameJob) {
  constexpr std::array kSoftware = {"", "megatron-lm", "nemo", "nemo-1", "torchtitan", "deepspeed"};
  Draws draws(7);
  int compared = 0;
  for (int round = 0; round < base::random_cases(24); ++round) {
    spec::Settings settings = random_settings(draws);
    settings.set("gpus", "16", {});
    const std::string software = draws.pick(kSoftware);
    if (!software.empty()) settings.set("software", software, {"random", ""});
    if (round % 2 == 0) settings.erase("seq_length");
    const auto space = Space::make(settings, {});
    if (!space) continue;
    const std::vector<Layout> layouts = space->layouts();
    LegalityCheck legal(*space);
    for (int i = 0; i < 5; ++i) {
      const auto candidate = random_candidate(*space, layouts, legal, draws);
      if (!candidate) continue;
      const auto full = spec::in_full(space->settings(*candidate), space->job(*candidate));
      ASSERT_TRUE(full) << full.error().message;
      EXPECT_NE(full->find("seq_length"), nullptr);
      const spec::Job job = space->job(*candidate);
      const auto saved = spec::resolve(*full);
      ASSERT_TRUE(saved) << saved.error().message;
      ++compared;
      std::string text;
      for (const auto& [name, value] : full->all()) text += name + "=" + value.text + " ";
      SCOPED_TRACE(text);
      EXPECT_EQ(plan::layers_per_chunk(*saved), plan::layers_per_chunk(job));
      for (const spec::SettingInfo& setting : spec::setting_table()) {
        if (setting.name == "stage_layers") continue;
        EXPECT_EQ(spec::setting_value(setting.name, *saved), spec::setting_value(setting.name, job))
            << setting.name;
      }
      EXPECT_EQ(saved->software.name, job.software.name);
      EXPECT_EQ(saved->recipe.name, job.recipe.name);
      EXPECT_EQ(saved->recipe.source, job.recipe.source);
      const auto played = engine::estimate(job), read = engine::estimate(*saved);
      ASSERT_EQ(played.has_value(), read.has_value());
      if (!played) continue;
      EXPECT_EQ(played->performance.step_time_s, read->performance.step_time_s);
      EXPECT_EQ(played->performance.step_time_s_high, read->performance.step_time_s_high);
      EXPECT_EQ(played->memory.peak_bytes, read->memory.peak_bytes);
    }
  }
  EXPECT_GT(compared, 20);
}

// With adapters in the last two layers, gradients end there but where layers are computed again or
// the pipeline has stages.
TEST(Space, GradientsReachTheLayersOfTheCandidate) {
  spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                    {"cluster", "hgx-h100"},
                                    {"gpus", "8"},
                                    {"global_batch_size", "16"},
                                    {"lora", "16"},
                                    {"lora_layers", "30,31"}})
    settings.set(name, value, {"test", ""});
  const auto space = Space::make(settings, {});
  ASSERT_TRUE(space) << space.error().message;
  const std::vector<Layout> layouts = space->layouts();
  LegalityCheck legal(*space);
  Draws draws(5);
  for (int i = 0; i < 40; ++i) {
    const auto candidate = random_candidate(*space, layouts, legal, draws);
    if (!candidate) continue;
    const spec::Job job = space->job(*candidate);
    const bool ends = job.training.recompute == spec::Recompute::kNone && job.parallelism.pp == 1;
    EXPECT_EQ(std::ranges::count(job.model.layers, true, &spec::Layer::backward), ends ? 2 : 32);
    const auto resolved = spec::resolve(space->settings(*candidate));
    ASSERT_TRUE(resolved) << resolved.error().message;
    EXPECT_EQ(job.model.layers, resolved->model.layers);
  }
}

TEST(Space, JobIsWhatItsSettingsResolveTo) {
  Draws draws(3);
  for (int round = 0; round < base::random_cases(12); ++round) {
    spec::Settings settings = random_settings(draws);
    settings.set("gpus", "16", {});
    const auto space = Space::make(settings, {});
    if (!space) continue;
    const std::vector<Layout> layouts = space->layouts();
    LegalityCheck legal(*space);
    for (int i = 0; i < 20; ++i) {
      const auto candidate = random_candidate(*space, layouts, legal, draws);
      if (!candidate) continue;
      const spec::Job job = space->job(*candidate);
      const auto resolved = spec::resolve(space->settings(*candidate));
      ASSERT_TRUE(resolved.has_value()) << resolved.error().message;
      const spec::Parallelism &p = job.parallelism, &q = resolved->parallelism;
      EXPECT_EQ(std::tie(p.tp, p.cp, p.pp, p.vpp, p.dp, p.ep, p.etp, p.sequence_parallel,
                         p.schedule, p.zero_stage, p.fsdp, p.microbatch_group),
                std::tie(q.tp, q.cp, q.pp, q.vpp, q.dp, q.ep, q.etp, q.sequence_parallel,
                         q.schedule, q.zero_stage, q.fsdp, q.microbatch_group));
      EXPECT_EQ(plan::layers_per_chunk(job), plan::layers_per_chunk(*resolved));
      EXPECT_EQ(job.recipe.name, resolved->recipe.name);
      const auto played = engine::estimate(job), read = engine::estimate(*resolved);
      ASSERT_EQ(played.has_value(), read.has_value());
      if (played) {
        EXPECT_EQ(played->performance.step_time_s, read->performance.step_time_s);
      }
      const spec::Training &t = job.training, &u = resolved->training;
      EXPECT_EQ(std::tie(t.micro_batch, t.recompute, t.recompute_method, t.recompute_layers,
                         t.recompute_modules, t.overlap_grad_reduce, t.overlap_param_gather,
                         t.overlap_tp, t.overlap_p2p, t.overlap_expert_parallel,
                         t.moe_shared_overlap, t.scatter_gather_p2p),
                std::tie(u.micro_batch, u.recompute, u.recompute_method, u.recompute_layers,
                         u.recompute_modules, u.overlap_grad_reduce, u.overlap_param_gather,
                         u.overlap_tp, u.overlap_p2p, u.overlap_expert_parallel,
                         u.moe_shared_overlap, u.scatter_gather_p2p));
      EXPECT_EQ(std::tie(t.framework, t.grad_accumulation_fusion),
                std::tie(u.framework, u.grad_accumulation_fusion));
      EXPECT_EQ(job.software.name, resolved->software.name);
    }
  }
}

// Weights in 4 bits suggest PyTorch's trainers to a job without tensor parallelism, which the
// search starts from; a candidate with it is estimated, and written, under the same.
TEST(Space, SoftwareIsInferredOnce) {
  const Space space = test::space_of({{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"global_batch_size", "16"},
                                      {"lora", "16"},
                                      {"quantize", "nf4"}});
  Draws draws(5);
  LegalityCheck legal(space);
  std::vector<Layout> layouts = space.layouts();
  std::erase_if(layouts, [](const Layout& layout) { return layout.tp != 2; });
  ASSERT_FALSE(layouts.empty());
  std::optional<Candidate> candidate;
  for (int draw = 0; draw < 100 && !candidate; ++draw)
    candidate = random_candidate(space, layouts, legal, draws);
  ASSERT_TRUE(candidate);
  const auto resolved = spec::resolve(space.settings(*candidate));
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->recipe.name, space.job(*candidate).recipe.name);
}

TEST(Space, NanotronsStagesAreItsOwn) {
  const Space space = test::space_of({{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "4"},
                                      {"gbs", "8"},
                                      {"software", "nanotron"},
                                      {"pp", "4"}});
  int layouts = 0;
  for (const Layout& layout : space.layouts()) {
    if (layout.vpp > 1) continue;
    Candidate candidate;
    candidate.layout = layout;
    const spec::Settings settings = space.settings(candidate);
    EXPECT_EQ(settings.find("stage_layers"), nullptr);
    const auto resolved = spec::resolve(settings);
    ASSERT_TRUE(resolved.has_value()) << resolved.error().message;
    EXPECT_EQ(resolved->parallelism.stage_layers, (std::vector<int64_t>{9, 9, 8, 6}));
    ++layouts;
  }
  EXPECT_GT(layouts, 0);
}

// torchtitan counts both ends as layers: of two stages both have 16 of 32 layers, of four it is not
// even by itself.
TEST(Space, ADivisionIsSaidWhereTheFrameworkHasAnother) {
  const Space space = test::space_of({{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"gbs", "16"},
                                      {"software", "torchtitan"}});
  int said = 0, unsaid = 0;
  for (const Layout& layout : space.layouts()) {
    if (layout.vpp > 1 || layout.pp == 1) continue;
    Candidate candidate;
    candidate.layout = layout;
    const bool is_said = space.settings(candidate).find("stage_layers") != nullptr;
    EXPECT_EQ(is_said, layout.pp != 2) << layout.pp;
    ++(is_said ? said : unsaid);
  }
  EXPECT_GT(said, 0);
  EXPECT_GT(unsaid, 0);
}

TEST(Space, WhatIsFixedStaysFixed) {
  const Space space = test::space_of({{"model", "llama3-8b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"gbs", "16"},
                                      {"tp", "2"},
                                      {"zero", "1"},
                                      {"recompute", "none"}});
  LegalityCheck legal(space);
  int layouts = 0;
  for (const Layout& layout : space.layouts()) {
    EXPECT_EQ(layout.tp, 2);
    const Options options = space.options(layout, legal);
    EXPECT_EQ(options.recomputations.size(), 1u);
    for (const DataOption& data : options.data) EXPECT_EQ(data.sharding, Sharding::kZero1);
    ++layouts;
  }
  EXPECT_GT(layouts, 10);
}

TEST(Space, WrongFixedValuesAreTheSettingsErrors) {
  const auto space = Space::make(
      test::settings_of({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"tp", "two"}}), {});
  ASSERT_FALSE(space.has_value());
  EXPECT_NE(space.error().message.find("two"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::search
