#include "spec/job/expert_routing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/csv.h"
#include "base/text.h"
#include "spec/job/named_file.h"

namespace ergometer::spec {
namespace {

constexpr double kMostRouted = 1e15;
constexpr std::string_view kCountsOfTokens = "counts:";

struct Kind {
  std::string_view word;
  RoutingKind kind;
  double least, most;
};
constexpr std::array kKinds = std::to_array<Kind>({
    {"zipf", RoutingKind::kZipf, 0, 4},
    {"hot-expert", RoutingKind::kHotExpert, 1, 1000},
    {"hot-rank", RoutingKind::kHotRank, 1, 1000},
    {"rotating-rank", RoutingKind::kRotatingRank, 1, 1000},
    {"bursts", RoutingKind::kBursts, 1, 1000},
});

/// Eight workloads from even to hard, for comparisons that others can repeat. The choice is ours.
constexpr std::array<std::string_view, 8> kWorkloads = {
    "even",         "zipf:0.5",   "zipf:1",          "zipf:1.5",
    "hot-expert:8", "hot-rank:2", "rotating-rank:2", "bursts:3"};

tl::unexpected<base::Error> no_routing(std::string_view text) {
  constexpr size_t kShown = 40;
  return input_error(
      "found \"{}\"; allowed: even, zipf:S (S from 0 to 4), hot-expert:F, hot-rank:F, "
      "rotating-rank:F, bursts:F (F from 1 to 1000 times an even share), w0 to w7, "
      "file:COUNTS.csv, or counts:5,1,1,1;2,2,2,2",
      text.substr(0, kShown));
}

/// A layer without tokens says nothing about who takes them.
bool has_tokens(const std::vector<double>& counts) {
  return std::ranges::any_of(counts, [](double tokens) { return tokens > 0; });
}

std::optional<double> count_of(std::string_view text) {
  const auto tokens = base::parse_number(text);
  if (!tokens || *tokens < 0 || *tokens > kMostRouted) return std::nullopt;
  return *tokens;
}

Result<std::vector<std::vector<double>>> parse_counts(std::string_view text, int64_t experts) {
  std::vector<std::vector<double>> layers;
  for (const std::string& row : base::split(text, ';')) {
    std::vector<double>& counts = layers.emplace_back();
    for (const std::string& cell : base::split(row, ',')) {
      const auto tokens = count_of(cell);
      if (!tokens)
        return input_error("counts: found \"{}\"; allowed: numbers of tokens from 0", cell);
      counts.push_back(*tokens);
    }
    if (std::ssize(counts) > experts)
      return input_error("counts: layer {} has {} experts; the model has {}", layers.size() - 1,
                         counts.size(), experts);
    counts.resize(static_cast<size_t>(experts));
    if (!has_tokens(counts))
      return input_error("counts: layer {} has no tokens", layers.size() - 1);
  }
  return layers;
}

/// A whole number in a cell, at most `most`.
Result<int64_t> number_in(const base::CsvTable& table, size_t row, std::string_view column,
                          int64_t most, const std::string& file) {
  const auto number = base::parse_integer(table.cell(row, column));
  if (number && *number >= 0 && *number <= most) return *number;
  return input_error("{}:{}: {}: found \"{}\"; allowed: 0 to {}", file, table.rows[row].line,
                     column, table.cell(row, column), most);
}

/// "zipf:1.2" and its like.
Result<ExpertRouting> parse_routing(std::string_view text) {
  const size_t colon = text.find(':');
  for (const Kind& kind : kKinds) {
    if (text.substr(0, colon) != kind.word || colon == std::string_view::npos) continue;
    const auto amount = base::parse_number(text.substr(colon + 1));
    if (amount && *amount >= kind.least && *amount <= kind.most)
      return ExpertRouting{kind.kind, *amount, std::string(text), {}};
  }
  return no_routing(text);
}

}  // namespace

Result<ExpertRouting> parse_expert_routing(const std::string& text, int64_t experts) {
  if (text == "even") return ExpertRouting{};
  if (text.size() == 2 && text[0] == 'w' && text[1] >= '0' && text[1] <= '7') {
    ERGOMETER_ASSIGN(
        ExpertRouting routing,
        parse_expert_routing(std::string(kWorkloads[static_cast<size_t>(text[1] - '0')]), experts));
    routing.text = text;
    return routing;
  }
  ERGOMETER_ASSIGN(const std::string in_line, routing_without_file(text, experts));
  if (!in_line.starts_with(kCountsOfTokens)) return parse_routing(text);
  ERGOMETER_ASSIGN(auto counts,
                   parse_counts(std::string_view(in_line).substr(kCountsOfTokens.size()), experts));
  return ExpertRouting{RoutingKind::kCounts, 0, text, std::move(counts)};
}

Result<std::string> parse_expert_counts(std::string_view csv, const std::string& file,
                                        int64_t experts) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"layer", "expert", "tokens"}));
  std::map<int64_t, std::vector<double>> by_layer;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    ERGOMETER_ASSIGN(const int64_t layer, number_in(table, row, "layer", kMostExperts, file));
    ERGOMETER_ASSIGN(const int64_t expert, number_in(table, row, "expert", experts - 1, file));
    const auto tokens = count_of(table.cell(row, "tokens"));
    if (!tokens)
      return input_error("{}:{}: tokens: found \"{}\"; allowed: a number from 0", file,
                         table.rows[row].line, table.cell(row, "tokens"));
    std::vector<double>& counts = by_layer[layer];
    counts.resize(std::max(counts.size(), static_cast<size_t>(expert) + 1));
    counts[static_cast<size_t>(expert)] += *tokens;
  }
  std::vector<std::string> layers;
  for (const auto& [layer, counts] : by_layer) {
    if (!has_tokens(counts)) return input_error("{}: layer {} has no tokens", file, layer);
    layers.push_back(fmt::format("{}", fmt::join(counts, ",")));
  }
  if (layers.empty()) return input_error("{}: holds no counts", file);
  return fmt::format("{}{}", kCountsOfTokens, fmt::join(layers, ";"));
}

Result<std::string> routing_without_file(const std::string& text, int64_t experts) {
  return with_file_in_line(text, [&](std::string_view csv, const std::string& path) {
    return parse_expert_counts(csv, path, experts);
  });
}

}  // namespace ergometer::spec
