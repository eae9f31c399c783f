#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "plan/memory_parts.h"
#include "search/pipeline/division.h"

namespace ergometer::search {

/// How many micro batches of its chunks a stage holds where it may hold most: moments of its
/// schedule that no other moment covers. Chunks of one kind hold the same.
struct Holding {
  std::vector<int32_t> alive;  ///< by chunk kind
  int32_t backward_of = 0;     ///< the kind of chunk whose backward runs then; -1: a forward
};

/// The holdings of stages, each found once.
class Holdings {
 public:
  /// `chunk_kinds`: of the stage.
  const std::vector<Holding>& of(const spec::Job& job, int64_t stage,
                                 const std::vector<int>& chunk_kinds);

 private:
  using Key =
      std::tuple<spec::Schedule, int64_t, int64_t, int64_t, int64_t, int64_t, std::vector<int>>;
  std::map<Key, std::vector<Holding>> known_;
};

/// The peak of what forward leaves for backward on one stage: `plan::activation_memory`, with the
/// walk through the schedule replaced by its decisive moments. `chunks`: by chunk kind.
double activation_peak(const std::vector<Holding>& holdings,
                       const std::vector<plan::ChunkMemory>& chunks);

}  // namespace ergometer::search
