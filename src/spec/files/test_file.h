#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

namespace ergometer::spec {

/// A file that lives as long as the test.
class TestFile {
 public:
  TestFile(const std::string& name, std::string_view content)
      : path(testing::TempDir() + std::to_string(getpid()) + name), text(content) {
    std::ofstream(path) << text;
  }
  ~TestFile() { std::remove(path.c_str()); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  const std::string path, text;
};

}  // namespace ergometer::spec
