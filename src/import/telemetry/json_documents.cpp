#include "import/telemetry/json_documents.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/text.h"

namespace ergometer::importer {

Result<int64_t> read_json_documents(
    std::string_view text, size_t longest, std::string_view kind, LogBuilder& log,
    const std::function<std::string(const simdjson::dom::element& document)>& read) {
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::document_stream documents;
  const auto wrong = [&](size_t at, std::string_view what) {
    return input_error("{}:{}: {}", log.file(), base::line_at(text, at), what);
  };
  if (const auto error = parser.parse_many(padded, longest).get(documents);
      error != simdjson::SUCCESS)
    return wrong(0, simdjson::error_message(error));
  int64_t count = 0;
  for (auto at = documents.begin(); at != documents.end(); ++at, ++count) {
    simdjson::dom::element document;
    if (const auto error = (*at).get(document); error != simdjson::SUCCESS)
      return wrong(at.current_index(), fmt::format("found JSON that is malformed ({}), allowed: {}",
                                                   simdjson::error_message(error), kind));
    if (const std::string problem = read(document); !problem.empty())
      return wrong(at.current_index(), problem);
  }
  if (documents.truncated_bytes() > 0)
    log.drop("a document that is cut off at the end of the file");
  return count;
}

}  // namespace ergometer::importer
