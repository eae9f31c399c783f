#pragma once

#include <cstddef>
#include <string_view>

namespace ergometer::importer {

/// Finds where a JSON value ends, piece by piece, without looking at what it means: for values that
/// do not fit a window, and for those that a strict parser refuses.
class ValueScan {
 public:
  /// Bytes of `text` that belong to the value. When they are all of them the value may go on:
  /// call again with what follows. `done` tells.
  size_t scan(std::string_view text);
  bool done() const { return done_; }

 private:
  bool step(char c);

  size_t depth_ = 0;
  bool started_ = false, in_string_ = false, escaped_ = false, scalar_ = false, done_ = false;
};

bool is_json_space(char c);
/// The first position from `at` on that is neither space nor `also`; the text's size if there is
/// none.
size_t skip_space(std::string_view text, size_t at = 0, char also = ' ');

/// The end of the last object that is followed by a comma and another object: where a list of
/// objects may be cut. 0 if there is none. It may lie within a nested list.
size_t last_boundary(std::string_view text);

}  // namespace ergometer::importer
