#include "import/whole_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace ergometer::importer {

base::Result<std::string> whole_text(ByteSource& source, const std::string& file) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string text;
  for (;;) {
    const size_t had = text.size();
    text.resize(had + kPiece);
    ERGOMETER_ASSIGN(const size_t got, source.read(text.data() + had, kPiece));
    text.resize(had + got);
    if (got == 0) break;
    if (text.size() > kMostText)
      return base::input_error(
          fmt::format("{}: is larger than the {} GiB that are read of a file "
                      "of this kind",
                      file, kMostText >> 30));
  }
  text.append(kTextPadding, ' ');
  return text;
}

tl::unexpected<base::Error> json_error(const std::string& file, std::string_view text, size_t at,
                                       std::string_view what) {
  while (what.ends_with('.')) what.remove_suffix(1);
  std::string line;
  if (at <= text.size()) {
    const auto end = text.begin() + static_cast<ptrdiff_t>(at);
    line = fmt::format(":{}", 1 + std::count(text.begin(), end, '\n'));
  }
  return base::input_error(fmt::format("{}{}: is no valid JSON: {}", file, line, what));
}

}  // namespace ergometer::importer
