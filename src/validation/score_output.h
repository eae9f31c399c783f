#pragma once

#include <optional>
#include <string>

#include "validation/score.h"

namespace ergometer::validation {

struct ScoreOutput {
  size_t worst = 10;                   ///< so many of the worst rows at the end
  size_t columns = 80;                 ///< of the terminal, for what is longer than a line
  std::optional<std::string> explain;  ///< the filled values of this row; empty: of all rows
};

/// For the terminal: a line a row and quantity, the statistics, a table for each dimension, the
/// worst rows.
std::string to_text(const Score& score, const std::vector<Prediction>& predictions,
                    const ScoreOutput& output);

/// The contract's document: rows, mape_pct, group_mape_pct, median_ape_pct (of step time),
/// accepted, total, groups; and the same statistics of memory, the tables, and with `explain` each
/// row's filled values.
std::string to_json(const Score& score, const std::vector<Prediction>& predictions,
                    const ScoreOutput& output);

}  // namespace ergometer::validation
