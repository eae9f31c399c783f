#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::base {

/// The whole file. Missing, a directory, unreadable, empty and larger than `max_bytes` are input
/// errors with a message of their own, which begins with the path. Pipes and `/dev/stdin` work.
Result<std::string> read_file(const std::string& path, size_t max_bytes);

/// Writes `text` so that a reader finds the old file or the new one, never half of it: into a
/// temporary file beside `path`, then renamed over it. A failed write leaves the old file as it
/// was. Pipes and devices
/// (`/dev/stdout`) are written to directly.
Result<void> write_file_atomically(const std::string& path, std::string_view text);

}  // namespace ergometer::base
