#include "import/bytes/unpack.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace ergometer::importer {
namespace {

class Bytes : public ByteSource {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  /// A byte at a time now and then, as a pipe gives them.
  Result<size_t> read(char* to, size_t most) override {
    const size_t count = std::min({most, bytes_.size() - at_, at_ % 3 == 0 ? size_t{1} : most});
    std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

std::string pack(const std::string& text, int window_log = 0) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  // First without saying that it is the end, so that the frame keeps its window.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) {}
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

struct Unpacked {
  std::string text, error;
  bool cut_off = false;
};

Unpacked unpacked(const std::string& packed) {
  EXPECT_TRUE(is_packed(packed));
  Bytes bytes(packed);
  const auto source = unpack(packed, bytes, "a.zst");
  Unpacked result;
  std::string piece(1000, '\0');
  for (;;) {
    const auto got = source->read(piece.data(), piece.size());
    if (!got) {
      result.error = got.error().message;
      break;
    }
    if (*got == 0) break;
    result.text += piece.substr(0, *got);
  }
  result.cut_off = source->cut_off();
  return result;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i * 7919) + ",";
  return text;
}

TEST(Zstd, GivesWhatWasPacked) {
  const std::string text = long_text();
  const Unpacked result = unpacked(pack(text));
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(result.error, "");
  EXPECT_FALSE(result.cut_off);
}

TEST(Zstd, FramesOneAfterTheOther) {
  const std::string skipped = std::string("\x50\x2a\x4d\x18\x03\0\0\0", 8) + "abc";
  const Unpacked result = unpacked(skipped + pack("one ") + skipped + pack("") + pack("two"));
  EXPECT_EQ(result.text, "one two");
  EXPECT_EQ(result.error, "");
  EXPECT_FALSE(result.cut_off);
}

TEST(Zstd, CutOffWhereTheFrameDoesNotEnd) {
  const std::string packed = pack(long_text());
  const Unpacked result = unpacked(packed.substr(0, packed.size() / 2));
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.cut_off);
  EXPECT_EQ(result.text, long_text().substr(0, result.text.size()));
}

TEST(Zstd, DamageIsAnError) {
  std::string packed = pack(long_text());
  packed[packed.size() / 2] = static_cast<char>(~packed[packed.size() / 2]);
  EXPECT_NE(unpacked(packed).error.find("a.zst: the zstd data is damaged: "), std::string::npos);
  EXPECT_NE(unpacked(pack("x") + "rest").error.find("damaged"), std::string::npos);
}

TEST(Zstd, AWindowAbove128MiBIsRefused) {
  EXPECT_EQ(unpacked(pack("text", 27)).text, "text");
  EXPECT_NE(unpacked(pack("text", 28)).error.find("a window of more than 128 MiB"),
            std::string::npos);
}

TEST(Zstd, GrowthHasALimit) {
  const uint64_t mi = uint64_t{1} << 20;
  EXPECT_TRUE(check_growth("a", 1, 255 * mi));
  EXPECT_TRUE(check_growth("a", 6 * mi, 500 * mi));
  EXPECT_FALSE(check_growth("a", 3 * mi, 310 * mi));
}

}  // namespace
}  // namespace ergometer::importer
