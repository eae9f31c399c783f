#include "analysis/math/owen_values.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

Coalition all_of(const std::vector<int>& members) {
  Coalition mask = 0;
  for (const int member : members) mask |= Coalition{1} << member;
  return mask;
}

/// w(s, n) as 1 / (n (n - 1 over s)): the same number for s and n - 1 - s, to the last bit.
double weight(int changed, size_t count) {
  const int others = static_cast<int>(count) - 1;
  double choose = 1;
  for (int i = 1; i <= std::min(changed, others - changed); ++i)
    choose = choose * (others + 1 - i) / i;
  return 1 / (static_cast<double>(count) * choose);
}

/// Spreads the low bits of `index` over the players of `members`, `skipped` left out.
Coalition chosen(uint64_t index, const std::vector<int>& members, int skipped) {
  Coalition mask = 0;
  for (const int member : members) {
    if (member == skipped) continue;
    if ((index & 1) != 0) mask |= Coalition{1} << member;
    index >>= 1;
  }
  return mask;
}

/// The same over whole unions.
Coalition chosen(uint64_t index, const std::vector<Coalition>& masks, size_t skipped) {
  Coalition mask = 0;
  for (size_t i = 0; i < masks.size(); ++i) {
    if (i == skipped) continue;
    if ((index & 1) != 0) mask |= masks[i];
    index >>= 1;
  }
  return mask;
}

std::vector<Coalition> masks_of(const Unions& unions) {
  return base::mapped(unions.members, all_of);
}

/// What one player of union `own` may find changed before it: outer unions and inner players.
struct Orders {
  const Unions& unions;
  const std::vector<Coalition>& masks;
  size_t own;
  int player;

  const std::vector<int>& members() const { return unions.members[own]; }
  uint64_t inner() const { return uint64_t{1} << (members().size() - 1); }
  uint64_t count() const { return inner() << (masks.size() - 1); }
  /// `count() - 1 - index` is what is left when everybody else is taken away.
  Coalition before(uint64_t index) const {
    return chosen(index / inner(), masks, own) | chosen(index % inner(), members(), player);
  }
  double share(uint64_t index) const {
    return weight(std::popcount(index / inner()), masks.size()) *
           weight(std::popcount(index % inner()), members().size());
  }
};

}  // namespace

size_t Unions::players() const {
  size_t count = 0;
  for (const std::vector<int>& union_members : members) count += union_members.size();
  return count;
}

Unions singletons(size_t players) {
  Unions unions;
  for (size_t i = 0; i < players; ++i) unions.members.push_back({static_cast<int>(i)});
  return unions;
}

double coalition_count(const Unions& unions) {
  const auto all = static_cast<double>(unions.members.size());
  double count = std::exp2(all);
  for (const std::vector<int>& members : unions.members)
    count += std::exp2(all - 1) * (std::exp2(static_cast<double>(members.size())) - 2);
  return count;
}

std::vector<Coalition> coalitions(const Unions& unions) {
  const std::vector<Coalition> masks = masks_of(unions);
  std::vector<Coalition> all;
  if (masks.empty()) return {0};
  for (size_t own = 0; own < masks.size(); ++own) {
    const uint64_t inner = uint64_t{1} << unions.members[own].size();
    for (uint64_t outer = 0; outer < uint64_t{1} << (masks.size() - 1); ++outer)
      for (uint64_t index = 0; index < inner; ++index)
        all.push_back(chosen(outer, masks, own) | chosen(index, unions.members[own], -1));
  }
  base::sort_unique(all);
  return all;
}

std::vector<std::vector<double>> attribute(
    const Unions& unions, const std::function<const std::vector<double>&(Coalition)>& value) {
  ERGOMETER_CHECK(unions.players() <= kMostPlayers, "too many players for a bit each");
  const std::vector<Coalition> masks = masks_of(unions);
  const size_t components = value(0).size();
  std::vector<std::vector<double>> worth(unions.players(), std::vector<double>(components, 0));
  for (size_t own = 0; own < unions.members.size(); ++own)
    for (const int player : unions.members[own]) {
      const Orders orders{unions, masks, own, player};
      const Coalition self = Coalition{1} << player;
      std::vector<double>& sum = worth[static_cast<size_t>(player)];
      const auto effect = [&](uint64_t index, size_t component) {
        const Coalition before = orders.before(index);
        return value(before | self)[component] - value(before)[component];
      };
      const uint64_t count = orders.count();
      for (uint64_t index = 0; 2 * index < count; ++index) {
        const uint64_t mirrored = count - 1 - index;
        const double share = orders.share(index);
        for (size_t c = 0; c < components; ++c)
          sum[c] += share *
                    (index == mirrored ? effect(index, c) : effect(index, c) + effect(mirrored, c));
      }
    }
  return worth;
}

}  // namespace ergometer::analysis
