#pragma once

#include <simdjson.h>

#include <string>
#include <type_traits>

#include "base/result.h"
#include "import/whole_text.h"

namespace ergometer::importer {

/// Hands the whole JSON document of `source` to `read`, which returns nothing or a Result<void>.
/// Whatever simdjson refuses on the way is an input error with the line.
template <class Read>
base::Result<void> walk_json(ByteSource& source, const std::string& file, Read read) {
  ERGOMETER_ASSIGN(const std::string text, whole_text(source, file));
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  const size_t size = text.size() - kTextPadding;
  if (const auto error = parser.iterate(text.data(), size, text.size()).get(document))
    return json_error(file, text, std::string::npos, simdjson::error_message(error));
  try {
    if constexpr (std::is_void_v<decltype(read(document))>)
      return read(document), base::Result<void>();
    else
      return read(document);
  } catch (const simdjson::simdjson_error& failure) {
    const char* at = nullptr;
    if (failure.error() == simdjson::INCOMPLETE_ARRAY_OR_OBJECT ||
        document.current_location().get(at))
      at = text.data() + size;
    return json_error(file, text, static_cast<size_t>(at - text.data()), failure.what());
  }
}

}  // namespace ergometer::importer
