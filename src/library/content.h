#pragma once

#include <ergometer/ergometer.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/console/command.h"

namespace ergometer {

constexpr int kWrongInput = static_cast<int>(base::ErrorKind::kInput);

/// What a command printed; `status` is 0, or 1 where the answer is no.
struct Answer {
  std::string out;
  std::vector<std::string> notes;
  int status = 0;
};

/// Runs the command with the words behind its name.
Answer ask(const cli::Command& command, const std::vector<std::string>& words);

std::shared_ptr<const nlohmann::json> parse_document(const std::string& text);

struct Document::Content {
  const cli::Command* command = nullptr;
  std::vector<std::string> words;  ///< behind its name, without --json
  Answer answer;
  std::shared_ptr<const nlohmann::json> tree;
};

}  // namespace ergometer
