#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/math/owen_values.h"
#include "compare/factors.h"

namespace ergometer::compare {

using analysis::Coalition;
using analysis::Unions;

/// Factors that change together, because the jobs between them cannot be.
struct Player {
  std::vector<int> factors;  ///< indices into the pair's, ascending
};

/// Who changes when: the players, and the unions that change one behind the other where trying
/// every order would take too long.
struct Cast {
  std::vector<Player> players;
  Unions unions;
  std::vector<std::string> notes;  ///< which were merged or put into unions, and why
};

/// Everybody for himself.
Cast first_cast(size_t factors);

/// Coalitions of factors that some coalition of the cast's players is.
Coalition factors_of(const Cast& cast, Coalition players);

/// Merges players until no coalition of the cast is among `refused` (coalitions of factors, with
/// the reason why there is no such job). Of all pairs of players, the one that stands apart in most
/// of the refused jobs is merged first: that is a rule which does not ask which of the two jobs is
/// called A. True: something was merged.
bool merge_refused(const std::map<Coalition, std::string>& refused,
                   const std::vector<std::string>& titles, Cast& cast);

/// Puts players into unions by kind, and merges the last ones of the largest union, until at most
/// `limit` coalitions are left to simulate.
void fit(const std::vector<FactorKind>& kinds, const std::vector<std::string>& titles, double limit,
         Cast& cast);

/// "tensor parallelism and pipeline".
std::string title_of(const Player& player, const std::vector<std::string>& titles);

}  // namespace ergometer::compare
