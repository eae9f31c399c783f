#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "plan/plan.h"

namespace ergometer::engine {

/// The links of a job's network that hold its cards up (above switches, of a torus, a dragonfly or
/// a HyperX, circuits): what collectives ask of them, so that those that run at once share them.
/// Every line has two directions (cost::Directions).
class NetworkLines {
 public:
  static constexpr size_t kMost = 8;  ///< lines; further ones are not followed

  /// Keeps both, which must outlive it.
  NetworkLines(const spec::Job& job, const plan::Plan& plan);

  size_t count() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  bool is_tree() const { return is_tree_; }

  /// Sets what a role's collective asks of each direction, [2 line + direction], as a share of its
  /// rate, at most 1: `cards`, what it uses of its cards' rate, times how far the line holds these
  /// up. Leaves those that it does not use. `shares`: at least 2 count().
  void ask(size_t role, size_t number, double cards, std::span<double> shares);

 private:
  const plan::FabricLoad& load(size_t role, size_t number);
  void find_lines();

  const spec::Job& job_;
  const plan::Plan& plan_;
  bool is_tree_ = true;
  std::vector<std::string> names_;
  /// All that a load depends on: who sends to whom, and how the group lies.
  using Key = std::tuple<plan::Pattern, plan::Way, int64_t, int64_t, double, int64_t, int64_t>;
  std::map<Key, plan::FabricLoad> known_;
};

}  // namespace ergometer::engine
