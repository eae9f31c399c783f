#include "import/bytes/read_ahead.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace ergometer::importer {
namespace {

constexpr size_t kPieces = 4, kPieceBytes = size_t{1} << 18;

/// Pieces go round: the thread fills the next empty one, the reader empties the next full one.
class ReadAhead : public ByteSource {
 public:
  explicit ReadAhead(ByteSource& source) : source_(source) {
    for (Piece& piece : pieces_) piece.bytes.resize(kPieceBytes);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      try {
        fill(stop);
      } catch (...) {
        thrown_ = std::current_exception();
        end(std::nullopt);
      }
    });
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  ~ReadAhead() override {
    thread_.request_stop();
    changed_.notify_all();
  }

  Result<size_t> read(char* to, size_t bytes) override;
  /// Of what has been read: known once the end was.
  bool cut_off() const override {
    const std::lock_guard lock(mutex_);
    return cut_off_;
  }

 private:
  struct Piece {
    std::vector<char> bytes;
    size_t size = 0, given = 0;
    bool full = false;
  };
  void fill(const std::stop_token& stop);
  void end(std::optional<base::Error> error);

  ByteSource& source_;
  std::array<Piece, kPieces> pieces_;
  size_t next_ = 0;  ///< the reader's piece
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool ended_ = false, cut_off_ = false;
  std::optional<base::Error> error_;
  std::exception_ptr thrown_;  ///< in the thread; the reader throws it again
  std::jthread thread_;        ///< last, so that it ends before the rest goes
};

void ReadAhead::end(std::optional<base::Error> error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  cut_off_ = source_.cut_off();
  ended_ = true;
  changed_.notify_all();
}

void ReadAhead::fill(const std::stop_token& stop) {
  for (size_t i = 0;; i = (i + 1) % kPieces) {
    Piece& piece = pieces_[i];
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !piece.full; })) return;
    }
    // A piece that is not full is the thread's alone.
    piece.size = piece.given = 0;
    while (piece.size < kPieceBytes) {
      const auto got = source_.read(piece.bytes.data() + piece.size, kPieceBytes - piece.size);
      if (!got) return end(got.error());
      if (*got == 0) break;
      piece.size += *got;
    }
    const bool last = piece.size < kPieceBytes;
    {
      const std::lock_guard lock(mutex_);
      piece.full = piece.size > 0;
      changed_.notify_all();
    }
    if (last) return end(std::nullopt);
  }
}

Result<size_t> ReadAhead::read(char* to, size_t bytes) {
  Piece& piece = pieces_[next_];
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return piece.full || ended_; });
    if (!piece.full && thrown_) std::rethrow_exception(thrown_);
    if (!piece.full && error_) return tl::unexpected(*error_);
    if (!piece.full) return 0;
  }
  const size_t count = std::min(bytes, piece.size - piece.given);
  std::memcpy(to, piece.bytes.data() + piece.given, count);
  piece.given += count;
  if (piece.given == piece.size) {
    const std::lock_guard lock(mutex_);
    piece.full = false;
    next_ = (next_ + 1) % kPieces;
    changed_.notify_all();
  }
  return count;
}

}  // namespace

std::unique_ptr<ByteSource> read_ahead(ByteSource& source) {
  return std::make_unique<ReadAhead>(source);
}

}  // namespace ergometer::importer
