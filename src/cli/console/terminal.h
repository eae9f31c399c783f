#pragma once

#include <cstdio>

#include "report/summary/summary_text.h"

namespace ergometer::cli {

/// How text on this stream may look: colour on a terminal unless NO_COLOR is set or TERM is dumb,
/// and always with CLICOLOR_FORCE; block characters where the locale is UTF-8.
/// In memory, without a file behind it, it is UTF-8 without colour. It is as wide as the terminal,
/// or as COLUMNS says, from 80 to 200 columns; 80 in a file or a pipe.
report::TextStyle terminal_style(std::FILE* stream);

/// Whether somebody looks at this stream who can see a line drawn over itself.
bool is_terminal(std::FILE* stream);

}  // namespace ergometer::cli
