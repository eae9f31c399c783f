#include "import/bytes/temporary_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "import/bytes/test_source.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFile, WhatKilledProcessesLeftIsRemovedAndWhatIsInUseStays) {
  const base::TestFolder temporary;
  const fs::path& folder = temporary.root();
  const char* const before = ::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", folder.c_str(), 1);
  std::ofstream(folder / "ergometer-abcdef") << "left";
  std::ofstream(folder / "ergometer-of-mine") << "another's";
  {
    TextSource first("text"), second("more");
    const auto one = TemporaryFile::of(first, "a");
    const auto two = TemporaryFile::of(second, "b");
    ASSERT_TRUE(one);
    ASSERT_TRUE(two);
    EXPECT_FALSE(fs::exists(folder / "ergometer-abcdef"));
    EXPECT_TRUE(fs::exists(folder / "ergometer-of-mine"));
    EXPECT_EQ(fs::file_size(one->path()), 4u);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  kept.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace ergometer::importer
