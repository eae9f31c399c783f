#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ergometer::record {

/// The head of a request, as much of it as a server of three pages looks at.
struct HttpRequest {
  std::string method, path;  ///< the path without what stands behind '?'
  std::string accept;        ///< the header of that name
};

/// Whether the head is there, whole.
bool is_whole_request(std::string_view text);
/// Nothing: this is no HTTP.
std::optional<HttpRequest> parse_request(std::string_view text);

/// An answer after which the connection is closed. `with_body`: not to HEAD.
std::string http_answer(std::string_view status, std::string_view content_type,
                        std::string_view body, bool with_body);

}  // namespace ergometer::record
