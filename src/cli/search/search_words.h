#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/summary/summary_text.h"
#include "search/search.h"

// How a candidate is called, in the outputs of a search.
namespace ergometer::cli {

/// "tp 4 pp 2 dp 8 mbs 1": ranks, schedule and batch.
std::string layout_word(const spec::Job& job);
/// On which nodes the stages lie, by a letter for each of the cluster's groups: "Ax4,B", "AB".
std::string nodes_word(const spec::Job& job);
/// What the letters stand for: "A 2 x hgx-a100-80gb, B 2 x hgx-h100".
std::string letters_word(const spec::Cluster& cluster);
std::string recompute_word(const spec::Job& job);
std::string sharding_word(const spec::Job& job);
std::string overlap_word(const spec::Job& job);

/// What a search may go through beside layouts: which of it takes several values, so that every
/// candidate says its own.
struct Named {
  bool gpus = false, precision = false, clock = false;
  bool nodes = false;  ///< and on which nodes it lies
};
std::vector<std::string> named_titles(const Named& named);
std::vector<std::string> named_cells(const Named& named, const spec::Job& job);

/// All of these.
std::string whole_word(const spec::Job& job, const Named& named);

struct Row {
  std::vector<std::string> cells;
};
/// Cells in columns: the first to the right, then `left` to the left, numbers to the right. What is
/// wider than the style is folded, with the first column in every block.
std::string table(const std::vector<Row>& rows, size_t left, const report::TextStyle& style);

/// The parts of a step, in seconds.
std::vector<std::pair<std::string_view, double>> parts_of(const run::Performance& performance);

/// Limits by their options and units, as `search::Limits::most` orders them.
struct LimitWord {
  const char *option, *unit;
};
constexpr std::array<LimitWord, search::kLimits> kLimitWords = {
    {{"max-step-time", "s"}, {"max-power-w", "W"}, {"max-gpu-c", "C"}}};

}  // namespace ergometer::cli
