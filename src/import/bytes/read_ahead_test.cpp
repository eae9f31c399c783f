#include "import/bytes/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ergometer::importer {
namespace {

/// The bytes 0, 1, 2, ... up to `size`, in pieces of odd sizes; then the end, or an error.
class Counting : public ByteSource {
 public:
  Counting(size_t size, bool fails) : size_(size), fails_(fails) {}
  Result<size_t> read(char* to, size_t bytes) override {
    if (at_ == size_ && fails_) return input_error("damaged");
    const size_t count = std::min({bytes, size_t{10007}, size_ - at_});
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<char>((at_ + i) % 251);
    at_ += count;
    return count;
  }
  bool cut_off() const override { return at_ == size_; }

 private:
  size_t size_, at_ = 0;
  bool fails_;
};

size_t read_all(ByteSource& source, std::string& error) {
  std::string piece(7919, '\0');
  size_t sum = 0;
  for (;;) {
    const auto got = source.read(piece.data(), piece.size());
    if (!got) error = got.error().message;
    if (!got || *got == 0) return sum;
    for (size_t i = 0; i < *got; ++i) EXPECT_EQ(piece[i], static_cast<char>((sum + i) % 251));
    sum += *got;
  }
}

TEST(ReadAhead, GivesTheSameBytes) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 18, (size_t{1} << 21) + 5}) {
    Counting counting(size, false);
    const auto source = read_ahead(counting);
    std::string error;
    EXPECT_EQ(read_all(*source, error), size);
    EXPECT_TRUE(error.empty());
    EXPECT_TRUE(source->cut_off());
  }
}

TEST(ReadAhead, GivesWhatCameBeforeAnError) {
  Counting counting(1 << 20, true);
  const auto source = read_ahead(counting);
  std::string error;
  EXPECT_EQ(read_all(*source, error), size_t{1} << 20);
  EXPECT_EQ(error, "damaged");
}

TEST(ReadAhead, EndsWhenNobodyWantsMore) {
  Counting counting(size_t{1} << 24, false);
  const auto source = read_ahead(counting);
  char byte = 1;
  EXPECT_EQ(source->read(&byte, 1).value_or(0), 1u);
  EXPECT_EQ(byte, 0);
}

}  // namespace
}  // namespace ergometer::importer
