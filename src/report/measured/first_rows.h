#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace ergometer::report {

/// The rows of a long list that are shown, before `more_line`.
template <class Row>
std::span<const Row> first(const std::vector<Row>& rows, size_t shown) {
  return std::span(rows).first(std::min(rows.size(), shown));
}

}  // namespace ergometer::report
