#include "search/what_if.h"

#include "base/test_support.h"
#include "search/search.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

Space space_of(const char* model, const char* gpus) {
  return test::space_of({{"model", model},
                         {"cluster", "hgx-h100"},
                         {"gpus", gpus},
                         {"gbs", "16"},
                         {"seq_length", "4096"},
                         {"recompute", "none"},
                         {"cp", "1"},
                         {"schedule", "1f1b"}});
}

std::vector<SearchOptions> several_goals() {
  std::vector<SearchOptions> all(3);
  for (SearchOptions& options : all) options.top = 2;
  all[0].simplest = true;
  all[1].objective = Objective::kEnergy;
  all[2].limits.most = {0, 600, 0};
  all.resize(static_cast<size_t>(base::random_cases(3)));
  return all;
}

void expect_same(const std::vector<WhatIf>& a, const std::vector<WhatIf>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].more, b[i].more);
    EXPECT_EQ(a[i].impossible, b[i].impossible);
    ASSERT_EQ(a[i].better.has_value(), b[i].better.has_value()) << a[i].more;
    if (!a[i].better) continue;
    EXPECT_EQ(a[i].better->found.number, b[i].better->found.number) << a[i].more;
    EXPECT_EQ(a[i].better->run.performance.step_time_s, b[i].better->run.performance.step_time_s);
  }
}

TEST(WhatIf, WhatIsKnownChangesNoAnswer) {
  size_t better = 0;
  for (const Space& space : {space_of("llama3-8b", "16"), space_of("llama2-70b", "16")})
    for (const SearchOptions& options : several_goals()) {
      auto found = search(space, options);
      ASSERT_TRUE(found) << found.error().message;
      const std::vector<WhatIf> answers = what_if(space, options, *found);
      found->known = {};
      expect_same(answers, what_if(space, options, *found));
      for (const WhatIf& answer : answers) better += answer.better ? 1 : 0;
    }
  EXPECT_GT(better, 0u);
}

/// Counts what is looked at: a layout that is as before is not.
TEST(WhatIf, WhatAChangeDoesNotTouchIsNotPriced) {
  const Space space = space_of("llama2-70b", "16");
  SearchOptions options;
  options.top = 1;
  const auto found = search(space, options);
  ASSERT_TRUE(found);
  options.worst = found->best.front().found.estimate.step_s;
  const auto looked_at = [&](const Space& changed, Differs differs, const Known* known) {
    options.differs = differs;
    options.known = known;
    options.more_bytes = 1e9;
    const auto again = search(changed, options);
    EXPECT_TRUE(again);
    EXPECT_LE(played_value(options.objective, again->best.front()),
              played_value(options.objective, found->best.front()));
    return again->candidates;
  };
  const Space memory =
      space.on([](spec::Cluster& cluster) { cluster.node.gpu.memory_bytes += 1e9; });
  EXPECT_EQ(looked_at(memory, Differs::kMemory, nullptr), found->candidates);
  EXPECT_LT(looked_at(memory, Differs::kMemory, &found->known), found->candidates * 9 / 10);
  const Space network = space.on([](spec::Cluster& cluster) {
    for (spec::Nic& nic : cluster.node.nics) nic.bytes_per_s *= 1.25;
  });
  EXPECT_EQ(looked_at(network, Differs::kNetwork, nullptr), found->candidates);
  EXPECT_LT(looked_at(network, Differs::kNetwork, &found->known), found->candidates * 9 / 10);
}

}  // namespace
}  // namespace ergometer::search
