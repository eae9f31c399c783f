#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ergometer::importer {

/// A token as it stands in the file, without the space behind it: `"kernel"`, `12.5`.
std::string_view trimmed(std::string_view token);
/// What is between the quotes of a string, escapes as they are; any other token unchanged. Numbers
/// stand in quotes now and then.
std::string_view unquoted(std::string_view token);
/// Escapes resolved, into `scratch` when there are any. What is no valid escape stays as it is, a
/// lone surrogate becomes U+FFFD.
std::string_view unescaped(std::string_view text, std::string& scratch);

/// The key of simdjson's `field` as it stands in the file, up to 64 bytes: keys with escapes are
/// none of ours, so the first quote ends it.
template <class Field>
std::string_view key_of(Field& field) {
  const char* const first = field.key().raw();
  const char* last = first;
  while (*last != '"' && last - first < 64) ++last;
  return {first, static_cast<size_t>(last - first)};
}

/// A character for a message, whatever it is: "'x'", "byte 0x07".
std::string shown(char c);

}  // namespace ergometer::importer
