#include "record/metrics/http_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace ergometer::record {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// `name` in small letters, the header in any.
bool begins_with(std::string_view header, std::string_view name) {
  return header.size() > name.size() &&
         std::equal(name.begin(), name.end(), header.begin(),
                    [](char n, char h) { return n == base::lower(h); });
}

void keep_header(std::string_view header, HttpRequest& request) {
  const std::pair<std::string_view, std::string&> kept[] = {
      {"accept:", request.accept},
      {"authorization:", request.authorization},
      {"connection:", request.connection},
      {"content-length:", request.content_length},
      {"content-type:", request.content_type},
      {"transfer-encoding:", request.transfer_encoding}};
  for (const auto& [name, value] : kept) {
    if (!begins_with(header, name)) continue;
    if (!value.empty()) value += ',';
    value += base::trimmed(header.substr(name.size()), kBlanks);
  }
}

}  // namespace

bool is_whole_request(std::string_view text) { return head_length(text) > 0; }

size_t head_length(std::string_view text) {
  const size_t crlf = text.find("\r\n\r\n"), lf = text.find("\n\n");
  if (crlf == text.npos && lf == text.npos) return 0;
  return crlf < lf ? crlf + 4 : lf + 2;
}

std::optional<HttpRequest> parse_request(std::string_view text) {
  const size_t end = text.find('\n');
  const std::string_view line = base::trimmed(text.substr(0, end), kBlanks);
  const size_t method = line.find(' '), target = line.rfind(' ');
  if (method == line.npos || target <= method || !line.substr(target + 1).starts_with("HTTP/1."))
    return std::nullopt;
  HttpRequest request;
  request.method = line.substr(0, method);
  request.path = line.substr(method + 1, target - method - 1);
  request.http_1_0 = line.ends_with("HTTP/1.0");
  if (const size_t mark = request.path.find('?'); mark != std::string::npos) {
    request.query = request.path.substr(mark + 1);
    request.path.resize(mark);
  }
  while (end != text.npos && !text.empty()) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    keep_header(text.substr(0, text.find('\n')), request);
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
