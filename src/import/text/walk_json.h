#pragma once

#include <string>
#include <type_traits>

#include "base/result.h"
#include "import/bytes/whole_text.h"

namespace ergometer::importer {

/// Hands the whole JSON document of `source` to `read`, which returns nothing or a Result<void>.
/// Whatever simdjson refuses on the way is an input error with the line. The caller, who includes
/// simdjson, names its parser and its exception.
template <class Parser, class Failure, class Read>
Result<void> walk_json(ByteSource& source, const std::string& file, Read read) {
  ERGOMETER_ASSIGN(const std::string text, whole_text(source, file));
  Parser parser;
  const size_t size = text.size() - kTextPadding;
  auto opened = parser.iterate(text.data(), size, text.size());
  if (opened.error())
    return json_error(file, text, std::string::npos, Failure(opened.error()).what());
  auto& document = opened.value_unsafe();
  try {
    if constexpr (std::is_void_v<decltype(read(document))>)
      return read(document), Result<void>();
    else
      return read(document);
  } catch (const Failure& failure) {
    using Code = decltype(failure.error());
    const bool cut_off = failure.error() == Code::INCOMPLETE_ARRAY_OR_OBJECT;
    const char* at = nullptr;
    if (cut_off || document.current_location().get(at)) at = text.data() + size;
    return json_error(file, text, static_cast<size_t>(at - text.data()), failure.what());
  }
}

}  // namespace ergometer::importer
