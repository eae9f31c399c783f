#include "record/push/token_file.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"

namespace ergometer::record {

Result<void> check_private(const std::string& path, const char* what) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) == 0 && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return input_error("{}: others may read {}; 'chmod 600 {}' changes that", path, what, path);
  return {};
}

Result<std::string> read_token(const std::string& path) {
  constexpr size_t kMostBytes = 4096, kShortest = 8, kLongest = 256;
  ERGOMETER_ASSIGN(std::string text, base::read_file(path, kMostBytes));
  ERGOMETER_TRY(check_private(path, "the token that it holds"));
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (!printable || text.size() < kShortest || text.size() > kLongest)
    return input_error("{}:1: a token of {} to {} printable characters without spaces is expected",
                       path, kShortest, kLongest);
  return text;
}

}  // namespace ergometer::record
