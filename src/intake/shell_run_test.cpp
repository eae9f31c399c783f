#include "intake/shell_run.h"

#include <gtest/gtest.h>

#include "intake/shell_arithmetic.h"
#include "spec/test_file.h"

namespace ergometer::intake {
namespace {

/// The words of the programs that a script starts, a line a program; <?> where a value is not
/// known.
std::string started(const std::string& script, const ScriptContext& context = {}) {
  const auto run = run_shell(script, "run.sh", context);
  if (!run) return "refused: " + run.error().message;
  std::string text;
  for (const ShellCommand& command : run->commands) {
    std::string line;
    for (const ShellText& word : command.words) {
      std::string shown;
      bool in_mark = false;
      for (const char c : word.text) {
        if (c == '\x01') shown += "<?>";
        in_mark = c == '\x01' || (in_mark && c != '\x02');
        if (!in_mark && c != '\x02') shown += c;
      }
      line += (line.empty() ? "" : "|") + shown;
    }
    text += (text.empty() ? "" : "\n") + line + (command.depends_on.empty() ? "" : " (perhaps)");
  }
  return text;
}

TEST(ShellRun, Quotes) {
  EXPECT_EQ(started("run --a 1 \\\n  --b 'x y' # c\n --d \"e\\\"f\"\n"),
            "run|--a|1|--b|x y\n--d|e\"f");
  EXPECT_EQ(started("A='1  2'; run $A \"$A\" '$A' \\$A \"\" ''"), "run|1|2|1  2|$A|$A||");
  EXPECT_EQ(started("run $'a\\tb' a\"b\"'c'"), "run|a\tb|abc");
}

TEST(ShellRun, VariablesAndArrays) {
  EXPECT_EQ(started("TP=4\nARGS=(\n --tp $TP # size\n --pp ${PP:-2}\n)\nrun ${ARGS[@]} --x ${1}\n"),
            "run|--tp|4|--pp|2|--x");
  EXPECT_EQ(started("A=\"--n 1 \\\n --m 2\"\nrun $A --o \"$TP\"\n"), "run|--n|1|--m|2|--o|");
  EXPECT_EQ(started("A=(--a 'b c')\nA+=(--c)\nrun \"${A[@]}\" ${#A[@]} ${A[1]} ${A[@]:1:1}\n"),
            "run|--a|b c|--c|3|b|c|b|c");
  EXPECT_EQ(started("declare -A S=([7b]=32 [13b]=40); K=13b; run ${S[$K]} ${#S[@]}"), "run|40|2");
  EXPECT_EQ(started("A=run; A+=.py; : \"${B:=7}\"; x $A $B ${B:+y} ${C:+n} ${A%.py} ${A#*.}"),
            "x|run.py|7|y|run|py");
  EXPECT_EQ(started("P=a/b/c.txt; x ${P##*/} ${P%/*} ${P/b/B} ${P//c/C} ${P:2:1} ${#P} ${P^^}"),
            "x|c.txt|a/b|a/B/c.txt|a/b/C.txt|b|9|A/B/C.TXT");
  EXPECT_EQ(started("N=V; V=3; x ${!N} ${V}b a{1..3} {p,q}r"), "x|3|3b|a1|a2|a3|pr|qr");
  EXPECT_EQ(started("x() { local A=2; y $A $# \"$@\"; }; A=1; x 'b c' d; y $A"),
            "y|2|2|b c|d\ny|1");
}

TEST(ShellRun, TheEnvironmentOverridesDefaults) {
  ScriptContext context;
  context.environment = {{"TP", "8"}};
  context.arguments = {"70b", "x y"};
  EXPECT_EQ(started("TP=${TP:-2}; PP=${PP:-4}; run $TP $PP $1 \"$2\" $#", context),
            "run|8|4|70b|x y|2");
  EXPECT_EQ(started(": ${SIZE:?which model}"),
            "refused: run.sh:1: SIZE must be set (which model); give --env SIZE=VALUE");
}

TEST(ShellRun, OneBranchIsTaken) {
  const char* script =
      "if [ \"$S\" = 7 ]; then L=32\nelif [[ $S == 13 ]]; then L=40\nelse L=64; fi\n"
      "case $S in 7|13) M=a;; *) M=b;; esac\n[ \"$FP8\" = 1 ] && F=--fp8\nrun $L $M $F\n";
  EXPECT_EQ(started(std::string("S=7\n") + script), "run|32|a");
  EXPECT_EQ(started(std::string("S=13; FP8=1\n") + script), "run|40|a|--fp8");
  EXPECT_EQ(started(std::string("S=70\n") + script), "run|64|b");
  EXPECT_EQ(
      started("for i in 1 2; do for j in a b; do [ $j = b ] && continue 2; run $i $j; done; done"),
      "run|1|a\nrun|2|a");
  EXPECT_EQ(started("i=0; while ((i < 3)); do ((i++)); [[ $i -eq 2 ]] && break; done; run $i"),
            "run|2");
  EXPECT_EQ(
      started("while [[ $# -gt 0 ]]; do case $1 in --tp) TP=$2; shift 2;; esac; done; run $TP",
              {{}, {"--tp", "8"}, {}, 0}),
      "run|8");
}

TEST(ShellRun, Arithmetic) {
  EXPECT_EQ(started("G=8; N=4; run $((G * N)) $(( (G+N)/3 )) $((2**10)) $((G>N?1:0)) $[1]"),
            "run|32|4|1024|1|$[1]");
  EXPECT_EQ(started("A=3; let A*=2; ((A+=1)); run $A `expr $A \\* 2` $(echo \"$A*3\" | bc)"),
            "run|7|14|21");
  EXPECT_EQ(started("run $((1/0))"), "refused: run.sh:1: $((1/0)): division by 0");
  EXPECT_EQ(started("run $((A * 8))"), "run|<?>");
}

TEST(ShellRun, CommandsInTexts) {
  EXPECT_EQ(started("CMD=\"torchrun a.py --x 1\"; srun -N 2 bash -c \"$CMD\""),
            "srun|-N|2|torchrun|a.py|--x|1");
  EXPECT_EQ(started("eval \"run --a '1 2'\"; A=3; eval run $A"), "run|--a|1 2\nrun|3");
  EXPECT_EQ(started("export A=1; B=2; bash -c 'run $A $B $0 $1' name x"), "run|1|run.sh|x");
  EXPECT_EQ(started("cat > go.sh <<EOF\nrun $1 \\$1\nEOF\nsh go.sh 7"), "run|7");
  EXPECT_EQ(started("echo \"--a 1\" | xargs run"), "run|--a|1");
  EXPECT_EQ(started("exec run 1\nrun 2"), "run|1");
  EXPECT_EQ(started("bash <<'EOF'\nA=1; run $A\nEOF\n"), "run|1");
}

TEST(ShellRun, FilesBesideTheScript) {
  const spec::TestFile sourced("env.sh", "TP=8\n");
  EXPECT_EQ(started("source " + sourced.path + "; run $TP"), "run|8");
  EXPECT_EQ(started(". ./not-here.sh; run $TP"), "run|<?>");
  EXPECT_EQ(started("source ~/venv/bin/activate; run a$TP"), "run|a");
}

TEST(ShellRun, WhatIsNotKnownIsMarked) {
  EXPECT_EQ(started("run --x $(date +%s) $HOSTNAME"), "run|--x|<?>|<?>");
  // Both branches are followed; what they share is known.
  EXPECT_EQ(started("A=(--a); if nvidia-smi | grep -q H100; then A+=(--b); B=1; else B=1; fi\nrun "
                    "${A[@]} $B"),
            "nvidia-smi\ngrep|-q|H100\nrun|--a|<?>|1");
  // A branch that ends the script is not the one of a job.
  EXPECT_EQ(started("if ! mkdir x; then exit 1; fi; run"), "mkdir|x\nrun");
}

TEST(ShellRun, BatchScripts) {
  EXPECT_EQ(started("#SBATCH --nodes=4 --gres=gpu:8\nsrun run $SLURM_NNODES $((SLURM_NNODES*8)) "
                    "$SLURM_PROCID"),
            "srun|run|4|32|<?>");
  EXPECT_EQ(
      started(
          "#SBATCH -N 2\nN=($(scontrol show hostnames $SLURM_JOB_NODELIST))\nrun ${#N[@]} ${N[0]}"),
      "run|2|<?>");
}

TEST(ShellRun, RefusesWhatBashRefusesAndWhatDoesNotEnd) {
  EXPECT_EQ(started("run 'a"), "refused: run.sh:1: ' has no end");
  EXPECT_EQ(started("a\nif true; then b\n"), "refused: run.sh:2: if has no \"fi\"");
  EXPECT_EQ(started("while true; do :; done"),
            "refused: run.sh:1: does not end within 200,000 commands");
  EXPECT_EQ(started("f() { f; }; f"), "refused: run.sh:1: calls nest deeper than 60");
  EXPECT_EQ(started("A=xxxxxxxxxxxxxxxx; for i in {1..60}; do A=$A$A; done"),
            "refused: run.sh:1: the script's texts grow beyond 8 million characters");
  for (const char* text :
       {"A=(", "\"",   "$",   "${", "\\", "A=(;", "(",       "x\\\r\n", "$(a b", "A=( & | )", "((",
        "[[",  "case", "for", "fi", "}",  "<<",   "cat <<E", "${A",     "$((",   "`"})
    started(text);
}

}  // namespace
}  // namespace ergometer::intake
