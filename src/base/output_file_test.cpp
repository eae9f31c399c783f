#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"

namespace {
int g_syncs = 0;
}
/// In the place of the C library's: counts, and does the same.
extern "C" int fsync(int file) {
  ++g_syncs;
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace ergometer::base {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  std::string content(const std::string& name) const { return temporary_.bytes(name); }
  long files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  TestFolder temporary_;
  const fs::path folder_ = temporary_.root();
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
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, FoldersAndMissingFoldersAreRefused) {
  const std::string folder = folder_.string();
  EXPECT_EQ(OutputFile::open(folder).error().message,
            folder + ": is a folder; give the name of a file in it");
  EXPECT_EQ(OutputFile::open(folder + "/no/a").error().message,
            folder + "/no/a: cannot be written: No such file or directory");
  EXPECT_EQ(OutputFile::open("").error().message, "an empty text is no file name");
}

TEST_F(OutputFileTest, AFullDeviceIsAnErrorAtCommit) {
  auto file = OutputFile::open("/dev/full");
  ASSERT_TRUE(file);
  file->write("x");
  EXPECT_EQ(file->commit().error().message,
            "/dev/full: cannot be written: No space left on device");
}

TEST_F(OutputFileTest, ReplacesAFileAndKeepsItsMode) {
  const std::string path = (folder_ / "a.txt").string();
  std::ofstream(path) << "before, and longer";
  fs::permissions(path, fs::perms(0640));
  ASSERT_TRUE(write_file_atomically(path, "after"));
  EXPECT_EQ(content("a.txt"), "after");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, WritesThroughASymbolicLink) {
  std::ofstream(folder_ / "target") << "before";
  fs::create_symlink(folder_ / "target", folder_ / "link");
  ASSERT_TRUE(write_file_atomically((folder_ / "link").string(), "after"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content("target"), "after");
}

TEST_F(OutputFileTest, ATemporaryNameThatIsTakenIsLeftAlone) {
  const std::string taken = "a.txt.partial-" + std::to_string(getpid()) + "-0";
  std::ofstream(folder_ / taken) << "another's";
  ASSERT_TRUE(write_file_atomically((folder_ / "a.txt").string(), "mine"));
  EXPECT_EQ(content(taken), "another's");
  EXPECT_EQ(content("a.txt"), "mine");
}

TEST_F(OutputFileTest, DevicesStayInPlace) {
  ASSERT_TRUE(write_file_atomically("/dev/null", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, OutlivesAPowerCut) {
  g_syncs = 0;
  ASSERT_TRUE(write_file_atomically((folder_ / "a.txt").string(), "text"));
  EXPECT_EQ(g_syncs, 2) << "the file and its folder";
}

TEST_F(OutputFileTest, AFullDiskIsTheMachinesLack) {
  auto file = OutputFile::open("/dev/full");
  ASSERT_TRUE(file);
  file->write("x");
  EXPECT_EQ(file->commit().error().kind, ErrorKind::kMissing);
  EXPECT_EQ(OutputFile::open((folder_ / "no/a").string()).error().kind, ErrorKind::kInput);
}

TEST_F(OutputFileTest, WhatDeadWritersLeftIsRemoved) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const auto left = [&](pid_t process, const char* end, bool old) {
    const fs::path path = folder_ / ("a.txt.partial-" + std::to_string(process) + end);
    std::ofstream(path) << "half";
    if (old) fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
    return path;
  };
  const fs::path dead = left(gone, "", true), dead_too = left(gone, "-0", true),
                 young = left(gone, "-1", false), alive = left(::getpid(), "-7", true);
  ASSERT_TRUE(write_file_atomically((folder_ / "a.txt").string(), "text"));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(dead_too));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(alive));
}

TEST_F(OutputFileTest, AnotherKindOfFileIsNotReplaced) {
  const std::string path = (folder_ / "a.txt").string();
  EXPECT_TRUE(check_replaces(path, "a page", "<html"));
  std::ofstream(path) << "<html>";
  EXPECT_TRUE(check_replaces(path, "a page", "<html"));
  std::ofstream(path) << "my notes";
  EXPECT_EQ(check_replaces(path, "a page", "<html").error().message,
            path + ": exists and is not a page; remove it first or choose another name");
}

}  // namespace
}  // namespace ergometer::base
