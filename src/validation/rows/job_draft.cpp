#include "validation/rows/job_draft.h"

#include <fmt/format.h>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::validation {
namespace {

/// What of the value the program can be told: all or nothing, but of a list the words it knows.
std::optional<std::string> known_part(std::string_view setting, const std::string& value) {
  const spec::SettingInfo* info = spec::find_setting(setting);
  if (info == nullptr) return std::nullopt;
  if (info->choices.empty()) return value;
  const auto choices = base::trimmed_parts(info->choices, '|');
  std::string known;
  for (const std::string_view word : base::trimmed_parts(value, ',')) {
    if (!base::contains(choices, word)) continue;
    if (!known.empty()) known += ',';
    known += word;
  }
  return known.empty() ? std::nullopt : std::optional(known);
}

}  // namespace

JobDraft::JobDraft(const MeasuredRun& row) : run(row), name(parse_model_name(row.cell("model"))) {}

void JobDraft::take(std::string_view setting, std::string_view column) {
  if (const auto number = whole(column)) say(setting, fmt::format("{}", *number), column);
}

void JobDraft::say(std::string_view setting, const std::string& value, std::string_view column) {
  if (has(setting)) return;
  if (auto known = known_part(setting, value))
    settings_.set(setting, *std::move(known), spec::Origin{"", std::string(column)});
}

void JobDraft::fill(std::string_view setting, const std::string& value, std::string_view reason) {
  if (has(setting)) return;
  if (auto known = known_part(setting, value)) correct(setting, *std::move(known), reason);
}

void JobDraft::correct(std::string_view setting, std::string value, std::string_view reason) {
  fills_.push_back({std::string(setting), value, std::string(reason)});
  settings_.set(setting, std::move(value), spec::Origin{"", ""});
}

void JobDraft::drop(std::string_view setting) {
  settings_.erase(setting);
  std::erase_if(fills_, [&](const Fill& entry) { return entry.setting == setting; });
}

int64_t JobDraft::number(std::string_view setting, int64_t fallback) const {
  const auto parsed = base::parse_integer(text(setting));
  return parsed ? *parsed : fallback;
}

std::string_view JobDraft::text(std::string_view setting) const {
  const spec::Settings::Value* value = settings_.find(setting);
  return value == nullptr ? std::string_view() : std::string_view(value->text);
}

std::optional<int64_t> JobDraft::whole(std::string_view column) {
  std::string_view text = cell(column);
  if (text.empty()) return std::nullopt;
  if (text.ends_with(".0")) text.remove_suffix(2);
  const auto number = base::parse_integer(text);
  constexpr int64_t kMost = 134'217'728;
  if (number && *number >= 0 && *number <= kMost) return *number;
  refuse(fmt::format("{}: found \"{}\"; allowed: a whole number from 0 to {}", column, cell(column),
                     kMost));
  return std::nullopt;
}

void JobDraft::refuse(std::string message) {
  if (!error_) error_ = base::Error{base::ErrorKind::kInput, std::move(message)};
}

}  // namespace ergometer::validation
