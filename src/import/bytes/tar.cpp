#include "import/bytes/tar.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ergometer::importer {
namespace {

constexpr size_t kBlock = 512;
constexpr uint64_t kLongestMemberName = uint64_t{1} << 16;
constexpr uint64_t kLargestFile = uint64_t{1} << 50;

// Fields of a header: offset and length.
constexpr size_t kNameAt = 0, kNameBytes = 100, kSizeAt = 124, kSizeBytes = 12, kChecksumAt = 148,
                 kChecksumBytes = 8, kTypeAt = 156, kMagicAt = 257, kPrefixAt = 345,
                 kPrefixBytes = 155;

std::string_view field(std::string_view header, size_t at, size_t bytes) {
  const std::string_view text = header.substr(at, bytes);
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

/// Octal digits between spaces; GNU writes what does not fit as a binary number with the top
/// bit set.
std::optional<uint64_t> header_number(std::string_view text) {
  if (!text.empty() && (static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    uint64_t value = 0;
    for (size_t i = text.size() - 8; i < text.size(); ++i)
      value = value << 8 | static_cast<unsigned char>(text[i]);
    return value;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

/// The sum of a header's bytes, its own field taken as spaces.
bool checksum_holds(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksumAt && i < kChecksumAt + kChecksumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return header_number(header.substr(kChecksumAt, kChecksumBytes)) == sum;
}

std::string path_of(std::string_view header) {
  const std::string_view prefix = field(header, kPrefixAt, kPrefixBytes);
  const bool posix = header.substr(kMagicAt, 6) == std::string_view("ustar\0", 6);
  std::string path(field(header, kNameAt, kNameBytes));
  return posix && !prefix.empty() ? std::string(prefix) + "/" + path : path;
}

/// The value of `path` among a pax header's records, "LENGTH KEY=VALUE\n" each.
std::string pax_path(std::string_view records) {
  std::string path;
  while (!records.empty()) {
    size_t length = 0;
    std::from_chars(records.data(), records.data() + records.size(), length);
    const size_t space = records.find(' ');
    if (length <= space || length > records.size() || space == std::string_view::npos) break;
    const std::string_view record = records.substr(space + 1, length - space - 1);
    if (record.starts_with("path=") && record.ends_with('\n'))
      path = record.substr(5, record.size() - 6);
    records.remove_prefix(length);
  }
  return path;
}

}  // namespace

bool looks_like_tar(std::string_view head) {
  return head.size() >= kBlock && head.substr(kMagicAt, 5) == "ustar" && checksum_holds(head);
}

Result<size_t> TarReader::Content::read(char* to, size_t bytes) {
  if (left_ == 0) return 0;
  ERGOMETER_ASSIGN(const size_t got,
                   archive_.read(to, static_cast<size_t>(std::min<uint64_t>(bytes, left_))));
  left_ -= got;
  if (got == 0) {
    cut_off_ = true;
    left_ = padding_ = 0;
  }
  return got;
}

TarReader::TarReader(ByteSource& archive, std::string name)
    : content_(archive), name_(std::move(name)) {}

/// False at the end of the archive, or in what is left when it was cut off.
Result<bool> TarReader::read_block(char* block) {
  for (size_t have = 0; have < kBlock;) {
    ERGOMETER_ASSIGN(const size_t got, content_.archive_.read(block + have, kBlock - have));
    if (got == 0) return false;
    have += got;
  }
  return true;
}

Result<void> TarReader::skip_rest() {
  std::array<char, size_t{1} << 14> waste{};
  content_.left_ += content_.padding_;
  content_.padding_ = 0;
  while (content_.left_ > 0) ERGOMETER_TRY(content_.read(waste.data(), waste.size()));
  return {};
}

Result<std::string> TarReader::read_all(uint64_t most) {
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < most) {
    ERGOMETER_ASSIGN(const size_t got, content_.read(piece.data(), piece.size()));
    if (got == 0) break;
    text.append(piece.data(), got);
  }
  return text;
}

Result<std::optional<std::string>> TarReader::next() {
  std::string long_name;
  std::array<char, kBlock> block{};
  for (;;) {
    ERGOMETER_TRY(skip_rest());
    ERGOMETER_ASSIGN(const bool more, read_block(block.data()));
    const std::string_view header(block.data(), kBlock);
    if (!more || std::ranges::all_of(header, [](char c) { return c == 0; })) return std::nullopt;
    const auto size = header_number(header.substr(kSizeAt, kSizeBytes));
    if (!checksum_holds(header) || !size || *size > kLargestFile)
      return input_error("{}: the tar archive is damaged", name_);
    content_.left_ = *size;
    content_.padding_ = (kBlock - *size % kBlock) % kBlock;
    switch (header[kTypeAt]) {
      case 'L': {  // GNU: the next file's name
        ERGOMETER_ASSIGN(long_name, read_all(kLongestMemberName));
        long_name = long_name.substr(0, std::min(long_name.find('\0'), long_name.size()));
        break;
      }
      case 'x': {  // pax: more about the next file
        ERGOMETER_ASSIGN(const std::string records, read_all(kLongestMemberName));
        long_name = pax_path(records);
        break;
      }
      case '0':
      case '7':
      case '\0': return long_name.empty() ? path_of(header) : long_name;
      case 'g': break;
      default: long_name.clear(); break;  // folders, links, devices
    }
  }
}

}  // namespace ergometer::importer
