#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ergometer::analysis {

/// Which of the players have changed: bit i of player i.
using Coalition = uint64_t;
inline constexpr size_t kMostPlayers = 60;

/// Players in groups ("unions") that change one behind the other. Every player a union of its own:
/// Shapley values. Indices of players ascend within a union.
struct Unions {
  std::vector<std::vector<int>> members;

  size_t players() const;
};
Unions singletons(size_t players);

/// All coalitions whose values the attribution asks for, ascending; with one of them its complement
/// always, so that a comparison the other way round asks for the same. Singletons: all 2^n.
std::vector<Coalition> coalitions(const Unions& unions);
/// How many these are, without making them: sum over unions of 2^(M - 1) (2^m - 2), and 2^M.
double coalition_count(const Unions& unions);

/// What each player is worth: the Owen value, which with singletons is the Shapley value,
///
///   phi_i = sum over H of w(|H|, M) sum over T of w(|T|, m) [v(Q u T u {i}) - v(Q u T)]
///
/// with H the other unions that have changed (M unions in all), Q their players, T the others of
/// the player's own union (m players) that have changed, and w(s, n) = s! (n - 1 - s)! / n!: the
/// mean of the player's effect over all orders of change in which a union changes in one go.
/// `value(coalition)` is a vector, taken component by component. Result: [player][component].
///
/// The values sum to v(all) - v(none) up to rounding; a player that changes nothing gets exactly 0;
/// and v'(S) = v(all \ S), the comparison the other way round, gives exactly the negative values:
/// terms are added in pairs that such a swap maps to each other.
///
/// Worked: v({}) = 10, v({1}) = 8, v({2}) = 9, v({1, 2}) = 4:
///   phi_1 = 1/2 (8 - 10) + 1/2 (4 - 9) = -3.5, phi_2 = 1/2 (9 - 10) + 1/2 (4 - 8) = -2.5.
std::vector<std::vector<double>> attribute(
    const Unions& unions, const std::function<const std::vector<double>&(Coalition)>& value);

}  // namespace ergometer::analysis
