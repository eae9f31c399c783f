#pragma once

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

/// The trace that a row belongs to, its file in the first column; null when there is none.
inline RankTrace* trace_of(const Statement& row, Run& run) {
  const int64_t file = row.integer(0);
  return file >= 0 && file < static_cast<int64_t>(run.traces.size())
             ? &run.traces[static_cast<size_t>(file)]
             : nullptr;
}

}  // namespace ergometer::run
