#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/byte_source.h"

namespace ergometer::importer {

/// The most that is read at once; a file of an execution graph or of a pipeline is far smaller.
inline constexpr size_t kMostText = size_t{1} << 31;
/// Spaces behind a text, as simdjson wants them.
inline constexpr size_t kTextPadding = 64;

/// All of a source, with kTextPadding spaces behind it. Input error when it is larger than
/// kMostText.
base::Result<std::string> whole_text(ByteSource& source, const std::string& file);

/// "FILE:12: is no valid JSON: WHAT", the line counted up to `at`; without one where `at` lies
/// beyond the text.
tl::unexpected<base::Error> json_error(const std::string& file, std::string_view text, size_t at,
                                       std::string_view what);

/// Hands the whole JSON document of `source` to `read`, which returns a Result<void>. Whatever
/// simdjson refuses on the way is an input error with the line. The caller, who includes simdjson,
/// names its parser, its exception, and what it calls a document that ends in the middle.
template <class Parser, class Failure, auto kCutOff, class Read>
base::Result<void> walk_json(ByteSource& source, const std::string& file, Read read) {
  ERGOMETER_ASSIGN(const std::string text, whole_text(source, file));
  Parser parser;
  const size_t size = text.size() - kTextPadding;
  auto opened = parser.iterate(text.data(), size, text.size());
  if (opened.error())
    return json_error(file, text, std::string::npos, Failure(opened.error()).what());
  auto& document = opened.value_unsafe();
  try {
    return read(document);
  } catch (const Failure& failure) {
    const char* at = nullptr;
    if (failure.error() == kCutOff || document.current_location().get(at)) at = text.data() + size;
    return json_error(file, text, static_cast<size_t>(at - text.data()), failure.what());
  }
}

}  // namespace ergometer::importer
