#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// The most that is read at once; a file of an execution graph, of a pipeline or of telemetry is
/// far smaller.
inline constexpr size_t kMostText = size_t{1} << 31;
/// Spaces behind a text, as simdjson wants them.
inline constexpr size_t kTextPadding = 64;

/// All of a source. Input error when it is larger than `most` bytes.
Result<std::string> read_all(ByteSource& source, const std::string& file, size_t most);
/// The same of up to kMostText, with kTextPadding spaces behind it.
Result<std::string> whole_text(ByteSource& source, const std::string& file);

/// "FILE:12: is no valid JSON: WHAT", the line counted up to `at`; without one where `at` lies
/// beyond the text.
tl::unexpected<base::Error> json_error(const std::string& file, std::string_view text, size_t at,
                                       std::string_view what);

}  // namespace ergometer::importer
