#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/kept.h"

namespace ergometer::search {

/// A candidate's number is its layout's times this, and its place among the layout's options.
constexpr int64_t kOptionsOfALayout = int64_t{1} << 32;

/// Estimates layouts one after the other, on one thread, and keeps what is worth it.
class Worker {
 public:
  /// `found_out`: by layout, of which every worker writes those that it visits.
  Worker(const Space& space, const SearchOptions& options, std::span<Known::OfLayout> found_out)
      : kept(space, options),
        space_(space),
        options_(options),
        found_out_(found_out),
        legal_(space),
        estimator_(space) {}

  /// `number`: the layout's place among all.
  void visit(const Layout& layout, int64_t number);

  Kept kept;
  int64_t candidates = 0, feasible = 0, estimated = 0;
  std::string unpriced;                ///< why a layout could not be priced
  std::optional<NearestMiss> nearest;  ///< while nothing fits

 private:
  /// What fits of a variant.
  struct Fitting {
    uint32_t data = 0;   ///< a bit for each option that fits
    int64_t number = 0;  ///< of the first option
  };
  bool is_hopeless(const Known::OfLayout& known) const;
  bool fits_as_before(const Layout& layout, const Known::OfLayout& known) const;
  void offer_known(int64_t number);
  void find_fitting(const Layout& layout, const Overlap& overlap, const Options& choices,
                    int64_t number);
  void visit_pass(size_t pass, const Candidate& candidate, const Fitting& fitting,
                  const std::vector<DataOption>& data);

  const Space& space_;
  const SearchOptions& options_;
  std::span<Known::OfLayout> found_out_;
  LegalityCheck legal_;
  Estimator estimator_;
  int64_t gpus_ = 0;
  Known::OfLayout found_out_here_;     ///< of the layout
  std::vector<PassVariant> variants_;  ///< played alike; of each some data options fit
  std::vector<Fitting> fitting_;       ///< by variant
};

}  // namespace ergometer::search
