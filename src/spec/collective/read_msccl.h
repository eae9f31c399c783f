#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/collective/algorithm.h"

namespace ergometer::spec {

inline constexpr size_t kLargestAlgorithm = size_t{16} << 20;  ///< bytes of a file

/// An algorithm in MSCCL's XML (github.com/microsoft/msccl-tools): every attribute in its range,
/// every step's chunks within their buffers, every connection used by one thread block at each end.
/// Whether it ends, and computes what it says: spec/collective/check_algorithm.h.
Result<Algorithm> parse_msccl(std::string_view xml, const std::string& file);

}  // namespace ergometer::spec
