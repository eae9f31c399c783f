#include "import/temporary_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace ergometer::importer {
namespace {

base::Result<void> copy(ByteSource& source, std::FILE* to, const std::string& name) {
  constexpr size_t kPiece = size_t{1} << 18;
  std::vector<char> piece(kPiece);
  size_t got = 0;
  bool written = true;
  do {
    ERGOMETER_ASSIGN(got, source.read(piece.data(), piece.size()));
    written = std::fwrite(piece.data(), 1, got, to) == got;
  } while (got > 0 && written);
  if (written && std::fflush(to) == 0) return {};
  return tl::unexpected(base::Error{
      base::ErrorKind::kMissing,
      fmt::format("{}: there is no room to unpack it in {}: {}; choose another place with TMPDIR",
                  name, std::filesystem::temp_directory_path().string(),
                  std::generic_category().message(errno))});
}

}  // namespace

base::Result<TemporaryFile> TemporaryFile::of(ByteSource& source, const std::string& name) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "ergometer-XXXXXX").string();
  const int handle = ::mkstemp(path.data());
  std::FILE* const file = handle < 0 ? nullptr : ::fdopen(handle, "wb");
  if (file == nullptr)
    return tl::unexpected(base::Error{base::ErrorKind::kMissing,
                                      fmt::format("{}: no file can be made to unpack it into: {}",
                                                  path, std::generic_category().message(errno))});
  TemporaryFile result(std::move(path));
  const auto copied = copy(source, file, name);
  std::fclose(file);
  if (!copied) return tl::unexpected(copied.error());
  return result;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace ergometer::importer
