#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace ergometer::base {

/// What a result's error says; empty: it has none.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

/// A result's value; an error fails the test.
template <class T>
T value_of(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << error_of(result);
  return result ? *std::move(result) : T{};
}

/// A folder of its own that lives as long as the test that holds it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ergometer-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::filesystem::path& root() const { return root_; }
  /// Of a file or folder in it.
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  /// Writes a file, and the folders that its name has: its path.
  std::string put(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  std::string bytes(const std::string& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path root_;
};

/// How many of `all` random cases a test plays: ERGOMETER_RANDOM_JOBS where it asks for a number.
/// Under sanitizers, which take five to twenty times as long and look for other mistakes than wrong
/// numbers, a tenth, and one at least.
inline int64_t random_cases(int64_t all) {
  if (const char* asked = std::getenv("ERGOMETER_RANDOM_JOBS")) return std::atoll(asked);
#ifdef ERGOMETER_SANITIZED
  return std::max<int64_t>(1, all / 10);
#else
  return all;
#endif
}

}  // namespace ergometer::base
