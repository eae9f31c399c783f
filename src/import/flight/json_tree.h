#pragma once

#include <string>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "import/flight/value_tree.h"

namespace ergometer::importer {

/// Reads a JSON document whole. Input error: no valid JSON (file, line), a number that is not one
/// of 64 bits.
Result<TreeValue> read_json_tree(ByteSource& source, const std::string& file, ValueTree& tree);

}  // namespace ergometer::importer
