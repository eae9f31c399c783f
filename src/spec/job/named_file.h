#pragma once

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace ergometer::spec {

/// Before the name of a file whose content a setting says: "file:lengths.csv".
inline constexpr std::string_view kFilePrefix = "file:";

/// Of a text that names such a file, what `parse(content, path)` makes of it; any other text as it
/// is.
template <class Parse>
Result<std::string> with_file_in_line(const std::string& text, const Parse& parse) {
  constexpr size_t kLargest = 64u << 20;
  if (!text.starts_with(kFilePrefix)) return text;
  const std::string path = text.substr(kFilePrefix.size());
  ERGOMETER_ASSIGN(const std::string content, base::read_file(path, kLargest));
  return parse(content, path);
}

}  // namespace ergometer::spec
