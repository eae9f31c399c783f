#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// llm.c's program, train_gpt2cu.
bool is_llm_c(std::string_view program);

/// A word behind it, and where it stands.
struct LlmCWord {
  std::string text;
  std::string where;  ///< "run.sh:4"
};

/// The job of llm.c's words: `-b 16 -t 1024 -d 1048576 -z 1 -r 0 -e d48`, pairs of a letter or two
/// and a value.
Result<Reading> read_llm_c(const std::vector<LlmCWord>& words, const std::string& file);

}  // namespace ergometer::intake
