#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ergometer::record {

/// A small file of the kernel that stays open: to read it again from its start costs one system
/// call instead of three. Closed when it fails, opened anew at the next read.
class KeptFile {
 public:
  explicit KeptFile(std::string path) : path_(std::move(path)) {}
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  ~KeptFile();

  /// Its first bytes, 256 at most, until the next read. Nothing when it cannot be read.
  std::optional<std::string_view> read();
  const std::string& path() const { return path_; }
  /// Of a read that gave nothing.
  int error_number() const { return error_; }

 private:
  void close();

  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;
  std::array<char, 256> text_;
};

/// The decimal number that a text begins with: 400 of "400 Gb/sec (4X NDR)".
std::optional<double> leading_number(std::string_view text);
/// The first line of a file, once; nothing when it cannot be read.
std::optional<std::string> read_line(const std::string& path);

}  // namespace ergometer::record
