#include "page/page.h"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/check.h"
#include "page/page_data.h"

namespace ergometer::page {
namespace {

constexpr std::string_view kMarker = "<!--ERGOMETER-DATA-->", kEnd = "</script>";

std::string deflate_whole(std::string_view text) {
  uLongf length = compressBound(static_cast<uLong>(text.size()));
  std::string bytes(length, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(bytes.data()), &length,
                               reinterpret_cast<const Bytef*>(text.data()),
                               static_cast<uLong>(text.size()), Z_DEFAULT_COMPRESSION);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  ERGOMETER_CHECK(status == Z_OK, "a buffer of compressBound's size is too small");
  bytes.resize(length);
  return bytes;
}

/// Where the marker stands as an element's whole text; a script may name it too.
size_t find_marker(std::string_view page) {
  for (size_t at = page.find(kMarker); at != page.npos; at = page.find(kMarker, at + 1)) {
    const size_t next = page.find_first_not_of(" \r\n\t", at + kMarker.size());
    if (next != page.npos && page.substr(next, kEnd.size()) == kEnd) return at;
  }
  return page.npos;
}

/// Text as HTML's, between elements or in an attribute.
std::string html_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string_view page_template() {
  return {ergometer_page, static_cast<size_t>(ergometer_page_end - ergometer_page)};
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

std::string fill_page(std::string_view page, std::string_view title, std::string_view json) {
  const size_t marker = find_marker(page);
  ERGOMETER_CHECK(marker != page.npos, "the page has no place for its data");
  std::string filled(page.substr(0, marker));
  filled += base64(deflate_whole(json));
  filled += page.substr(marker + kMarker.size());
  constexpr std::string_view kTitle = "<title>", kTitleEnd = "</title>";
  const size_t from = filled.find(kTitle), to = filled.find(kTitleEnd);
  if (from != filled.npos && to != filled.npos && from < to && from < marker)
    filled.replace(from + kTitle.size(), to - from - kTitle.size(), html_escape(title));
  return filled;
}

}  // namespace ergometer::page
