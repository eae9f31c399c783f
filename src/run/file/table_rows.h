#pragma once

#include <iterator>
#include <vector>

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// What the tables of a Run file have in common: a number that nobody knows is -1 in a Run, a name
// kNone, and both are NULL in the file.

inline Nullable known(int64_t number) { return number < 0 ? Nullable{} : Nullable{number}; }
inline int64_t known(const Statement& row, int column) {
  return row.is_null(column) ? -1 : row.integer(column);
}

inline Nullable name_or_null(uint32_t name) {
  static_assert(GpuEvent::kNone == WorkNode::kNone);
  return name == GpuEvent::kNone ? Nullable{} : Nullable{name};
}

/// Which of `owners` a row belongs to, by its first column; null when there is none.
template <class Owner>
Owner* owner_of(const Statement& row, std::vector<Owner>& owners) {
  const int64_t at = row.integer(0);
  return at >= 0 && at < std::ssize(owners) ? &owners[static_cast<size_t>(at)] : nullptr;
}

}  // namespace ergometer::run
