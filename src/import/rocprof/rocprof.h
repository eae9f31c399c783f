#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Whether a text that begins so is a result of rocprofv3 in JSON: its first key is
/// "rocprofiler-sdk-tool".
bool is_rocprof(std::string_view head);

/// Reads a result of rocprofv3 (`--output-format json`), of any size, in little memory: a trace for
/// every GPU of every process in it. `file` is what messages call it.
///
///  - Events: kernel dispatches and memory copies. Launches: calls of HIP by correlation.
///    Collectives: calls of RCCL, whose sizes the file does not tell. Ranges: roctx. Steps: ranges
///    named so (import/text/step_name.h).
///  - Ranks: the file's name, when one GPU is all there is.
///  - Times are those of the machine's clock since its start; no epoch is known.
///
/// Records that lack what they need are counted by reason. A file that ends in the middle gives
/// what it holds. An input error: text that is no JSON.
Result<std::vector<run::RankTrace>> read_rocprof(ByteSource& source, const std::string& file);

}  // namespace ergometer::importer
