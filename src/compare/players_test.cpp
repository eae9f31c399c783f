#include "compare/players.h"

#include <gtest/gtest.h>

namespace ergometer::compare {
namespace {

const std::vector<std::string> kTitles = {"a", "b", "c", "d"};

TEST(Players, ThoseThatCannotChangeAloneAreMerged) {
  // b without c (factors {1} in, {2} out) and c without b are refused, whatever a does.
  const std::map<Coalition, std::string> refused = {
      {0b010, "b alone"}, {0b011, "b with a"}, {0b100, "c alone"}, {0b101, "c with a"}};
  Cast cast = first_cast(3);
  EXPECT_TRUE(merge_refused(refused, kTitles, cast));
  ASSERT_EQ(cast.players.size(), 2u);
  EXPECT_EQ(cast.players[1].factors, (std::vector<int>{1, 2}));
  EXPECT_EQ(factors_of(cast, 0b10), 0b110u);
  ASSERT_EQ(cast.notes.size(), 1u);
  EXPECT_NE(cast.notes[0].find("b and c count as one"), std::string::npos) << cast.notes[0];
  EXPECT_FALSE(merge_refused(refused, kTitles, cast));
}

TEST(Players, TheRuleDoesNotAskWhichJobIsCalledA) {
  // Refused jobs of the comparison the other way round are the complements.
  for (const Coalition one : {0b0001u, 0b0110u, 0b1010u, 0b0111u})
    for (const Coalition two : {0b0010u, 0b0100u, 0b1001u}) {
      Cast there = first_cast(4), back = first_cast(4);
      merge_refused({{one, "x"}, {two, "y"}}, kTitles, there);
      merge_refused({{15 & ~one, "x"}, {15 & ~two, "y"}}, kTitles, back);
      ASSERT_EQ(there.players.size(), back.players.size());
      for (size_t i = 0; i < there.players.size(); ++i)
        EXPECT_EQ(there.players[i].factors, back.players[i].factors);
    }
}

TEST(Players, FitGroupsByKindAndMergesTheLargestUnion) {
  using enum FactorKind;
  const std::vector<FactorKind> kinds = {kMachine, kLinks, kMachine, kMachine};
  Cast cast = first_cast(4);
  fit(kinds, kTitles, 16, cast);
  EXPECT_EQ(cast.unions.members.size(), 4u) << "2^4 = 16 are allowed";
  // {a, c, d} and {b}: 4 + 2 x (8 - 2) + 2 x 0 = 16 as well; with {a, c+d} 4 + 2 x (4 - 2) = 8.
  EXPECT_EQ(coalition_count(Unions{{{0, 2, 3}, {1}}}), 16);
  fit(kinds, kTitles, 8, cast);
  ASSERT_EQ(cast.players.size(), 3u);
  EXPECT_EQ(cast.players[2].factors, (std::vector<int>{2, 3}));
  EXPECT_LE(coalition_count(cast.unions), 8);
  EXPECT_EQ(cast.notes.size(), 1u);
}

}  // namespace
}  // namespace ergometer::compare
