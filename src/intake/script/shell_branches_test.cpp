#include <gtest/gtest.h>

#include "intake/script/shell_run.h"

namespace ergometer::intake {
namespace {

/// The words of the programs that a script starts, a line each; "?" for what is not known.
std::string programs_of(const std::string& script) {
  const auto run = run_shell(script, "run.sh", {});
  if (!run) return "refused: " + run.error().message;
  std::string text;
  for (const ShellCommand& command : run->commands) {
    for (const ShellText& word : command.words)
      text += (ShellUnknowns::in(word.text) ? "?" : word.text) + " ";
    text.back() = '\n';
  }
  return text;
}

constexpr const char* kPerhaps = "[ -f /a/b ]";

std::string with_test(std::string script) {
  for (size_t at = script.find("TEST"); at != script.npos; at = script.find("TEST"))
    script.replace(at, 4, kPerhaps);
  return programs_of(script);
}

TEST(ShellBranches, LoopsThatMayBeLeft) {
  // What only a pass sets that may not be reached is not known; what all set is.
  EXPECT_EQ(with_test("for i in 1 2; do A=8; if TEST; then break; fi; B=$i; done\nrun $A $B"),
            "run 8 ?\n");
  EXPECT_EQ(with_test("for i in 1 2; do TEST && continue; B=$i; done; run $B"), "run ?\n");
  EXPECT_EQ(with_test("B=2; for i in 1 2; do TEST && continue; B=2; done; run $B"), "run 2\n");
  EXPECT_EQ(with_test("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); if TEST; then break; fi; done; "
                      "run $i"),
            "run ?\n");
  EXPECT_EQ(with_test("for i in 1 2; do if TEST; then break; else continue; fi; done; run $i"),
            "run ?\n");
  // A way that ends the script is taken not to happen.
  EXPECT_EQ(with_test("for i in 1 2; do if TEST; then break; else exit; fi; done; run $i"),
            "run 1\n");
}

TEST(ShellBranches, FunctionsThatMayReturn) {
  EXPECT_EQ(with_test("f() { if TEST; then return; fi; A=2; }; A=1; f; run $A"), "run ?\n");
  EXPECT_EQ(with_test("f() { TEST && return; A=1; }; A=1; f; run $A"), "run 1\n");
  EXPECT_EQ(with_test("f() { for i in 1 2; do TEST && return; A=$i; done; }; f; run $A"),
            "run ?\n");
  EXPECT_EQ(with_test("f() { local A=3; TEST && return 1; A=4; }; A=1; f; run $A"), "run 1\n");
}

TEST(ShellBranches, RefusedWhereWhatIsPrintedDependsOnIt) {
  const std::string goes_on =
      "refused: run.sh:1: whether the script goes on here depends on what is true at run.sh:1: [ "
      "-f "
      "/a/b ]";
  EXPECT_EQ(with_test("f() { if TEST; then return; fi; echo 4; }; X=$(f); run $X"), goes_on);
  EXPECT_EQ(with_test("X=$(for i in 1 2; do if TEST; then break; fi; echo $i; done); run $X"),
            goes_on);
  EXPECT_EQ(with_test("for i in 1; do for j in 1; do if TEST; then break 2; fi; done; done"),
            goes_on);
  // How often it goes round nobody knows, nor what it counts to.
  EXPECT_EQ(with_test("N=1; while true; do if TEST; then break; fi; N=$((N + 1)); done; run $N"),
            goes_on);
}

TEST(ShellBranches, LoopsThatGoRoundUntilSomethingIsThere) {
  EXPECT_EQ(with_test("while true; do if TEST; then break; fi; sleep 1; done; run"), "run\n");
}

}  // namespace
}  // namespace ergometer::intake
