#include "record/http_exchange.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>

namespace ergometer::record {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

}  // namespace

bool is_whole_request(std::string_view text) {
  return text.find("\r\n\r\n") != text.npos || text.find("\n\n") != text.npos;
}

std::optional<HttpRequest> parse_request(std::string_view text) {
  const size_t end = text.find('\n');
  const std::string_view line = trimmed(text.substr(0, end));
  const size_t method = line.find(' '), target = line.rfind(' ');
  if (method == line.npos || target <= method || !line.substr(target + 1).starts_with("HTTP/1."))
    return std::nullopt;
  HttpRequest request;
  request.method = line.substr(0, method);
  request.path = line.substr(method + 1, target - method - 1);
  request.path = request.path.substr(0, request.path.find('?'));
  while (end != text.npos && !text.empty()) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    const std::string_view header = text.substr(0, text.find('\n'));
    constexpr std::string_view kAccept = "accept:";
    if (header.size() > kAccept.size() &&
        ::strncasecmp(header.data(), kAccept.data(), kAccept.size()) == 0)
      request.accept = trimmed(header.substr(kAccept.size()));
  }
  return request;
}

std::string http_answer(std::string_view status, std::string_view content_type,
                        std::string_view body, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, content_type, body.size(), with_body ? body : std::string_view());
}

}  // namespace ergometer::record
