#include <zlib.h>

#include <vector>

#include "import/bytes/unpack.h"

namespace ergometer::importer {
namespace {

constexpr size_t kPackedBytes = size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  ///< zlib: a window of 32 KiB, with gzip's header

class GzipSource : public ByteSource {
 public:
  GzipSource(ByteSource& packed, std::string name)
      : packed_(packed), name_(std::move(name)), input_(kPackedBytes) {
    ok_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<size_t> read(char* to, size_t bytes) override;
  bool cut_off() const override { return cut_off_ || packed_.cut_off(); }

 private:
  Result<bool> refill();
  Result<bool> next_member();

  ByteSource& packed_;
  std::string name_;
  std::vector<char> input_;
  z_stream stream_{};
  uint64_t in_ = 0, out_ = 0;
  bool ok_ = false, done_ = false, cut_off_ = false;
};

/// False at the end of the packed bytes.
Result<bool> GzipSource::refill() {
  ERGOMETER_ASSIGN(const size_t got, packed_.read(input_.data(), input_.size()));
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(got);
  in_ += got;
  return got > 0;
}

/// Behind a member another may follow; anything else there is padding, as gzip itself takes it.
Result<bool> GzipSource::next_member() {
  if (stream_.avail_in == 0) {
    ERGOMETER_ASSIGN(const bool more, refill());
    if (!more) return false;
  }
  if (*stream_.next_in != 0x1f) return false;
  return inflateReset(&stream_) == Z_OK;
}

Result<size_t> GzipSource::read(char* to, size_t bytes) {
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(bytes);
  const auto given = [&] { return bytes - stream_.avail_out; };
  while (!done_ && given() == 0) {
    if (stream_.avail_in == 0) {
      ERGOMETER_ASSIGN(const bool more, refill());
      if (!more) {
        done_ = cut_off_ = true;
        break;
      }
    }
    const int code = ok_ ? inflate(&stream_, Z_NO_FLUSH) : Z_MEM_ERROR;
    if (code == Z_STREAM_END) {
      ERGOMETER_ASSIGN(const bool more, next_member());
      done_ = !more;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return input_error("{}: the gzip data is damaged: {}", name_,
                         stream_.msg != nullptr ? stream_.msg : zError(code));
    }
  }
  out_ += given();
  ERGOMETER_TRY(check_growth(name_, in_, out_));
  return given();
}

}  // namespace

std::unique_ptr<ByteSource> unpack_gzip(ByteSource& packed, std::string name) {
  return std::make_unique<GzipSource>(packed, std::move(name));
}

}  // namespace ergometer::importer
