#pragma once

#include <cstdint>
#include <string_view>

namespace ergometer::importer {

/// Files of execution graphs and pipelines.
enum class GraphFile : uint8_t {
  kNone,
  kChakra,
  kChakraJson,
  kExecutionTrace,
  kMegascan,
  kPrimus,
};

/// How many of its first bytes say what a file is.
inline constexpr size_t kGraphHeadBytes = size_t{1} << 14;
GraphFile graph_file(std::string_view head);

}  // namespace ergometer::importer
