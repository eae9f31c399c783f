#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// Whether these first bytes are those of a Chakra graph in protobuf form.
bool looks_like_chakra(std::string_view head);

/// Reads a Chakra execution graph (`.et`): protobuf messages one behind the other, each behind its
/// length, the first of them about the file and the rest a node each. What attributes hold is taken
/// by their names and wire types, so both schemas in circulation are read. `file` is what messages
/// call it.
///
/// The file is read message by message. One that ends in the middle gives the nodes before. Input
/// error is: a message that is no node, one of more than 64 MiB, a file without nodes.
Result<run::WorkGraph> read_chakra(ByteSource& source, const std::string& file);

/// Reads Chakra's JSON form: an object with "workload_graph", a list of nodes.
Result<run::WorkGraph> read_chakra_json(ByteSource& source, const std::string& file);

}  // namespace ergometer::importer
