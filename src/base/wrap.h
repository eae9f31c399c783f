#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::base {

/// How many columns of a terminal the text takes, where every character takes one.
size_t shown_width(std::string_view text);

/// `text` broken at spaces into lines of at most `width` columns; a longer word has its own line.
/// Of an empty text one empty line.
std::vector<std::string> wrapped_lines(std::string_view text, size_t width);

/// The same as one text that starts in column `indent`; continued lines are indented so far.
std::string wrap(std::string_view text, size_t width, size_t indent);

/// A line that begins with `head`, behind which `text` is wrapped, with its end.
std::string hanging(std::string_view head, std::string_view text, size_t width);

}  // namespace ergometer::base
