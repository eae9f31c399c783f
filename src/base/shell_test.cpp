#include "base/shell.h"

#include <gtest/gtest.h>

namespace ergometer::base {
namespace {

TEST(ShellQuoted, LeavesPlainWordsAndGuardsOthers) {
  EXPECT_EQ(shell_quoted("--override"), "--override");
  EXPECT_EQ(shell_quoted("gpu.cap=10%"), "gpu.cap=10%");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("two words"), "'two words'");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace ergometer::base
