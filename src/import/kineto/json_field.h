#pragma once

#include <simdjson.h>

#include <string_view>

namespace ergometer::importer {

/// A member's key as it stands in the file, up to 64 bytes: keys with escapes are none of ours, so
/// the first quote ends it.
inline std::string_view key_of(simdjson::ondemand::field& field) {
  const char* const first = field.key().raw();
  const char* last = first;
  while (*last != '"' && last - first < 64) ++last;
  return {first, static_cast<size_t>(last - first)};
}

}  // namespace ergometer::importer
