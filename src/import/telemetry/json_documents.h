#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/telemetry/log_builder.h"

namespace simdjson::dom {
class element;
}

namespace ergometer::importer {

/// Hands every document of a text, one behind the other, to `read`, which returns what is wrong
/// with it or nothing: that is an input error with its line, as is one that is no JSON, of which
/// `kind` ("a request of OTLP") is allowed. What is cut off at the end is dropped: whoever writes
/// may be in the middle of a line, or have been killed there. `longest`: bytes of a document. The
/// number of documents.
Result<int64_t> read_json_documents(
    std::string_view text, size_t longest, std::string_view kind, LogBuilder& log,
    const std::function<std::string(const simdjson::dom::element& document)>& read);

}  // namespace ergometer::importer
