#include "search/estimates.h"

#include "base/test_support.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

Space small_space() {
  return test::space_of({{"model", "llama3-8b"},
                         {"cluster", "hgx-h100"},
                         {"gpus", "8"},
                         {"gbs", "16"},
                         {"seq_length", "4096"},
                         {"recompute", "none"},
                         {"schedule", "1f1b"},
                         {"cp", "1"}});
}

/// What is asked for decides what is kept: the best, a front, candidates near a limit.
std::vector<SearchOptions> several_options() {
  std::vector<SearchOptions> all(3);
  for (SearchOptions& options : all) options.top = 2;
  all[1].pareto = {Objective::kTime, Objective::kMemory};
  all[2].objective = Objective::kEnergy;
  all[2].limits.most = {0, 500, 0};
  return all;
}

Estimates estimate_shard(const Space& space, const SearchOptions& options, spread::Shard shard) {
  const auto part = estimate(space, options, {.shard = shard}, *spread::thread_crew());
  EXPECT_TRUE(part) << part.error().message;
  auto read = parse_estimates(space, space.layouts(), to_text(*part, false));
  EXPECT_TRUE(read);
  return *std::move(read);
}

TEST(Estimates, AreTheSameWhoeverMakesThem) {
  const Space space = small_space();
  ASSERT_GT(space.layouts().size(), 30u);
  for (SearchOptions options : several_options()) {
    const std::string whole = to_text(estimate_shard(space, options, {}), true);
    options.prune = false;
    EXPECT_EQ(to_text(estimate_shard(space, options, {}), true), whole);
    options.prune = true;
    options.threads = 3;
    EXPECT_EQ(to_text(estimate_shard(space, options, {}), true), whole);
    std::vector<Estimates> parts;
    for (const size_t number : {3, 1, 2})
      parts.push_back(estimate_shard(space, options, {number, 3}));
    EXPECT_EQ(to_text(join(space, options, parts), true), whole);
  }
}

TEST(Estimates, TheNearestMissIsTheSameWhoeverFindsIt) {
  const Space space = test::space_of({{"model", "gpt3-175b"},
                                      {"cluster", "hgx-h100"},
                                      {"gpus", "8"},
                                      {"gbs", "8"},
                                      {"seq_length", "2048"},
                                      {"cp", "1"},
                                      {"vpp", "1"}});
  const SearchOptions options;
  const Estimates whole = estimate_shard(space, options, {});
  ASSERT_TRUE(whole.nearest);
  EXPECT_EQ(whole.feasible, 0);
  EXPECT_GT(whole.nearest->needed, whole.nearest->capacity);
  Estimator estimator(space);
  EXPECT_FALSE(estimator.estimate(whole.nearest->candidate)->memory_bytes <
               whole.nearest->capacity);
  std::vector<Estimates> parts;
  for (const size_t number : {2, 1}) parts.push_back(estimate_shard(space, options, {number, 2}));
  EXPECT_EQ(to_text(join(space, options, parts), true), to_text(whole, true));
}

TEST(Estimates, GoOnWhereTheyWereStopped) {
  const Space space = small_space();
  const base::TestFolder temporary;
  const std::string out = temporary.path("out");
  SearchOptions options;
  const std::string whole = to_text(estimate_shard(space, options, {}), true);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  Spreading spreading{.identity = "x", .out = out};
  spreading.advance = [&, pieces = 0]() mutable { stop = ++pieces >= 2; };
  {
    const auto part = estimate(space, options, spreading, *spread::thread_crew());
    ASSERT_TRUE(part);
    EXPECT_GT(part->left, 0u);
  }
  {
    // Before layouts are listed: what was finished stays.
    const auto none = estimate(space, options, spreading, *spread::thread_crew());
    ASSERT_TRUE(none);
    EXPECT_EQ(none->layouts, 0);
    EXPECT_GT(none->left, 0u);
  }
  stop = false;
  size_t before = 0;
  spreading.advance = {};
  spreading.begin = [&](size_t, size_t finished) { before = finished; };
  auto rest = estimate(space, options, spreading, *spread::thread_crew());
  ASSERT_TRUE(rest);
  rest->journal->remove();
  EXPECT_EQ(before, 2u);
  EXPECT_GT(rest->now, 0);
  EXPECT_LT(rest->now, rest->candidates);
  EXPECT_EQ(rest->left, 0u);
  EXPECT_EQ(to_text(*rest, true), whole);
}

TEST(Estimates, DamagedTextIsRefused) {
  const Space space = small_space();
  const std::vector<Layout> layouts = space.layouts();
  SearchOptions options;
  const std::string text = to_text(estimate_shard(space, options, {}), true);
  const size_t numbers = text.find_last_of(' ');
  for (size_t size = 0; size < numbers; size += 1 + numbers / 97)
    EXPECT_FALSE(parse_estimates(space, layouts, text.substr(0, size))) << size;
  const auto one = [&](const char* found) {
    return parse_estimates(space, layouts, std::string("8 9 9 0 0 1 ") + found + "0 ").has_value();
  };
  EXPECT_TRUE(one("0 0 0 0 0 0 0 1 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("-1 0 0 0 0 0 0 1 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("999999999999999 0 0 0 0 0 0 1 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("0 99 0 0 0 0 0 1 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("0 0 0 0 0 0 0 5 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("0 0 0 2 0 0 0 1 0 0 1 1 1 1 1 "));
  EXPECT_FALSE(one("0 0 0 0 0 0 0 1 0 0 nan 1 1 1 1 "));
}

}  // namespace
}  // namespace ergometer::search
