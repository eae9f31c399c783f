#include <zstd.h>
#include <zstd_errors.h>

#include <vector>

#include "import/bytes/unpack.h"

namespace ergometer::importer {
namespace {

constexpr int kLargestWindowLog = 27;  ///< 128 MiB, what zstd itself allows without being asked

class ZstdSource : public ByteSource {
 public:
  ZstdSource(ByteSource& packed, std::string name)
      : packed_(packed),
        name_(std::move(name)),
        buffer_(ZSTD_DStreamInSize()),
        stream_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
  }

  Result<size_t> read(char* to, size_t bytes) override;
  bool cut_off() const override { return cut_off_ || packed_.cut_off(); }

 private:
  Result<bool> refill();
  tl::unexpected<base::Error> error(size_t code) const;

  ByteSource& packed_;
  std::string name_;
  std::vector<char> buffer_;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> stream_;
  ZSTD_inBuffer input_{};
  uint64_t in_ = 0, out_ = 0;
  bool in_frame_ = false, done_ = false, cut_off_ = false;
};

/// False at the end of the packed bytes.
Result<bool> ZstdSource::refill() {
  ERGOMETER_ASSIGN(const size_t got, packed_.read(buffer_.data(), buffer_.size()));
  input_ = {buffer_.data(), got, 0};
  in_ += got;
  return got > 0;
}

tl::unexpected<base::Error> ZstdSource::error(size_t code) const {
  if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
    return input_error(
        "{}: needs a window of more than 128 MiB to be unpacked (zstd --long); unpack "
        "it first (zstd -d --long=31)",
        name_);
  return input_error("{}: the zstd data is damaged: {}", name_, ZSTD_getErrorName(code));
}

Result<size_t> ZstdSource::read(char* to, size_t bytes) {
  ZSTD_outBuffer output{to, bytes, 0};
  while (!done_ && output.pos == 0) {
    // Within a frame there may be more to come without more input.
    if (input_.pos < input_.size || in_frame_) {
      const size_t left = ZSTD_decompressStream(stream_.get(), &output, &input_);
      if (ZSTD_isError(left) != 0) return error(left);
      in_frame_ = left != 0;
    }
    if (output.pos > 0 || input_.pos < input_.size) continue;
    ERGOMETER_ASSIGN(const bool more, refill());
    done_ = !more;
    cut_off_ = done_ && in_frame_;
  }
  out_ += output.pos;
  ERGOMETER_TRY(check_growth(name_, in_, out_));
  return output.pos;
}

}  // namespace

std::unique_ptr<ByteSource> unpack_zstd(ByteSource& packed, std::string name) {
  return std::make_unique<ZstdSource>(packed, std::move(name));
}

}  // namespace ergometer::importer
