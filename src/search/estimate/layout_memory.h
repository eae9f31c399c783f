#pragma once

#include <array>
#include <vector>

#include "plan/memory_reserve.h"
#include "search/estimate/memory_estimate.h"
#include "search/estimate/parts.h"

namespace ergometer::search {

/// What data options run the same kernels, and keep the same tensors, for all that follows them:
/// kBucketed is ZeRO 0 and 1.
enum Family : uint8_t { kBucketed, kScattering, kGathering, kFsdpFamily };
inline constexpr int kFamilies = 4;
Family family_of(Sharding sharding);
/// The first family that runs the same kernels. `scatters`: ZeRO 2 and 3 run others than 0 and 1.
Family kernels_of(Family family, bool scatters);

/// Memory of the candidates of one layout after the other: `plan::memory`'s own terms, each found
/// once for all candidates that share it. Nothing here needs a price.
class LayoutMemory {
 public:
  LayoutMemory(const Space& space, Parts& parts) : space_(space), parts_(parts) {}

  /// `division`: of the layout, whatever is recomputed. `scatters`: as in `kernels_of`.
  void set_layout(const Layout& layout, const Division& division, bool scatters);
  /// Of the stage that needs most, on one rank.
  double bytes(const Overlap& overlap, const Recomputation& recomputation, Sharding sharding);
  /// The same with what the allocator reserves, and how much there is.
  double needed(const Overlap& overlap, const Recomputation& recomputation, Sharding sharding) {
    return most(overlap, recomputation, sharding).needed;
  }
  double capacity() const { return capacity_; }
  /// Of one stage kind.
  double stage_bytes(size_t kind, const Overlap& overlap, const Recomputation& recomputation,
                     Sharding sharding);
  bool fits(const Overlap& overlap, const Recomputation& recomputation, const DataOption& data);

 private:
  /// What does not depend on what is recomputed, by stage kind.
  struct States {
    bool ready = false;
    std::vector<double> always, step;
    std::vector<plan::Reserve> reserve;
    std::vector<double> gradients;  ///< that appear in backward
  };
  /// Of the stage that needs most.
  struct Most {
    double bytes = 0, needed = 0;  ///< without and with what the allocator reserves
  };
  /// The peak by stage kind.
  struct Activations {
    bool ready = false;
    size_t overlap = 0;
    Recomputation recomputation;
    std::vector<double> peak;
    double gradient_lift = 0;  ///< of the one chunk there is where gradients appear in backward
  };
  /// By overlap and sharding; 0: not known yet.
  using Known = std::array<std::array<Most, kShardings>, kOverlaps>;

  Contents& contents_of(const Candidate& candidate, Family kernels);
  const States& states_of(const Overlap& overlap, const Recomputation& recomputation,
                          Sharding sharding);
  const Most& most(const Overlap& overlap, const Recomputation& recomputation, Sharding sharding);
  const Activations& activations_of(const Overlap& overlap, const Recomputation& recomputation,
                                    Sharding sharding);

  const Space& space_;
  Parts& parts_;
  Holdings known_holdings_;

  Layout layout_;
  const Division* division_ = nullptr;
  bool scatters_ = false;
  double capacity_ = 0;
  std::vector<std::vector<Known>> bytes_;              ///< [choice][depth]
  std::array<ContentsRow*, kFamilies> contents_{};     ///< by family that runs the same kernels
  std::vector<const std::vector<Holding>*> holdings_;  ///< by stage kind
  std::array<std::array<States, kShardings>, kOverlaps> states_;
  std::array<Activations, kFamilies> activations_;  ///< asked for last
};

}  // namespace ergometer::search
