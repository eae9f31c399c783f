#include "base/entries.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/test_support.h"

namespace ergometer::base {
namespace {

TEST(Entries, AreThePathsInAFolder) {
  const TestFolder temporary;
  const std::string folder = temporary.path("f");
  std::filesystem::create_directories(folder + "/b");
  temporary.put("f/a.run", "a");
  std::set<std::string> found;
  for_each_entry(folder, [&](const auto& path) { found.insert(path.string()); });
  EXPECT_EQ(found, (std::set<std::string>{folder + "/a.run", folder + "/b"}));
  std::filesystem::remove_all(folder);
  for_each_entry(folder, [&](const auto& path) { ADD_FAILURE() << path; });
}

/// A process's folder cannot be read on once the process is gone.
TEST(Entries, AFolderThatGoesAwayEndsThem) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  int found = 0;
  for_each_entry("/proc/" + std::to_string(child) + "/task", [&](const auto&) {
    if (++found > 1) return;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace ergometer::base
