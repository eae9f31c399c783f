#include <algorithm>
#include <cmath>

#include "search/estimate/estimator.h"

// Which passes are walked and played, and between which of them the others lie.

namespace ergometer::search {
namespace {

/// Of the recomputations of one curve; more where some wait for their host and others do not, fewer
/// where each is played on its own.
constexpr int32_t kAnchors = 3, kHostAnchors = 5, kCrowdedAnchors = 2;
/// Of a chunk's forward and backward: so far from its curve a recomputation is played itself.
constexpr double kBent = 0.005;
/// Curves of an overlap's recomputations: by the number of layers, and by whatever makes backwards
/// longer.
constexpr int32_t kDepthCurve = 0, kModulesCurve = 1;

}  // namespace

/// Times of a pass, from the line between the two anchors around it.
const Estimator::PassTimes& Estimator::times(Family family, size_t pass) {
  FamilyTimes& times = times_[family];
  if (!times.ready) find_anchors(family, times);
  const Anchors::Place place = times.anchors.places[pass];
  const PassTimes& first = play_anchor(family, static_cast<size_t>(place.first));
  if (place.share == 0) return first;
  const PassTimes& second = play_anchor(family, static_cast<size_t>(place.second));
  set_between(first.ends_s, second.ends_s, place.share, times.between.ends_s);
  set_between(first.left_s, second.left_s, place.share, times.between.left_s);
  return times.between;
}

void Estimator::find_anchors(Family family, FamilyTimes& times) {
  times.ready = true;
  find_curves(family);
  do {
    choose_anchors(curve_points_, times.anchors);
  } while (leave_bent_curves(family, times.anchors));
  const size_t count = times.anchors.points.size();
  times.played.resize(std::max(times.played.size(), count));
  for (PassTimes& each : times.played) {
    each.ready = false;
    for (Reduced& reduced : each.reduced) reduced.ready = false;
  }
  times.groups.resize(std::max(times.groups.size(), (count + kLanes - 1) / kLanes));
  for (LaneGroup& group : times.groups) group.filled = false;
}

/// Recomputing more layers makes backwards longer and nothing else. So does recomputing other
/// modules, as far as neither the host nor a collective beside the blocks is what is waited for. A
/// curve ends where another way of playing begins.
void Estimator::find_curves(Family family) {
  curve_points_.assign(variants_.size(), {});
  // One stage's blocks gather and scatter beside each of them.
  const bool slots_alike = !overlap_.expert && (family == kBucketed || layout_.pp > 1);
  for (size_t i = 0; i < variants_.size(); ++i) {
    const auto choice = static_cast<size_t>(variants_[i].recomputation.choice);
    const Pass& of_pass = pass(i, family);
    CurvePoint& point = curve_points_[i];
    bool host_syncs = false;
    for (const ChunkPass& chunk : of_pass.chunks) {
      point.x += chunk.backward.tt;
      host_syncs |= chunk.backward.ht > MaxPlus::kNever;
    }
    const bool crowded = layout_.pp > 1 && is_crowded(of_pass);
    const auto curves = 4 * static_cast<int32_t>(index_of(variants_[i].overlap)) +
                        (host_syncs ? 2 : 0) + (crowded ? 1 : 0);
    const bool waits = waits_for_host(of_pass);
    point.anchors = waits ? kHostAnchors : crowded ? kCrowdedAnchors : kAnchors;
    if (slots_alike && !waits)
      point.curve = 2 * curves + kModulesCurve;
    else if (space_.recomputations()[choice].granularity != spec::Recompute::kSelective)
      point.curve = 2 * curves + kDepthCurve;
  }
}

/// Takes variants off their curves whose chunks are not all as far on the way between two anchors:
/// where blocks differ, those that are recomputed first are not as long as the others.
bool Estimator::leave_bent_curves(Family family, const Anchors& anchors) {
  bool left = false;
  for (size_t i = 0; i < variants_.size(); ++i) {
    const Anchors::Place place = anchors.places[i];
    if (place.share == 0) continue;
    const auto chunks_of = [&](int32_t anchor) -> const std::vector<ChunkPass>& {
      return pass(static_cast<size_t>(anchors.points[static_cast<size_t>(anchor)]), family).chunks;
    };
    const std::vector<ChunkPass>& own = pass(i, family).chunks;
    const std::vector<ChunkPass>& first = chunks_of(place.first);
    const std::vector<ChunkPass>& second = chunks_of(place.second);
    const auto is_bent = [&](size_t kind, double MaxPlus::* part) {
      const double from_s = first[kind].backward.*part, to_s = second[kind].backward.*part;
      const double bent_s = own[kind].backward.*part - from_s - place.share * (to_s - from_s);
      return std::abs(bent_s) > kBent * (own[kind].forward.*part + own[kind].backward.*part);
    };
    const bool waits = curve_points_[i].anchors == kHostAnchors;
    for (size_t kind = 0; kind < own.size(); ++kind) {
      if (!is_bent(kind, &MaxPlus::tt) && !(waits && is_bent(kind, &MaxPlus::hh))) continue;
      curve_points_[i].curve = CurvePoint::kAlone;
      left = true;
      break;
    }
  }
  return left;
}

/// Whether a slot of the pass is bound by its host, or nearly so.
bool Estimator::waits_for_host(const Pass& of_pass) const {
  double host_s = 0;  // of a message in and one out
  if (layout_.pp > 1) host_s = 2 * transfers_.front().host_s;
  for (const ChunkPass& chunk : of_pass.chunks)
    for (const MaxPlus* slot :
         {&chunk.forward, &chunk.backward, &chunk.input_grad, &chunk.weight_grad})
      if (std::max(slot->hh, slot->ht) + host_s > slot->tt) return true;
  return false;
}

}  // namespace ergometer::search
