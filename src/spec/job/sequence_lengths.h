#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Reads how long documents are, in tokens: "even", each fills its sequence; "lognormal:800,1.2",
/// the median and the standard deviation of the logarithms; "uniform:100-2000"; "file:lengths.csv",
/// a table with the columns length and count, or a length a line; "counts:1024x2,3072x1", the same
/// in line. What is wrong has no place but in a file:
/// `found "zipf"; allowed: ...`, `lengths.csv:7: count: found "x"; allowed: ...`.
Result<SequenceLengths> parse_sequence_lengths(const std::string& text);

/// A file's lengths in line, "counts:1024x2,3072x1". `file` is what messages call it.
Result<std::string> parse_length_counts(std::string_view text, const std::string& file);

/// The same lengths without a file: "counts:1024x2,3072x1" for "file:lengths.csv".
Result<std::string> lengths_without_file(const std::string& text);

}  // namespace ergometer::spec
