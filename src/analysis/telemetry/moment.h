#pragma once

#include <cstdint>
#include <string>

namespace ergometer::analysis {

/// Whether a time is counted from 1970 on, not from the beginning of a recording.
bool is_date(int64_t time_ns);

/// A point in time: "2023-07-14 10:12:46.483 UTC"; of a clock that counts from the beginning of a
/// recording, before 1971, "8.05 min".
std::string format_moment(int64_t time_ns);

}  // namespace ergometer::analysis
