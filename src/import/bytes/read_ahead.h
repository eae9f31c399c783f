#pragma once

#include <memory>

#include "import/bytes/byte_source.h"

namespace ergometer::importer {

/// The same bytes, read by a thread of its own a little ahead of who wants them: unpacking goes on
/// while what is unpacked is understood. Nobody else may use `source` meanwhile.
std::unique_ptr<ByteSource> read_ahead(ByteSource& source);

}  // namespace ergometer::importer
