#pragma once

#include <string>

#include "search/kept.h"

namespace ergometer::search {

/// A candidate's number is its layout's times this, and its place among the layout's options.
constexpr int64_t kOptionsOfALayout = int64_t{1} << 32;

/// Estimates layouts one after the other, on one thread, and keeps what is worth it.
class Worker {
 public:
  Worker(const Space& space, const SearchOptions& options)
      : kept(options), space_(space), options_(options), legal_(space), estimator_(space) {}

  /// `number`: the layout's place among all.
  void visit(const Layout& layout, int64_t number);

  Kept kept;
  int64_t candidates = 0, feasible = 0, estimated = 0;
  std::string unpriced;  ///< why a layout could not be priced

 private:
  void visit_pass(size_t pass, const Candidate& candidate, const std::vector<DataOption>& data);

  const Space& space_;
  const SearchOptions& options_;
  LegalityCheck legal_;
  Estimator estimator_;
  int64_t gpus_ = 0, next_ = 0;
};

}  // namespace ergometer::search
