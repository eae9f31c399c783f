#pragma once

#include <string>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Reads a PyTorch Kineto trace (Chrome's trace format: an object with "traceEvents", or a bare
/// list), of any size, in little memory. `file` is what messages call it.
///
/// Entries that are no GPU events, and GPU events that lack what they need, are counted by reason.
/// A file that ends in the middle gives what it holds. An input error is: JSON of another kind, a
/// source that cannot be read.
Result<run::RankTrace> read_kineto(ByteSource& source, const std::string& file);

}  // namespace ergometer::importer
