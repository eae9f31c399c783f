#include "import/bytes/unpack.h"

namespace ergometer::importer {
namespace {

constexpr uint64_t kGrowthAllowed = 100;
constexpr uint64_t kGrowthFrom = uint64_t{256} << 20;

bool is_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

/// A frame, or one to be skipped, which parallel packers write in front.
bool is_zstd(std::string_view head) {
  return head.starts_with("\x28\xb5\x2f\xfd") ||
         (head.size() >= 4 && (head[0] & '\xf0') == '\x50' && head.substr(1, 3) == "\x2a\x4d\x18");
}

}  // namespace

bool is_packed(std::string_view head) { return is_gzip(head) || is_zstd(head); }

std::unique_ptr<ByteSource> unpack(std::string_view head, ByteSource& packed, std::string name) {
  return is_gzip(head) ? unpack_gzip(packed, std::move(name))
                       : unpack_zstd(packed, std::move(name));
}

Result<void> check_growth(const std::string& name, uint64_t packed, uint64_t unpacked) {
  if (unpacked < kGrowthFrom || unpacked / kGrowthAllowed < packed) return {};
  return input_error(
      "{}: grows more than {}-fold when unpacked, which no trace does (a bomb?); "
      "to read it nevertheless, unpack it first",
      name, kGrowthAllowed);
}

}  // namespace ergometer::importer
