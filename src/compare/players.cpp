#include "compare/players.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::compare {
namespace {

Coalition factors_of(const Player& player) {
  Coalition mask = 0;
  for (const int factor : player.factors) mask |= Coalition{1} << factor;
  return mask;
}

/// Player `j` leaves its union and joins player `i`, i < j; later players move up.
void merge(size_t i, size_t j, Cast& cast) {
  std::vector<int>& into = cast.players[i].factors;
  into.insert(into.end(), cast.players[j].factors.begin(), cast.players[j].factors.end());
  std::ranges::sort(into);
  cast.players.erase(cast.players.begin() + static_cast<std::ptrdiff_t>(j));
  const int left = static_cast<int>(j);
  for (std::vector<int>& members : cast.unions.members) {
    std::erase(members, left);
    for (int& member : members) member -= member > left ? 1 : 0;
  }
  std::erase_if(cast.unions.members, [](const auto& members) { return members.empty(); });
}

Unions by_kind(const std::vector<FactorKind>& kinds, const Cast& cast) {
  std::map<FactorKind, std::vector<int>> sorted;
  for (size_t i = 0; i < cast.players.size(); ++i)
    sorted[kinds[static_cast<size_t>(cast.players[i].factors.front())]].push_back(
        static_cast<int>(i));
  Unions unions;
  for (auto& [kind, members] : sorted) unions.members.push_back(std::move(members));
  return unions;
}

/// How often two players stand apart in a coalition that is refused.
struct Separation {
  size_t i = 0, j = 0;
  int64_t count = 0;
  const std::string* reason = nullptr;
};

Separation most_separated(const std::map<Coalition, std::string>& refused, const Cast& cast) {
  std::vector<std::pair<Coalition, const std::string*>> bad;
  for (const Coalition players : coalitions(cast.unions))
    if (const auto it = refused.find(compare::factors_of(cast, players)); it != refused.end())
      bad.emplace_back(players, &it->second);
  Separation most;
  for (size_t i = 0; i < cast.players.size(); ++i)
    for (size_t j = i + 1; j < cast.players.size(); ++j) {
      Separation here{i, j, 0, nullptr};
      for (const auto& [players, reason] : bad)
        if ((players >> i & 1) != (players >> j & 1)) {
          ++here.count;
          if (here.reason == nullptr) here.reason = reason;
        }
      if (here.count > most.count) most = here;
    }
  return most;
}

}  // namespace

Cast first_cast(size_t factors) {
  Cast cast;
  for (size_t i = 0; i < factors; ++i) cast.players.push_back({{static_cast<int>(i)}});
  cast.unions = analysis::singletons(factors);
  return cast;
}

Coalition factors_of(const Cast& cast, Coalition players) {
  Coalition mask = 0;
  for (size_t i = 0; i < cast.players.size(); ++i)
    if ((players >> i & 1) != 0) mask |= factors_of(cast.players[i]);
  return mask;
}

std::string title_of(const Player& player, const std::vector<std::string>& titles) {
  return base::listed(base::mapped(
      player.factors, [&](int factor) { return titles[static_cast<size_t>(factor)]; }));
}

bool merge_refused(const std::map<Coalition, std::string>& refused,
                   const std::vector<std::string>& titles, Cast& cast) {
  bool merged = false;
  for (;;) {
    const Separation most = most_separated(refused, cast);
    if (most.count == 0) return merged;
    cast.notes.push_back(
        fmt::format("{} and {} count as one: there is no job with one of them "
                    "changed and not the other ({})",
                    title_of(cast.players[most.i], titles), title_of(cast.players[most.j], titles),
                    *most.reason));
    merge(most.i, most.j, cast);
    merged = true;
  }
}

void fit(const std::vector<FactorKind>& kinds, const std::vector<std::string>& titles, double limit,
         Cast& cast) {
  cast.unions = analysis::singletons(cast.players.size());
  if (coalition_count(cast.unions) <= limit) return;
  cast.unions = by_kind(kinds, cast);
  while (coalition_count(cast.unions) > limit && cast.players.size() > 1) {
    const auto largest = std::ranges::max_element(
        cast.unions.members, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const bool alone = largest->size() < 2;
    const auto j = static_cast<size_t>(alone ? cast.players.size() - 1 : largest->back());
    const size_t i = alone ? j - 1 : static_cast<size_t>(*(largest->end() - 2));
    cast.notes.push_back(fmt::format("{} and {} count as one: there are too many causes",
                                     title_of(cast.players[i], titles),
                                     title_of(cast.players[j], titles)));
    merge(i, j, cast);
    cast.unions = by_kind(kinds, cast);
  }
}

}  // namespace ergometer::compare
