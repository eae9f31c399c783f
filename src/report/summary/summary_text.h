#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/table.h"
#include "run/run.h"

namespace ergometer::report {

/// How text for a terminal may look. Whoever knows the terminal decides; reports obey.
struct TextStyle {
  bool colour = false;
  bool unicode = true;  ///< bars of block characters; else of ASCII
  size_t width = 80;    ///< columns that tables may take; what is wider is folded
};

/// `text` in one of the few colours reports use, or as it is. The codes are ANSI SGR parameters.
std::string paint(const TextStyle& style, std::string_view sgr, std::string_view text);
/// A line in bold, above a table or a list.
std::string heading(const TextStyle& style, std::string_view text);
/// Its first row as a heading, folded to the style's width with its first `keys` columns in every
/// block.
std::string table_text(const base::Table& table, const TextStyle& style, size_t keys = 1);
/// A remark below a table, dim and indented.
std::string note(const TextStyle& style, std::string_view text);
/// A sentence below a heading or a table, indented.
std::string paragraph(std::string_view text);
/// Those parts of a report that say something, an empty line between two.
std::string sections(const std::vector<std::string>& parts);
/// "... and 3 more ranks" below a list of which some are shown; nothing where all are.
std::string more_line(size_t all, size_t shown, std::string_view what = "");
/// One line's worth of a name: no control characters, and its start, which tells one name from the
/// next better than its end.
std::string shortened(std::string_view name, size_t width);

inline constexpr size_t kWidth = 80;                        ///< of a report, in columns
inline constexpr std::string_view kBold = "1", kDim = "2";  ///< ANSI SGR parameters

/// The summary a person reads in ten seconds, 80 columns wide: what ran, how fast, where the step
/// goes, what fills the memory, what it draws and how hot it gets, what crosses the links, and the
/// one thing that limits it.
std::string summary_text(const run::Run& run, const TextStyle& style);

/// One line a rank: where it is and where its step went; then, where power is known, one for what
/// it draws, how hot it gets and how fast it runs.
std::string ranks_text(const run::Run& run, const TextStyle& style);

}  // namespace ergometer::report
