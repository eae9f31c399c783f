#pragma once

#include <vector>

#include "analysis/math/owen_values.h"
#include "base/result.h"
#include "compare/comparison.h"
#include "compare/factors.h"
#include "spec/settings/resolve_parts.h"

namespace ergometer::compare {

using analysis::Coalition;

/// Two jobs, brought into a form in which they differ in what is meant and not in how it is
/// written, and every job between them.
///
/// A setting that one of them gives and that the other has by default is given to both, so that it
/// stays when something else changes; what neither gives follows from the rest, as it does in jobs
/// that a user writes. Software that nobody names is held as it was inferred of each of the two, a
/// factor of its own where they differ; so is what one recipe asks for on two kinds of GPU. Jobs
/// are counted in GPUs: a cluster's own number of nodes limits none.
class JobPair {
 public:
  static Result<JobPair> make(const spec::Settings& a, const spec::Settings& b);

  const spec::Job& a() const { return a_; }
  const spec::Job& b() const { return b_; }
  /// The factors in which they differ, and in what; in the order of `factors()`.
  size_t size() const { return present_.size(); }
  const Factor& factor(size_t i) const { return *present_[i]; }
  const std::vector<Difference>& differences(size_t i) const { return differences_[i]; }
  /// Settings that nobody gave and whose values differ all the same: they follow from the others.
  std::vector<Difference> derived() const;

  /// A with the factors of the coalition from B. An input error: no such job can be.
  Result<spec::Job> job(Coalition coalition) const;

 private:
  void say_software();
  void say_recipe();
  void align();
  void find_factors();

  spec::Settings settings_a_, settings_b_;
  spec::JobParts parts_a_, parts_b_;
  spec::Job a_, b_;
  std::vector<const Factor*> present_;
  std::vector<std::vector<Difference>> differences_;
};

}  // namespace ergometer::compare
