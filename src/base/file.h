#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace ergometer::base {

/// The whole file. Missing, a directory, unreadable, empty and larger than `max_bytes` are input
/// errors with a message of their own, which begins with the path. Pipes and `/dev/stdin` work.
/// Writing is in base/output_file.h.
Result<std::string> read_file(const std::string& path, size_t max_bytes);

/// The first bytes of a regular file, fewer where it is shorter; none of what is not there or is
/// something else: a pipe can be read only once. An error: it is there and cannot be read.
Result<std::string> read_head(const std::string& path, size_t bytes);

/// What stands at a path, behind symbolic links; not_found: nothing. An error: the disk does not
/// say.
Result<std::filesystem::file_type> file_type(const std::string& path);

/// Whose fault a failed call on a file is, by its errno: a full disk, a missing permission and a
/// broken device are the machine's, a name that leads nowhere is the user's.
ErrorKind kind_of(int system_error);
/// A file that cannot be read, or opened for it, for the reason that an errno tells.
tl::unexpected<Error> cannot_read(const std::string& path, int error);
tl::unexpected<Error> open_failed(const std::string& path, int error);

}  // namespace ergometer::base
