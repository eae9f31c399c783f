#include <algorithm>
#include <string_view>
#include <utility>

#include "import/telemetry/readers.h"
#include "import/telemetry/step_lines.h"

namespace ergometer::importer {
namespace {

/// Lines, and what a carriage return overwrites on a terminal.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\r"), text.size());
    if (!take(text.substr(0, end))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

bool is_step_log(std::string_view text) {
  bool any = false;
  for (const std::string_view mark : kStepMarks)
    any = any || text.find(mark) != std::string_view::npos;
  if (!any) return false;
  bool found = false;
  StepReader reader;
  for_each_line(text, [&](std::string_view line) {
    found = step_line(line).has_value() || reader.take(line).has_value();
    return !found;
  });
  return found;
}

Result<void> read_step_log(std::string_view text, LogBuilder& log) {
  StepReader reader;
  std::vector<run::TrainingStep> steps;
  for_each_line(text, [&](std::string_view line) {
    if (const auto ended = reader.take(line)) steps.push_back(*ended);
    return true;
  });
  for (std::string& note : reader.notes(log.file())) log.note(std::move(note));
  add_training(std::move(steps), log);
  return {};
}

void add_training(std::vector<run::TrainingStep> steps, LogBuilder& log) {
  run::TrainingLog training;
  training.file = log.file();
  training.job = stem_of(log.file());
  training.steps = std::move(steps);
  log.log().training.push_back(std::move(training));
}

}  // namespace ergometer::importer
