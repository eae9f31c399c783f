#include "intake/script/inner_shell.h"

#include <gtest/gtest.h>

#include "intake/script/shell_run.h"

namespace ergometer::intake {
namespace {

/// The words of the programs that a script starts, a line a program; <?> where one is not known.
std::string started_inside(const std::string& script, const ScriptContext& context = {}) {
  const auto run = run_shell(script, "run.sh", context);
  if (!run) return "refused: " + run.error().message;
  std::string text;
  for (const ShellCommand& command : run->commands) {
    std::string line;
    for (const ShellText& word : command.words)
      line += (line.empty() ? "" : "|") + (ShellUnknowns::in(word.text) ? "<?>" : word.text);
    text += (text.empty() ? "" : "\n") + line + (command.depends_on.empty() ? "" : " (perhaps)");
  }
  return text;
}

TEST(InnerShell, WordsOfSshAreOneTextThatAnotherHostExpands) {
  EXPECT_EQ(started_inside("X=2; ssh -p 22 h -t \"run $X\" '3; run 4'"), "run|2|3\nrun|4");
  EXPECT_EQ(started_inside("export X=2; ssh h 'run $X'; timeout 3h ssh h \"run $X\""),
            "run|<?>\ntimeout|3h|run|2");
  EXPECT_EQ(started_inside("X=2; ssh h <<EOF\nrun $X\nEOF\nssh h <<'EOF'\nY=3\nrun $X $Y\nEOF"),
            "run|2\nrun|<?>|3");
  EXPECT_EQ(started_inside("X=2; ssh h bash -s <<EOF\nrun $X\nEOF"), "run|2");
}

TEST(InnerShell, TerminalsRunATextOrHaveItTyped) {
  EXPECT_EQ(started_inside("X=2; tmux new-session -d -s x \"run $X\""), "run|2");
  EXPECT_EQ(started_inside("X=2; tmux new -ds x 'run $X'"), "run|<?>");
  EXPECT_EQ(started_inside("tmux new -d -s x && tmux send-keys -t x 'X=2; cd /' Enter &&"
                           " tmux send -t x run Space '$X' C-m"),
            "run|2");
  EXPECT_EQ(started_inside("tmux send-keys -t x 'run 1'"), "");
  EXPECT_EQ(started_inside("tmux send-keys -t x 'X=2' Enter; tmux send-keys -t y 'run a$X' Enter"),
            "run|a");
  EXPECT_EQ(started_inside("screen -dmS x bash -c 'run 1'"), "screen|-dmS|x|run|1");
  EXPECT_EQ(started_inside("screen -S x -p 0 -X stuff 'run 1\\n'"), "run|1");
  EXPECT_EQ(started_inside("screen -S x -X stuff 'run \\t'"), "screen|-S|x|-X|stuff|run \\t");
  EXPECT_EQ(started_inside("export X=2; su u -c 'run $X'; su - u -c 'run $X'"), "run|2\nrun|<?>");
}

TEST(InnerShell, QueuesReadLinesOfTheirScripts) {
  EXPECT_EQ(started_inside("export X=2; bsub -n 8 -gpu num=4 'run $X'"), "run|2");
  EXPECT_EQ(started_inside("bsub -no-such 8 'run 1'"), "bsub|-no-such|8|run 1");
  EXPECT_EQ(started_inside("bsub <<'E'\n#BSUB -n 8 -R span[ptile=4]\nrun $LSB_DJOB_NUMPROC\nE"),
            "run|8");
  EXPECT_EQ(started_inside("X=2; qsub -v Y=3 <<'E'\n#PBS -l nodes=2:ppn=4\nrun $PBS_NP $Y $X\nE"),
            "run|8|3|<?>");
}

TEST(InnerShell, ContainersDoNotInherit) {
  EXPECT_EQ(started_inside("docker run -e X=2 -e Y=3 i bash -c 'run $X $Y'"),
            "docker|run|-e|X=2|-e|Y=3|i|run|2|3");
  EXPECT_EQ(started_inside("export X=2 Y=3; docker run -e Y i bash -c 'run $X $Y'"),
            "docker|run|-e|Y|i|run|<?>|3");
  EXPECT_EQ(started_inside("export X=2; kubectl exec p -- bash -c 'run $X'"),
            "kubectl|exec|p|--|run|<?>");
}

TEST(InnerShell, WhatIsGivenHoldsElsewhereToo) {
  ScriptContext context;
  context.environment = {{"X", "2"}};
  EXPECT_EQ(started_inside("X=${X:-1}; ssh h 'run $X'", context), "run|2");
}

}  // namespace
}  // namespace ergometer::intake
