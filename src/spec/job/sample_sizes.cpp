#include "spec/job/sample_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/text.h"
#include "spec/job/named_file.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kMostImages = 4096;
constexpr int64_t kMostText = 134'217'728;  // as long as a sequence may be
constexpr double kMostDeviation = 10;       // of a mean: beyond, nearly all samples are of no size
constexpr int64_t kMostSamplesRead = 4'000'000;
constexpr std::string_view kSampleCounts = "counts:", kSampleMoments = "lognormal:";

/// Samples by images and tokens of text.
using SampleCounts = std::map<std::pair<int64_t, int64_t>, int64_t>;

tl::unexpected<base::Error> no_samples(std::string_view text) {
  constexpr size_t kShown = 40;
  return input_error(
      "found \"{}\"; allowed: lognormal:IMAGES,DEVIATION,TOKENS,DEVIATION, file:SAMPLES.csv, or "
      "counts:2/600x5,1/900 (images / tokens of text x samples); up to {} images and {} tokens, "
      "deviations up to {:.0f} times their means",
      text.substr(0, kShown), kMostImages, kMostText, kMostDeviation);
}

std::optional<SequenceLengths> parse_moments(std::string_view text) {
  const std::vector<std::string> parts = base::split(text, ',');
  if (parts.size() != 4) return std::nullopt;
  std::array<double, 4> numbers{};
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = base::parse_number(parts[i]);
    const double most = static_cast<double>(i < 2 ? kMostImages : kMostText);
    if (!number || !(*number >= 0) || *number > most) return std::nullopt;
    numbers[i] = *number;
  }
  const bool wide =
      numbers[1] > kMostDeviation * numbers[0] || numbers[3] > kMostDeviation * numbers[2];
  if (numbers[2] < 1 || wide) return std::nullopt;
  SequenceLengths lengths;
  lengths.kind = LengthKind::kMoments;
  lengths.moments = {numbers[0], numbers[1], numbers[2], numbers[3]};
  return lengths;
}

std::optional<int64_t> number_up_to(std::string_view text, int64_t least, int64_t most) {
  const auto number = base::parse_integer(text);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

SequenceLengths as_lengths(const SampleCounts& counts) {
  SequenceLengths lengths;
  lengths.kind = LengthKind::kSamples;
  for (const auto& [sample, samples] : counts)
    lengths.samples.insert(lengths.samples.end(), static_cast<size_t>(samples),
                           {sample.first, sample.second});
  return lengths;
}

/// "2/600x5".
bool add_item(std::string_view item, int64_t& left, SampleCounts& counts) {
  const size_t slash = item.find('/'), times = item.find('x');
  if (slash == item.npos || (times != item.npos && times < slash)) return false;
  const auto images = number_up_to(item.substr(0, slash), 0, kMostImages);
  const auto tokens = number_up_to(item.substr(slash + 1, times - slash - 1), 1, kMostText);
  const auto samples = times == item.npos ? std::optional<int64_t>(1)
                                          : number_up_to(item.substr(times + 1), 1, left);
  if (!images || !tokens || !samples || (left -= *samples) < 0) return false;
  counts[{*images, *tokens}] += *samples;
  return true;
}

std::optional<SequenceLengths> parse_counted(std::string_view text) {
  SampleCounts counts;
  int64_t left = kMostSamplesRead;
  for (const std::string& item : base::split(text, ','))
    if (!add_item(item, left, counts)) return std::nullopt;
  if (counts.empty()) return std::nullopt;
  return as_lengths(counts);
}

}  // namespace

Result<std::string> parse_sample_table(std::string_view text, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(text, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"images", "tokens"}));
  SampleCounts counts;
  int64_t all = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const auto number = [&](const char* column, int64_t least, int64_t most) -> Result<int64_t> {
      const std::string cell(table.cell(row, column));
      if (cell.empty() && std::string_view(column) == "count") return 1;
      if (const auto found = number_up_to(cell, least, most)) return *found;
      return input_error("{}:{}: {}: found \"{}\"; allowed: a whole number from {} to {}", file,
                         table.rows[row].line, column, cell, least, most);
    };
    ERGOMETER_ASSIGN(const int64_t images, number("images", 0, kMostImages));
    ERGOMETER_ASSIGN(const int64_t tokens, number("tokens", 1, kMostText));
    ERGOMETER_ASSIGN(const int64_t samples, number("count", 1, kMostSamplesRead));
    counts[{images, tokens}] += samples;
    if ((all += samples) > kMostSamplesRead)
      return input_error("{}:{}: count: found more than {} samples", file, table.rows[row].line,
                         kMostSamplesRead);
  }
  if (counts.empty()) return input_error("{}: holds no samples", file);
  std::string in_line(kSampleCounts);
  for (const auto& [sample, samples] : counts)
    in_line += fmt::format("{}{}/{}x{}", in_line.size() > kSampleCounts.size() ? "," : "",
                           sample.first, sample.second, samples);
  return in_line;
}

Result<std::string> samples_without_file(const std::string& text) {
  return with_file_in_line(text, parse_sample_table);
}

Result<SequenceLengths> parse_samples(const std::string& text) {
  ERGOMETER_ASSIGN(const std::string in_line, samples_without_file(text));
  std::optional<SequenceLengths> lengths;
  const std::string_view said = in_line;
  if (said.starts_with(kSampleMoments)) lengths = parse_moments(said.substr(kSampleMoments.size()));
  if (said.starts_with(kSampleCounts)) lengths = parse_counted(said.substr(kSampleCounts.size()));
  if (!lengths) return no_samples(text);
  lengths->text = text;
  return *std::move(lengths);
}

namespace {

/// Worked: mean and deviation 2, so sigma = sqrt(ln 2) = 0.833 and mu = ln 2 - sigma^2 / 2 = 0.347;
/// at most 1: 2 Phi(-1.249) + 1 - Phi(-0.416) = 0.873, and 56 % are left out.
double left_out_of_lognormal(double mean, double deviation, double most) {
  if (mean <= 0) return 0;
  if (deviation <= 0) return 1 - std::min(1.0, most / mean);
  if (most <= 0) return 1;
  const double sigma = std::sqrt(std::log(1 + deviation * deviation / (mean * mean)));
  const double mu = std::log(mean) - sigma * sigma / 2;
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; };
  const double z = (std::log(most) - mu) / sigma;
  return 1 - (mean * below(z - sigma) + most * (1 - below(z))) / mean;
}

}  // namespace

double images_left_out(const SequenceLengths& lengths, int64_t most) {
  const SampleMoments& of = lengths.moments;
  if (lengths.kind == LengthKind::kMoments)
    return left_out_of_lognormal(of.tiles, of.tiles_deviation, static_cast<double>(most));
  int64_t all = 0, held = 0;
  for (const SampleSize& sample : lengths.samples) {
    all += sample.tiles;
    held += std::min(sample.tiles, most);
  }
  return all > 0 ? 1 - static_cast<double>(held) / static_cast<double>(all) : 0;
}

MeanSample mean_sample(const SequenceLengths& lengths, int64_t most_tokens) {
  if (lengths.kind == LengthKind::kMoments) return {lengths.moments.tiles, lengths.moments.text};
  MeanSample mean;
  const auto samples = static_cast<double>(lengths.samples.size());
  for (const SampleSize& sample : lengths.samples) {
    mean.tiles += static_cast<double>(sample.tiles) / samples;
    mean.tokens += static_cast<double>(std::min(sample.tokens, most_tokens)) / samples;
  }
  return mean;
}

}  // namespace ergometer::spec
