#include "import/graph_files.h"

#include "import/chakra/chakra.h"

namespace ergometer::importer {

GraphFile graph_file(std::string_view head) {
  if (looks_like_chakra(head)) return GraphFile::kChakra;
  const size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '['))
    return GraphFile::kNone;
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  // A Kineto trace gives every event a category; it may carry any words in names and metadata.
  if (has("\"cat\"") || has("\"schemaVersion\"") || has("\"deviceProperties\""))
    return GraphFile::kNone;
  if (has("\"workload_graph\"")) return GraphFile::kChakraJson;
  if (has("\"schema\"") && has("\"nodes\"")) return GraphFile::kExecutionTrace;
  if (has("\"fwd_start\"")) return GraphFile::kPrimus;
  if (has("\"iteration\"") && has("\"ph\"")) return GraphFile::kMegascan;
  return GraphFile::kNone;
}

}  // namespace ergometer::importer
