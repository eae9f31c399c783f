#pragma once

#include <string>

#include "search/search.h"
#include "spread/session.h"

namespace ergometer::search {

/// How the estimates of a search are spread and kept.
struct Spreading {
  spread::Shard shard = {};
  std::string identity = {};  ///< which search it is: 16 hexadecimal digits
  std::string out = {};       ///< pieces are kept in `out`.unfinished; empty: nowhere
  /// Once, before the first piece: how many there are to do, how many former runs did.
  std::function<void(size_t missing, size_t finished)> begin = {};
  std::function<void()> advance = {};  ///< after every piece
};

/// What is known of a part of a space once it is estimated. What is joined from parts depends on
/// the layouts in them, not on how these were divided.
struct Estimates {
  int64_t layouts = 0;
  int64_t candidates = 0, feasible = 0, estimated = 0;  ///< as in SearchResult
  int64_t now = 0;  ///< candidates of this run, not of former ones
  std::string unpriced;
  std::optional<NearestMiss> nearest;  ///< kept where nothing fits
  std::vector<Found> kept;             ///< what may be played, or is of the front, by number
  std::vector<Known::OfLayout> known;  ///< of what this process estimated itself; may be empty
  size_t left = 0;                     ///< pieces that are not there: the search was stopped
  std::optional<spread::Journal> journal = {};  ///< to be removed when `kept` is written

  void add(const Estimates& other);
};

/// Goes through a shard of the space, a piece (`Pieces`) at a time. In processes of the crew that
/// do not lead the result is empty.
Result<Estimates> estimate(const Space& space, const SearchOptions& options,
                           const Spreading& spreading, spread::Crew& crew);

/// The whole of parts of one search.
Estimates join(const Space& space, const SearchOptions& options,
               const std::vector<Estimates>& parts);

/// Plays the best ones. An error: nothing could be priced, or what was kept in a file is no
/// candidate of this space.
Result<SearchResult> answer(const Space& space, const SearchOptions& options,
                            const Estimates& whole);

/// One line. Without the number of estimates, which is never the same twice, when it is to be
/// `exact`.
std::string to_text(const Estimates& estimates, bool exact);
/// Nothing: it is damaged, or of another space.
std::optional<Estimates> parse_estimates(const Space& space, const std::vector<Layout>& layouts,
                                         std::string_view text);

}  // namespace ergometer::search
