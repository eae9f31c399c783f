#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "import/telemetry/log_builder.h"
#include "import/trace/traces.h"

namespace ergometer::importer {

/// How many of a file's first bytes are looked at to say what it is.
inline constexpr size_t kHeadBytes = size_t{1} << 16;

enum class Form : uint8_t { kAny, kText, kJson, kBinary };
Form form_of(std::string_view text);

/// Reads telemetry: the whole text of the file that `log.file()` names.
using ReadLog = Result<void> (*)(std::string_view text, LogBuilder& log);
/// Reads traces and graphs, of any size. `file` is what messages call it.
using ReadTraces = Result<Traces> (*)(ByteSource& source, const std::string& file);

/// A kind of file. One that is known and not read has no reader; its name says what to do instead.
struct Format {
  std::string_view name;
  Form form;
  bool (*recognises)(std::string_view start);  ///< asked of files of this form alone
  std::variant<std::monostate, ReadLog, ReadTraces> read;
};

/// All kinds but databases, archives and what is packed; the first that recognises a file has it.
std::span<const Format> formats();
/// What a file is by its first bytes, kHeadBytes or more; null: none of these.
const Format* format_of(std::string_view start);
/// The same of what is taken for a file of that form.
const Format* format_of(std::string_view start, Form form);

}  // namespace ergometer::importer
