#pragma once

#include <cstddef>
#include <memory>

#include "import/kineto/collector.h"

namespace ergometer::importer {

/// Reads list elements out of a stretch of text with simdjson.
class EventParser {
 public:
  EventParser();
  ~EventParser();

  struct Outcome {
    enum class End : uint8_t {
      kText,   ///< every element up to the end of the stretch was taken
      kList,   ///< the list ended within it
      kStuck,  ///< the element at `taken` could not be read, or is not whole
    };
    End end = End::kText;
    size_t taken = 0;  ///< bytes of the stretch that are dealt with
  };
  /// `text` begins at an element of the list. The byte before it and two behind it are written to
  /// and given back; `readable` bytes from `text` on may be read, at least 64 more than `bytes`.
  Outcome parse(char* text, size_t bytes, size_t readable, Collector& collector);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ergometer::importer
