#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/space/candidate.h"

namespace ergometer::search {

/// Whether the blocks of both, and what they hold, can be the same: shared parts are not looked for
/// in other layouts.
bool have_same_blocks(const Layout& a, const Layout& b);

/// Layouts in pieces of work. Layouts of the same blocks follow one another, and mostly are one
/// piece: then whoever takes a piece makes its parts once, and nobody else makes them again.
class Pieces {
 public:
  explicit Pieces(const std::vector<Layout>& layouts);

  size_t count() const { return ends_.size(); }
  /// Places in the list of layouts.
  std::span<const size_t> of(size_t piece) const;

 private:
  std::vector<size_t> order_;
  std::vector<size_t> ends_;  ///< in `order_`, by piece
};

}  // namespace ergometer::search
