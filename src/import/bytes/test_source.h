#pragma once

#include <string>
#include <string_view>

#include "import/bytes/byte_source.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// How much of a trace's file was left out for a reason.
inline int64_t dropped(const run::RankTrace& trace, std::string_view reason) {
  for (const run::Dropped& d : trace.dropped)
    if (d.reason == reason) return d.count;
  return 0;
}

/// What `read` makes of a text, or its error.
template <class Read>
auto read_text(Read read, const std::string& text, const std::string& file) {
  TextSource source(text);
  return read(source, file);
}

}  // namespace ergometer::importer
