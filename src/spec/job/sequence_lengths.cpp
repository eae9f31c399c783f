#include "spec/job/sequence_lengths.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/text.h"
#include "spec/job/named_file.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kLongestDocument = 134'217'728;  // as long as a sequence may be
constexpr int64_t kMostDocuments = 1'000'000'000;  // of a length; all together stay exact
constexpr double kMostSigma = 4;
constexpr std::string_view kCounts = "counts:", kLognormal = "lognormal:", kUniform = "uniform:";

using Counts = std::map<int64_t, int64_t>;  ///< documents by length

tl::unexpected<base::Error> not_allowed(std::string_view text) {
  constexpr size_t kShown = 40;
  return input_error(
      "found \"{}\"; allowed: even, lognormal:MEDIAN,SIGMA (SIGMA from 0 to {}), "
      "uniform:SHORTEST-LONGEST, file:LENGTHS.csv, or counts:1024x2,3072x1; lengths "
      "from 1 to {} tokens",
      text.substr(0, kShown), kMostSigma, kLongestDocument);
}

std::optional<int64_t> whole(std::string_view text, int64_t most) {
  const auto number = base::parse_integer(text);
  if (!number || *number < 1 || *number > most) return std::nullopt;
  return *number;
}

/// "800,1.2" as its two parts; nothing without the sign between them.
std::optional<std::pair<std::string_view, std::string_view>> parts_of(std::string_view text,
                                                                      char sign) {
  const size_t at = text.find(sign);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::optional<SequenceLengths> lognormal(std::string_view text) {
  const auto parts = parts_of(text, ',');
  if (!parts) return std::nullopt;
  const auto median = base::parse_number(parts->first), sigma = base::parse_number(parts->second);
  if (!median || *median < 1 || *median > static_cast<double>(kLongestDocument))
    return std::nullopt;
  if (!sigma || *sigma < 0 || *sigma > kMostSigma) return std::nullopt;
  return SequenceLengths{LengthKind::kLognormal, *median, *sigma, {}, {}, {}, {}};
}

std::optional<SequenceLengths> uniform(std::string_view text) {
  const auto parts = parts_of(text, '-');
  if (!parts) return std::nullopt;
  const auto shortest = whole(parts->first, kLongestDocument),
             longest = whole(parts->second, kLongestDocument);
  if (!shortest || !longest || *shortest > *longest) return std::nullopt;
  return SequenceLengths{LengthKind::kUniform,
                         static_cast<double>(*shortest),
                         static_cast<double>(*longest),
                         {},
                         {},
                         {},
                         {}};
}

/// False: more documents of a length than may be.
bool add(Counts& counts, int64_t length, int64_t documents) {
  return (counts[length] += documents) <= kMostDocuments;
}

std::optional<SequenceLengths> counted(std::string_view text) {
  Counts counts;
  for (const std::string& item : base::split(text, ',')) {
    const auto parts = parts_of(item, 'x');
    const auto length = whole(parts ? parts->first : item, kLongestDocument);
    const auto documents = parts ? whole(parts->second, kMostDocuments) : std::optional<int64_t>(1);
    if (!length || !documents || !add(counts, *length, *documents)) return std::nullopt;
  }
  if (counts.empty()) return std::nullopt;
  return SequenceLengths{LengthKind::kCounted, 0, 0, {}, {counts.begin(), counts.end()}, {}, {}};
}

std::optional<SequenceLengths> parse_kind(std::string_view text) {
  if (text == "even") return SequenceLengths{};
  if (text.starts_with(kLognormal)) return lognormal(text.substr(kLognormal.size()));
  if (text.starts_with(kUniform)) return uniform(text.substr(kUniform.size()));
  if (text.starts_with(kCounts)) return counted(text.substr(kCounts.size()));
  return std::nullopt;
}

/// A whole number of a file, at most `most`.
Result<int64_t> number_at(std::string_view file, size_t line, std::string_view name,
                          std::string_view text, int64_t most) {
  if (const auto number = whole(text, most)) return *number;
  return input_error("{}:{}: {}: found \"{}\"; allowed: a whole number from 1 to {}", file, line,
                     name, text, most);
}

Result<Counts> counts_of_table(std::string_view text, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(text, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"length", "count"}));
  Counts counts;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto number = [&](const char* column, int64_t most) {
      return number_at(file, table.rows[row].line, column, table.cell(row, column), most);
    };
    ERGOMETER_ASSIGN(const int64_t length, number("length", kLongestDocument));
    ERGOMETER_ASSIGN(const int64_t documents, number("count", kMostDocuments));
    if (!add(counts, length, documents))
      return input_error("{}:{}: count: found more than {} documents of {} tokens", file,
                         table.rows[row].line, kMostDocuments, length);
  }
  return counts;
}

Result<Counts> counts_of_lines(std::string_view text, const std::string& file) {
  Counts counts;
  size_t line = 0;
  for (const std::string& item : base::split(text, '\n')) {
    ++line;
    const std::string_view number = std::string_view(item).substr(0, item.find('\r'));
    if (number.empty()) continue;
    ERGOMETER_ASSIGN(const int64_t length,
                     number_at(file, line, "length", number, kLongestDocument));
    ++counts[length];
  }
  return counts;
}

}  // namespace

Result<std::string> parse_length_counts(std::string_view text, const std::string& file) {
  const bool table = text.substr(0, text.find('\n')).find(',') != std::string_view::npos;
  ERGOMETER_ASSIGN(const Counts counts,
                   table ? counts_of_table(text, file) : counts_of_lines(text, file));
  if (counts.empty()) return input_error("{}: holds no lengths", file);
  std::string in_line(kCounts);
  for (const auto& [length, documents] : counts)
    in_line +=
        fmt::format("{}{}x{}", in_line.size() > kCounts.size() ? "," : "", length, documents);
  return in_line;
}

Result<std::string> lengths_without_file(const std::string& text) {
  return with_file_in_line(text, parse_length_counts);
}

Result<SequenceLengths> parse_sequence_lengths(const std::string& text) {
  ERGOMETER_ASSIGN(const std::string in_line, lengths_without_file(text));
  auto lengths = parse_kind(in_line);
  if (!lengths) return not_allowed(text);
  lengths->text = text;
  return *std::move(lengths);
}

}  // namespace ergometer::spec
