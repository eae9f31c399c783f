#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ergometer::intake {

/// Whether a word with *, ? or [ outside quotes may stand for files. An option, an expression
/// ("4*8"), an assignment and an address do not: no file is called so, and bash keeps them as they
/// are (`null_globs`: drops them).
bool may_name_files(std::string_view word, bool null_globs);

/// The files here that bash puts in place of a pattern (a backslash hides what follows), sorted:
/// from the current folder, else from the script's own. None where there are none, or too many.
std::vector<std::string> files_that_match(const std::string& pattern, const std::string& folder,
                                          const std::string& script);

}  // namespace ergometer::intake
