#pragma once

#include <string>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/work_graph.h"

namespace ergometer::importer {

/// Reads a PyTorch execution trace: an object with "schema" and "nodes", schemas 1.0.1 to 1.1.1,
/// with operators' members flat in the node or, in Chakra's form, in "inputs", "outputs" and
/// "attrs". Every node is an operator on the CPU with shapes and types; its control dependency is
/// its caller. Matrix products get their floating-point operations from their shapes, collectives
/// what `record_param_comms` noted of them. `file` is what messages call it.
///
/// Nodes without a whole id are counted and left out. Input error is: no valid JSON, no node.
Result<run::WorkGraph> read_execution_trace(ByteSource& source, const std::string& file);

}  // namespace ergometer::importer
