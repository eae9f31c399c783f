#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ergometer::record {

/// The head of a request, as much of it as a server of a few pages looks at.
struct HttpRequest {
  std::string method, path, query;  ///< "GET", "/state.json", what stands behind '?'
  /// Headers of these names; where one is given twice, both with a comma between.
  std::string accept, authorization, connection, content_length, content_type, transfer_encoding;
  bool http_1_0 = false;
};

/// Whether the head is there, whole.
bool is_whole_request(std::string_view text);
/// How many bytes the head takes, with the empty line at its end; 0: it is not whole.
size_t head_length(std::string_view text);
/// Nothing: this is no HTTP.
std::optional<HttpRequest> parse_request(std::string_view text);

/// An answer after which the connection is closed. `with_body`: not to HEAD.
std::string http_answer(std::string_view status, std::string_view content_type,
                        std::string_view body, bool with_body);

}  // namespace ergometer::record
