#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// A fuzzer's bytes as a file in memory, for readers that take a path.
class FileInput {
 public:
  FileInput(const uint8_t* data, size_t size) : file_(::memfd_create("fuzz", 0)) {
    if (file_ < 0 || ::write(file_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;
  ~FileInput() { ::close(file_); }

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};
