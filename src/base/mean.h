#pragma once

#include <cstdint>
#include <optional>

namespace ergometer::base {

/// A mean that is put together value by value.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> get() const {
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }
};

}  // namespace ergometer::base
