#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/output_file.h"
#include "base/test_support.h"

namespace ergometer::base {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const {
    EXPECT_TRUE(write_file_atomically(path(name), text));
    return path(name);
  }
  static std::string message(const std::string& file, size_t max_bytes = 100) {
    const auto text = read_file(file, max_bytes);
    return text ? "read" : text.error().message;
  }
  TestFolder temporary_;
  const fs::path folder_ = temporary_.root();
};

TEST_F(File, ReadsBackWhatWasWritten) {
  const std::string text("a\0b\n", 4);
  const auto read = read_file(write("a.txt", text), 4);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, text);
}

TEST_F(File, ReadsFilesOfManyChunks) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += std::to_string(i);
  const auto read = read_file(write("long.txt", text), text.size());
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == text);
}

TEST_F(File, TheHeadOfARegularFileAndOfNothingElse) {
  EXPECT_EQ(*read_head(write("a.txt", "abcdef"), 3), "abc");
  EXPECT_EQ(*read_head(path("a.txt"), 10), "abcdef");
  for (const std::string& other : {path("none"), folder_.string(), std::string("/dev/zero")})
    EXPECT_EQ(*read_head(other, 3), "") << other;
}

TEST_F(File, WhatStandsAtAPath) {
  EXPECT_EQ(*file_type(write("a.txt", "a")), fs::file_type::regular);
  EXPECT_EQ(*file_type(folder_.string()), fs::file_type::directory);
  for (const std::string& none : {path("none"), path("a.txt/b"), std::string(5000, 'x')})
    EXPECT_EQ(*file_type(none), fs::file_type::not_found) << none;
}

TEST_F(File, EveryReasonHasItsOwnMessage) {
  EXPECT_EQ(message(path("none")), path("none") + ": no such file");
  EXPECT_EQ(message(folder_.string()), folder_.string() + ": is a directory, not a file");
  EXPECT_EQ(message(write("empty", "")), path("empty") + ": is empty");
  EXPECT_EQ(message(write("big", std::string(2049, 'x')), 2048),
            path("big") + ": is larger than 2.00 KiB, the most that is read of such a file");
  EXPECT_EQ(message(write("fits", std::string(2048, 'x')), 2048), "read");
  EXPECT_EQ(message("/dev/zero"),
            "/dev/zero: is larger than 100 B, the most that is read of such a file");
  EXPECT_EQ(message(""), "an empty text is no file name");
  EXPECT_EQ(message(std::string("a\0b", 3)), "a file name cannot hold a NUL character");
  EXPECT_EQ(message(write("x", "x") + "/y"), path("x") + "/y: cannot be read: Not a directory");
}

// Root may read everything, so a child process without its rights looks.
TEST_F(File, AFileWithoutReadPermissionIsNamedSo) {
  const std::string secret = write("secret", "text");
  fs::permissions(folder_, fs::perms::all);
  fs::permissions(secret, fs::perms::none);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    ::_exit(message(secret) == secret + ": no permission to read it" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ergometer::base
