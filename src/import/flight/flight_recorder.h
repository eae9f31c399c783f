#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/flight_dump.h"

namespace ergometer::importer {

/// Whether a file begins as what PyTorch's flight recorder writes: a pickle with its members, or
/// the same as JSON.
bool is_flight_dump(std::string_view start);

/// Reads such a dump of version 2. The rank is what the file's name says: behind "rank", or, as the
/// recorder puts it behind a prefix of the user's, at the end. Input error: neither; no
/// valid pickle or JSON; another version; a member that is missing or of another type (by its
/// place: entries[3].state).
Result<run::FlightDump> read_flight_dump(ByteSource& source, const std::string& file);

}  // namespace ergometer::importer
