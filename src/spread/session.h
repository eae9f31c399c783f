#pragma once

#include <optional>

#include "spread/crew.h"
#include "spread/journal.h"
#include "spread/shard.h"

namespace ergometer::spread {

/// A work in pieces, of which a crew does one shard, and where its answers are kept meanwhile.
struct Work {
  std::string kind;      ///< "study", "search": what messages call it
  std::string identity;  ///< in a line of at most 40 characters: which one
  size_t pieces = 0;     ///< of the whole
  Shard shard = {};
  size_t threads = 1;
  std::string out;  ///< the file that it is for; answers are in `out`.unfinished as they come
  std::function<Worker()> worker;
  /// Takes an answer, this run's or a former one's, one call at a time in any order. False: the
  /// answer is damaged.
  std::function<bool(size_t piece, const std::string& answer)> take;
  /// Once, before the first piece: how many there are to do, how many former runs did.
  std::function<void(size_t missing, size_t finished)> begin = {};
  std::function<void()> advance = {};  ///< after every piece that is done
  std::function<bool()> stop = {};     ///< asked between pieces
};

struct Progress {
  size_t finished_before = 0;           ///< pieces that former runs did
  size_t left = 0;                      ///< pieces that are not there
  std::optional<Journal> journal = {};  ///< to be removed when `out` holds everything
};

/// Does what is missing. In processes of the crew that do not lead nothing is taken. Errors: the
/// journal cannot be written, or is another work's.
Result<Progress> run(Crew& crew, const Work& work);

}  // namespace ergometer::spread
