#pragma once

#include <map>
#include <string>
#include <string_view>

#include "intake/reader/reading.h"

namespace ergometer::intake {

/// Whether a value stands for another that somebody writes in its place before the file is used:
/// "${NODES}", "$NODES", "${{parameters.nodes}}", "{{ .Values.nodes }}", "???", "<nodes>".
bool is_placeholder(std::string_view text);

/// Variables that are known in place of "$NAME", which is all of the text, and "${NAME}" in it.
std::string with_values(std::string text,
                        const std::map<std::string, std::string, std::less<>>& environment);

/// Whether --env says what placeholders of a file stand for.
enum class ByEnvironment { kYes, kNo };
/// What is said of one where a setting would be: `key` and `from` are where it stands.
std::string placeholder_says(std::string_view from, std::string_view key, std::string_view text,
                             std::string_view setting,
                             ByEnvironment by_environment = ByEnvironment::kYes);

/// Leaves the setting open that a placeholder stands for.
void leave_open(Reading& reading, std::string_view setting, const spec::Origin& from,
                std::string_view text, ByEnvironment by_environment = ByEnvironment::kYes);
/// The same of every setting whose value is one.
void open_placeholders(Reading& reading);

}  // namespace ergometer::intake
