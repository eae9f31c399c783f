#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ergometer::base {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
/// Letter case does not count, nor does `-` for `_`.
size_t edit_distance(std::string_view a, std::string_view b);

/// How far a candidate may be from what was typed and still be what was meant: one edit in a word
/// of up to five characters, then one more for every three.
size_t nearest_limit(std::string_view word);

/// Distance for the purpose of suggestions: a candidate that merely continues the word is never out
/// of reach.
size_t suggestion_distance(std::string_view word, std::string_view candidate);

/// Whether a name is of several words: "tensor_parallel", "--node-count", "parallelism.tp".
bool has_words(std::string_view name);

/// How far a candidate is that says in its words all that `word` says, in any order: 1 for each
/// word that only begins alike ("seq" for "sequence"), 2 for each word of the candidate that was
/// not said. "size" and the like say nothing; "num" and "count" make one word a plural. Nothing
/// when a word is missing.
std::optional<size_t> distance_in_words(std::string_view word, std::string_view candidate);

/// The candidate that the user most likely meant by `word` ("did you mean ...?"), the first of
/// equals; nothing when all are too different. The result points into `candidates`.
template <class Range>
std::optional<std::string_view> nearest(std::string_view word, const Range& candidates) {
  std::optional<std::string_view> best;
  if (has_words(word)) {
    size_t fewest = std::string_view::npos;
    for (const auto& entry : candidates) {
      const auto distance = distance_in_words(word, entry);
      if (!distance || *distance >= fewest) continue;
      fewest = *distance;
      best = entry;
    }
    if (best) return best;
  }
  size_t best_distance = nearest_limit(word) + 1;
  for (const auto& entry : candidates) {
    const std::string_view candidate = entry;
    const size_t distance = suggestion_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

/// "; did you mean WORD?", the end of a message; empty without a guess.
std::string did_you_mean(const std::optional<std::string_view>& guess);
template <class Range>
std::string did_you_mean(std::string_view word, const Range& candidates) {
  return did_you_mean(nearest(word, candidates));
}

}  // namespace ergometer::base
