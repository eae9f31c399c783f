#pragma once

#include <vector>

#include "search/kept.h"

namespace ergometer::search {

/// What a candidate switches on: dimensions of parallelism above 1, chunks, other schedules than
/// 1F1B and its interleaving, stages that are not even, more sharding than of the optimizer (of
/// gradients as two, by ZeRO 3 as four), what is recomputed (a module each; a block as two),
/// overlaps.
int64_t features(const Space& space, const Candidate& candidate);

/// Whether the prediction cannot tell that one takes longer than the other. What both share is off
/// by the same in both; so the difference is as uncertain as its parts are:
///
///   |a - b| <= h sqrt(sum over the parts of a step of (a_i - b_i)^2),
///
/// h being half the interval as a share of the step; at least 0.5 % of the step, by which choices
/// were seen to go wrong (docs/accuracy.md), and at most 2 %, which the engine plays.
bool cannot_tell(const run::Performance& a, const run::Performance& b);

/// `played`: best first by the engine. Of those with the same value and memory the simplest stays,
/// and `Played::alike` counts the others. Then the first becomes, of those that cannot be told from
/// the best one, the one that surely fits before one at risk, with fewest features, of these the
/// best. Where that is at risk, the best that surely fits takes its place the same way, if its
/// value is at most `kWorthSurety` above the best one's. Returns how many cannot be told from what
/// came first so.
int64_t put_simplest_first(const Space& space, Objective objective, std::vector<Played>& played);

/// Whether a run may not fit (`run::fit_state`).
bool is_at_risk(const Played& played);

/// `played`: best first. Where that is at risk, the best that surely fits becomes the first, if its
/// value is at most `kWorthSurety` above the best one's.
void put_sure_first(Objective objective, std::vector<Played>& played);

/// Candidates of the same layout with fewer features, whose estimates are near enough to be worth
/// playing, the simplest first.
std::vector<Found> simpler_ones(const Space& space, const SearchOptions& options,
                                const Found& best);

}  // namespace ergometer::search
