#include "analysis/math/owen_values.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace ergometer::analysis {
namespace {

using Game = std::vector<std::vector<double>>;

std::vector<double> worth(const Unions& unions, const Game& game) {
  std::vector<double> result;
  for (const auto& player :
       attribute(unions, [&](Coalition c) -> const std::vector<double>& { return game[c]; }))
    result.push_back(player[0]);
  return result;
}

Game game_of(const std::vector<double>& values) {
  Game game;
  for (const double value : values) game.push_back({value});
  return game;
}

/// The same game when B is called A.
Game swapped(const Game& game) { return {game.rbegin(), game.rend()}; }

Game random_game(uint64_t seed, size_t players) {
  std::vector<double> values(size_t{1} << players);
  uint64_t state = seed * 2654435761u + 12345;
  for (double& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 33) / 1e8;
  }
  return game_of(values);
}

TEST(Attribution, TwoPlayersByHand) {
  // Orders 1-2 and 2-1: player 1 changes 10 to 8 or 9 to 4, player 2 changes 8 to 4 or 10 to 9.
  const std::vector<double> phi = worth(singletons(2), game_of({10, 8, 9, 4}));
  EXPECT_DOUBLE_EQ(phi[0], -3.5);
  EXPECT_DOUBLE_EQ(phi[1], -2.5);
}

TEST(Attribution, GlovesByHand) {
  // Players 1 and 2 have a left glove each, player 3 a right one; a pair is worth 1. The textbook's
  // answer is 1/6, 1/6, 4/6.
  const std::vector<double> phi = worth(singletons(3), game_of({0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(phi[0], 1.0 / 6);
  EXPECT_DOUBLE_EQ(phi[1], 1.0 / 6);
  EXPECT_DOUBLE_EQ(phi[2], 4.0 / 6);
}

TEST(Attribution, OwenValuesOfGlovesByHand) {
  // The two left gloves change one behind the other. Orders of unions: {1,2} then 3, 3 then {1,2}.
  // First: 3 gets 1. Second: whoever of 1 and 2 comes first gets 1. So 1/4, 1/4, 1/2.
  const Unions unions{{{0, 1}, {2}}};
  const std::vector<double> phi = worth(unions, game_of({0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(phi[0], 0.25);
  EXPECT_DOUBLE_EQ(phi[1], 0.25);
  EXPECT_DOUBLE_EQ(phi[2], 0.5);
}

TEST(Attribution, SumsToTheWholeAndFlipsSigns) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const size_t players = 1 + seed % 7;
    const Game game = random_game(seed, players);
    std::vector<Unions> all = {singletons(players)};
    if (players >= 4) all.push_back(Unions{{{0, 2}, {1}, {}}});
    if (players >= 4) {
      all.back().members[2].clear();
      for (size_t i = 3; i < players; ++i) all.back().members[2].push_back(static_cast<int>(i));
    }
    for (const Unions& unions : all) {
      const auto phi = worth(unions, game), back = worth(unions, swapped(game));
      const double whole = game.back()[0] - game.front()[0];
      EXPECT_NEAR(std::accumulate(phi.begin(), phi.end(), 0.0), whole, 1e-12 * 43);
      for (size_t i = 0; i < players; ++i) EXPECT_EQ(phi[i], -back[i]) << seed;
    }
  }
}

TEST(Attribution, WhoChangesNothingGetsExactlyNothing) {
  Game game = random_game(7, 5);
  for (size_t c = 0; c < game.size(); ++c) game[c | 4] = game[c & ~size_t{4}];
  EXPECT_EQ(worth(singletons(5), game)[2], 0);
  EXPECT_EQ(worth(Unions{{{0, 1}, {2, 3, 4}}}, game)[2], 0);
}

TEST(Attribution, AsksForWhatItSays) {
  for (const Unions& unions :
       {singletons(5), Unions{{{0, 1}, {2, 3, 4}}}, Unions{{{0, 3, 4}, {1}, {2}}}}) {
    const std::vector<Coalition> listed = coalitions(unions);
    EXPECT_EQ(static_cast<double>(listed.size()), coalition_count(unions));
    const std::set<Coalition> allowed(listed.begin(), listed.end());
    const std::vector<double> zero = {0};
    attribute(unions, [&](Coalition c) -> const std::vector<double>& {
      EXPECT_TRUE(allowed.contains(c)) << c;
      EXPECT_TRUE(allowed.contains(31 & ~c)) << c;
      return zero;
    });
  }
}

}  // namespace
}  // namespace ergometer::analysis
