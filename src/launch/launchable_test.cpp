#include "launch/launchable.h"

#include <gtest/gtest.h>

#include "search/space/random_candidates.h"
#include "search/space/test_space.h"

namespace ergometer::launch {
namespace {

struct Counts {
  int64_t all = 0, launchable = 0;
};

/// Candidates of a space, and those that a framework runs, told one by one.
Counts count(const search::Space& space, Framework framework) {
  search::LegalityCheck legal(space);
  Counts found;
  for (const search::Layout& layout : space.layouts()) {
    const search::Options options = space.options(layout, legal);
    for (const search::Overlap& overlap : options.overlaps)
      for (const search::Recomputation& recomputation : options.recomputations)
        for (const search::DataOption& data : options.data) {
          const spec::Job job = space.job({layout, recomputation, overlap, data});
          ++found.all;
          found.launchable += check_layout(framework, job).has_value() ? 1 : 0;
        }
  }
  return found;
}

TEST(Launchable, ASearchTriesAllThatAFrameworkRunsAndNothingElse) {
  for (const char* model : {"llama3-8b", "mixtral-8x7b"})
    for (const Framework framework :
         {Framework::kMegatron, Framework::kNemo, Framework::kTorchtitan}) {
      SCOPED_TRACE(to_word(framework));
      const search::test::Values values = {{"model", model},       {"cluster", "hgx-h100"},
                                           {"gpus", "8"},          {"gbs", "16"},
                                           {"seq_length", "1024"}, {"cp", "1"},
                                           {"recompute", "none"},  {"mbs", "1"}};
      search::SpaceOptions options;
      options.refuses = [framework](const spec::Job& job) {
        const auto checked = check_layout(framework, job);
        return checked ? std::string() : checked.error().message;
      };
      const search::Space all = search::test::space_of(values);
      const search::Space some = search::test::space_of(values, options);
      const Counts tried = count(some, framework), known = count(all, framework);
      EXPECT_EQ(tried.launchable, tried.all);
      EXPECT_GT(tried.all, 0);
      EXPECT_LT(tried.all, known.all);
      // NeMo alone takes some shardings only without some overlaps.
      if (framework == Framework::kNemo) {
        EXPECT_GT(static_cast<double>(tried.all), 0.8 * static_cast<double>(known.launchable));
      } else {
        EXPECT_EQ(tried.all, known.launchable);
      }
    }
}

}  // namespace
}  // namespace ergometer::launch
