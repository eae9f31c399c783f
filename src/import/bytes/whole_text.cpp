#include "import/bytes/whole_text.h"

#include <fmt/format.h>

namespace ergometer::importer {

Result<std::string> read_all(ByteSource& source, const std::string& file, size_t most) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  for (size_t got = 1; got > 0;) {
    const size_t had = text.size();
    text.resize(had + kPiece);
    ERGOMETER_ASSIGN(got, source.read(text.data() + had, kPiece));
    text.resize(had + got);
    if (text.size() > most)
      return input_error("{}: holds more than {} MiB of text; cut it into pieces", file,
                         most >> 20);
  }
  return text;
}

Result<std::string> whole_text(ByteSource& source, const std::string& file) {
  ERGOMETER_ASSIGN(std::string text, read_all(source, file, kMostText));
  return text.append(kTextPadding, ' ');
}

tl::unexpected<base::Error> json_error(const std::string& file, std::string_view text, size_t at,
                                       std::string_view what) {
  while (what.ends_with('.')) what.remove_suffix(1);
  std::string line;
  if (at <= text.size()) line = fmt::format(":{}", base::line_at(text, at));
  return input_error("{}{}: is no valid JSON: {}", file, line, what);
}

}  // namespace ergometer::importer
