#include "search/estimate/pieces.h"

#include <algorithm>

#include "search/estimates.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

std::vector<Layout> layouts_with(test::Values values) {
  values.insert(values.begin(), {{"model", "mixtral-8x7b"},
                                 {"cluster", "h100-superpod"},
                                 {"gpus", "64"},
                                 {"gbs", "128"},
                                 {"seq_length", "4096"}});
  return test::space_of(values).layouts();
}

std::vector<size_t> all_of(const Pieces& pieces) {
  std::vector<size_t> all;
  for (size_t piece = 0; piece < pieces.count(); ++piece)
    all.insert(all.end(), pieces.of(piece).begin(), pieces.of(piece).end());
  return all;
}

TEST(Pieces, HaveEveryLayoutOnceAndInOrder) {
  const std::vector<Layout> layouts = layouts_with({});
  const Pieces pieces(layouts);
  for (size_t piece = 0; piece < pieces.count(); ++piece) {
    const auto places = pieces.of(piece);
    ASSERT_FALSE(places.empty());
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    for (const size_t place : places)
      EXPECT_TRUE(have_same_blocks(layouts[place], layouts[places.front()]));
  }
  std::vector<size_t> all = all_of(pieces);
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), layouts.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
}

/// Whoever has seen the last of them never meets their blocks again.
TEST(Pieces, LayoutsOfTheSameBlocksFollowOneAnother) {
  const std::vector<Layout> layouts = layouts_with({});
  const std::vector<size_t> order = all_of(Pieces(layouts));
  const auto runs = [&](const auto& layout_at) {
    size_t count = 1;
    for (size_t i = 1; i < layouts.size(); ++i)
      count += have_same_blocks(layout_at(i), layout_at(i - 1)) ? 0u : 1u;
    return count;
  };
  std::vector<Layout> distinct;
  for (const Layout& layout : layouts)
    if (std::none_of(distinct.begin(), distinct.end(),
                     [&](const Layout& other) { return have_same_blocks(layout, other); }))
      distinct.push_back(layout);
  EXPECT_EQ(runs([&](size_t i) { return layouts[order[i]]; }), distinct.size());
  // As they are listed they do not.
  EXPECT_GT(runs([&](size_t i) { return layouts[i]; }), 2 * distinct.size());
}

TEST(Pieces, FewBlocksAreWorkForMany) {
  const std::vector<Layout> layouts =
      layouts_with({{"tp", "2"}, {"cp", "1"}, {"ep", "1"}, {"mbs", "1"}, {"sp", "true"}});
  const Pieces pieces(layouts);
  EXPECT_GT(layouts.size(), 16u);
  EXPECT_GE(pieces.count(), layouts.size() / 8);
}

TEST(Pieces, OfNothingThereAreNone) { EXPECT_EQ(Pieces({}).count(), 0u); }

}  // namespace
}  // namespace ergometer::search
