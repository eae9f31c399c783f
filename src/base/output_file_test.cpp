#include "base/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ergometer::base {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ergometer-output-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string content(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  const std::string path = (folder_ / "a.txt").string();
  auto file = OutputFile::open(path);
  ASSERT_TRUE(file);
  file->write("hello");
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("a.txt"), "hello");
}

TEST_F(OutputFileTest, WithoutCommitTheFormerFileStaysAndNothingIsLeftBeside) {
  std::ofstream(folder_ / "a.txt") << "before";
  {
    auto file = OutputFile::open((folder_ / "a.txt").string());
    ASSERT_TRUE(file);
    file->write("half");
  }
  EXPECT_EQ(content("a.txt"), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(OutputFileTest, FoldersAndMissingFoldersAreRefused) {
  EXPECT_NE(OutputFile::open(folder_.string()).error().message.find("is a folder"),
            std::string::npos);
  EXPECT_NE(OutputFile::open((folder_ / "no/a").string()).error().message.find("cannot be written"),
            std::string::npos);
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAtCommit) {
  auto file = OutputFile::open("/dev/full");
  ASSERT_TRUE(file);
  file->write("x");
  EXPECT_NE(file->commit().error().message.find("/dev/full: cannot be written"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::base
