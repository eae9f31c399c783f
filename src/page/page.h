#pragma once

#include <string>
#include <string_view>

namespace ergometer::page {

/// The page that is built into the program, without data: one file of HTML, styles and scripts.
std::string_view page_template();

/// A page with its data: in `page` the marker `<!--ERGOMETER-DATA-->` of its script element is
/// replaced by `json` as base64 of a zlib stream, and the text of its first `<title>` by `title`,
/// escaped. That `page` has no marker is our bug.
std::string fill_page(std::string_view page, std::string_view title, std::string_view json);

/// As RFC 4648 section 4 says, padded.
std::string base64(std::string_view bytes);

}  // namespace ergometer::page
