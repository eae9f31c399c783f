#include "base/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ergometer::base {

namespace fs = std::filesystem;

Result<OutputFile> OutputFile::open(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status))
    return input_error(fmt::format("{}: is a folder; give the name of a file in it", path));
  const bool straight = fs::exists(status) && !fs::is_regular_file(status);
  const std::string written = straight ? path : fmt::format("{}.partial-{}", path, getpid());
  std::FILE* file = std::fopen(written.c_str(), "wb");
  if (file == nullptr)
    return input_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  return OutputFile(path, written, file);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      written_(std::move(other.written_)),
      file_(other.file_),
      failed_(other.failed_) {
  other.file_ = nullptr;
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (written_ != path_) std::remove(written_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (!failed_) failed_ = std::fwrite(text.data(), 1, text.size(), file_) != text.size();
}

Result<void> OutputFile::commit() {
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  const bool complete = !failed_ && closed &&
                        (written_ == path_ || std::rename(written_.c_str(), path_.c_str()) == 0);
  if (complete) return {};
  const std::string reason = std::strerror(errno);
  if (written_ != path_) std::remove(written_.c_str());
  return input_error(fmt::format("{}: cannot be written: {}", path_, reason));
}

}  // namespace ergometer::base
