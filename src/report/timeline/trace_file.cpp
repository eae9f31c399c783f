#include "report/timeline/trace_file.h"

#include <zlib.h>

#include <array>

#include "base/check.h"

namespace ergometer::report {
namespace {

constexpr size_t kPiece = size_t{1} << 16;

}  // namespace

Result<TraceFile> TraceFile::open(const std::string& path) {
  const bool packed = path.ends_with(".gz");
  ERGOMETER_TRY(packed ? base::check_replaces(path, "a packed trace", "\x1f\x8b")
                       : base::check_replaces(path, "a trace in JSON", "{"));
  ERGOMETER_ASSIGN(base::OutputFile opened, base::OutputFile::open(path));
  TraceFile file(std::move(opened));
  if (!packed) return file;
  constexpr int kWindowOfGzip = 15 + 16, kMemory = 8;
  file.packer_ = std::make_unique<z_stream>();
  ERGOMETER_CHECK(deflateInit2(file.packer_.get(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowOfGzip,
                               kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
                  "zlib refuses its own defaults");
  return file;
}

TraceFile::TraceFile(base::OutputFile file) : file_(std::move(file)) {}
TraceFile::TraceFile(TraceFile&&) noexcept = default;

TraceFile::~TraceFile() {
  if (packer_) deflateEnd(packer_.get());
}

void TraceFile::write(std::string_view text) {
  if (!packer_) return file_.write(text);
  waiting_ += text;
  if (waiting_.size() < kPiece) return;
  pack(waiting_, false);
  waiting_.clear();
}

void TraceFile::pack(std::string_view text, bool last) {
  std::array<char, kPiece> packed;
  // zlib's interface takes what it only reads without const.
  packer_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  packer_->avail_in = static_cast<uInt>(text.size());
  do {
    packer_->next_out = reinterpret_cast<Bytef*>(packed.data());
    packer_->avail_out = static_cast<uInt>(packed.size());
    deflate(packer_.get(), last ? Z_FINISH : Z_NO_FLUSH);
    file_.write({packed.data(), packed.size() - packer_->avail_out});
  } while (packer_->avail_out == 0);
}

Result<void> TraceFile::commit() {
  if (packer_) pack(waiting_, true);
  return file_.commit();
}

}  // namespace ergometer::report
