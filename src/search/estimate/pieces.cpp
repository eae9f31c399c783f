#include "search/estimate/pieces.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ergometer::search {
namespace {

/// Where few blocks have many layouts, they are divided, so that there is work for many.
constexpr size_t kPiecesAtLeast = 256, kLayoutsAtLeast = 8;

/// What blocks see of a layout, but for where its groups lie: all that `Parts` keys operators by.
/// Prices of several micro batches share where ranks lie, so they stand together.
auto blocks_of(const Layout& l) {
  return std::tuple(l.base, l.tp, l.cp, l.ep, l.etp, l.pp > 1, l.sequence_parallel, l.micro_batch);
}

}  // namespace

bool have_same_blocks(const Layout& a, const Layout& b) { return blocks_of(a) == blocks_of(b); }

Pieces::Pieces(const std::vector<Layout>& layouts) : order_(layouts.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::sort(order_, [&](size_t a, size_t b) {
    const auto x = blocks_of(layouts[a]), y = blocks_of(layouts[b]);
    return x != y ? x < y : a < b;
  });
  const size_t most = std::max(kLayoutsAtLeast, layouts.size() / kPiecesAtLeast);
  size_t first = 0;
  for (size_t i = 1; i <= order_.size(); ++i) {
    if (i < order_.size() && i - first < most &&
        have_same_blocks(layouts[order_[i]], layouts[order_[first]]))
      continue;
    ends_.push_back(i);
    first = i;
  }
}

std::span<const size_t> Pieces::of(size_t piece) const {
  const size_t from = piece == 0 ? 0 : ends_[piece - 1];
  return std::span(order_).subspan(from, ends_[piece] - from);
}

}  // namespace ergometer::search
