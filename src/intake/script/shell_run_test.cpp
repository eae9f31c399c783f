#include "intake/script/shell_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "intake/shell/shell_arithmetic.h"
#include "spec/files/test_file.h"

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

TEST(ShellRun, WhatASubshellSetsEndsWithIt) {
  EXPECT_EQ(started("X=1; X=2 & run $X; wait; run $X"), "run|1\nrun|1");
  EXPECT_EQ(started("X=1; ( X=3; run $X ) & run $X"), "run|3\nrun|1");
  EXPECT_EQ(started("X=1; X=2 && Y=3 & run $X $Y"), "run|1");
  EXPECT_EQ(started("exit 0 & run 1"), "run|1");
  EXPECT_EQ(started("for i in 1 2; do N=$i; run $i & done; run $N"), "run|1\nrun|2\nrun|2");
}

TEST(ShellRun, TrapsOfExitRunAtTheEndOfTheirShell) {
  EXPECT_EQ(started("trap 'run end' EXIT; run a"), "run|a\nrun|end");
  EXPECT_EQ(started("f() { run $X; }; trap f EXIT; X=2; exit 1; run b"), "run|2");
  EXPECT_EQ(started("X=$(trap 'echo 4' EXIT; echo 2 > /dev/null); run $X"), "run|4");
  EXPECT_EQ(started("( trap 'run s' EXIT; run a ); run b"), "run|a\nrun|s\nrun|b");
  EXPECT_EQ(started("trap 'echo 9' 0; X=$(echo 1); run $X"), "run|1");
  EXPECT_EQ(started("trap 'run t' EXIT; trap - EXIT; run a"), "run|a");
  EXPECT_EQ(started("trap 'run t' EXIT; exec run a"), "run|a");
  EXPECT_EQ(started("trap 'run t' TERM INT; run a"), "run|a");
}

TEST(ShellRun, LocalOutsideFunctionsSetsNothing) {
  EXPECT_EQ(started("X=1; local X=2; run $X"), "run|1");
  EXPECT_EQ(started("f() { bash -c 'local X=2; run a$X'; local Y=3; run $Y; }; f"), "run|a\nrun|3");
  EXPECT_EQ(started("set -euo pipefail\nlocal X=2; run $X"),
            "refused: run.sh:2: `local` outside a function, at which the script ends under set -e");
}

TEST(ShellRun, ALoopOverUnknownWordsMayMakeMoreOfThem) {
  EXPECT_EQ(started("for h in $(foo 1 32); do echo $(bar $h)$(baz); done; run a"),
            "foo|1|32\nbar|<?> (perhaps)\nbaz (perhaps)\nrun|a");
}

TEST(ShellRun, PatternsOfAlternatives) {
  EXPECT_EQ(started("case 13b in @(7b|8b)) V=1;; +([0-9])b) V=2;; *) V=3;; esac; run $V"), "run|2");
  EXPECT_EQ(started("case 7b in !(13b|70b)) V=1;; *) V=2;; esac; run $V"), "run|1");
  EXPECT_EQ(started("[[ fp16 == @(b|)f*16 || fp16 == ?(b)fp16 ]] && run a"), "run|a");
  EXPECT_EQ(started("X='@(a|b)'; [[ a == \"$X\" ]] && run a; [[ $X == \"@(a|b)\" ]] && run b"),
            "run|b");
  EXPECT_EQ(
      started("case 70B in 70b) run a;; esac; shopt -s nocasematch\n"
              "case 70B in 70b) run b;; esac; [[ FP8 == fp8 ]] && run c; [[ X =~ ^x$ ]] && run d\n"
              "shopt -u nocasematch; [[ FP8 == fp8 ]] || run e"),
      "run|b\nrun|c\nrun|d\nrun|e");
}

TEST(ShellRun, TheLastPartOfAPipelineIsThisShellWhereItIsToldSo) {
  EXPECT_EQ(started("V=1; echo 2 | read V; run $V; shopt -s lastpipe; echo 3 | read V; run $V"),
            "run|1\nrun|3");
}

TEST(ShellRun, PatternsOfFilesAreNotTakenForWords) {
  EXPECT_EQ(started("run a/*.bin --n 4"), "run|<?>|--n|4");
  EXPECT_EQ(started("A=(a/*.bin); run ${#A[@]}"), "run|<?>");
  EXPECT_EQ(started("N=0; for f in a/*.x; do N=$((N+1)); done; run $N"), "run|<?>");
  EXPECT_EQ(started("shopt -s nullglob; run a/[xy].z b"), "run|<?>|b");
  EXPECT_EQ(started("set -f; run a/*.bin"), "run|a/*.bin");
  EXPECT_EQ(started("run 'a*' \"b*\" c\\* --x=*.py x=* 4*8 http://h/?q=1 [a]"),
            "run|a*|b*|c*|--x=*.py|x=*|4*8|http://h/?q=1|[a]");
  const spec::TestFile first("glob_b.x", "1"), second("glob_a.x", "2");
  const std::filesystem::path path(first.path);
  const std::string stem =
      path.filename().string().substr(0, path.filename().string().find("glob"));
  EXPECT_EQ(started("cd " + path.parent_path().string() + "; run " + stem + "glob_?.x"),
            "run|" + stem + "glob_a.x|" + stem + "glob_b.x");
}

TEST(ShellRun, FiltersOfKnownTexts) {
  EXPECT_EQ(started("L=a:b:c:d; run $(echo $L | cut -d: -f2-) $(echo $L | cut -d: -f1,3) "
                    "$(echo abcd | cut -c2-3) $(echo $L | cut -d: -f-2)"),
            "run|b:c:d|a:c|bc|a:b");
  EXPECT_EQ(started("run $(printf '3\n1\n2\n1\n' | sort -n | uniq | paste -sd, -)"), "run|1,2,3");
  EXPECT_EQ(started("run $(printf '3\n10\n' | sort -nr) $(printf 'b\na\n' | sort)"),
            "run|10|3|a|b");
  EXPECT_EQ(started("run $(printf 'B\na\n' | sort)"), "sort\nrun|<?>");
  EXPECT_EQ(started("run $(printf 'a\nb\nc\n' | tail -n +2) $(seq -s, 1 3)"), "run|b|c|1,2,3");
  EXPECT_EQ(started("run $(echo 'x slots=8 y slots=16' | grep -o 'slots=[0-9]*' | cut -d= -f2)"),
            "run|8|16");
  EXPECT_EQ(started("run $(echo a-b | sed 's/a/x/; s/-/_/')"), "run|x_b");
  EXPECT_EQ(
      started("A=64; run $(python3 -c \"print($A // (4 * 2))\") $(python -c 'print(int(3*5))')"),
      "run|8|15");
  EXPECT_EQ(started("run $(python -c 'print(7/2)')"), "python|-c|print(7/2)\nrun|<?>");
}

TEST(ShellRun, WhatStandsBehindUnknownWordsIsNotKnown) {
  EXPECT_EQ(started("set -- $(hosts); run ${2:-8}"), "hosts\nrun|<?>");
  EXPECT_EQ(started("A=($(hosts)); run ${A[3]:-8} ${B[3]:-8}"), "hosts\nrun|<?>|8");
  EXPECT_EQ(started("read X Y <<< \"$(hosts)\"; run ${Y:-8}"), "hosts\nrun|<?>");
  EXPECT_EQ(started("set -- a; run ${2:-8}"), "run|8");
}

TEST(ShellRun, QuotesAreMadeForInnerShells) {
  const std::string list = "A=(--a 'x(1)' \"it's; # & |\" '')\n";
  const std::string words = "run|--a|x(1)|it's; # & |||z";
  EXPECT_EQ(started(list + "bash -c \"run ${A[*]@Q} z\""), words);
  EXPECT_EQ(started(list + "bash -c \"run $(printf '%q ' \"${A[@]}\") z\""), words);
  EXPECT_EQ(started(list + "printf -v L ' %q' \"${A[@]}\"; ssh host run $L z"), words);
  EXPECT_EQ(started("A=(a $(hostname)); bash -c \"run ${A[*]@Q}\""), "run|a|<?>");
  EXPECT_EQ(started("A=aBc; run ${A@U} ${A@L}"), "run|ABC|abc");
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

TEST(ShellRun, NamesThatStandForOthers) {
  EXPECT_EQ(started("TP=2; declare -n ref=TP; run $ref ${ref} ${!ref}"), "run|2|2|TP");
  EXPECT_EQ(started("declare -n ref=TP; ref=4; run $TP; declare -n ref=PP; PP=3; run $ref $TP"),
            "run|4\nrun|3|4");
  EXPECT_EQ(started("f() { local -n out=$1; out=(a b); }; f LIST; run ${LIST[@]} ${#LIST[@]}"),
            "run|a|b|2");
  EXPECT_EQ(started("declare -n a=b; declare -n b=a; run $a"), "run");
  EXPECT_EQ(started("declare -n a='b c'; run $a"),
            "refused: run.sh:1: declare -n a: found \"b c\"; allowed: another variable's name");
}

TEST(ShellRun, WhatEnvSets) {
  EXPECT_EQ(started("env A=1 B='2 3' bash -c 'run $A \"$B\"'"), "env|A=1|B=2 3|run|1|2 3");
  EXPECT_EQ(started("srun env -i A=1 bash -c 'run $A'"), "srun|env|-i|A=1|run|1");
  const auto run = run_shell("env A=1 run; run; B=2 srun env C=3 run", "run.sh", {});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->commands[0].environment.count("A"), 1);
  EXPECT_EQ(run->commands[1].environment.count("A"), 0);
  EXPECT_EQ(run->commands[2].environment.count("B"), 1);
}

TEST(ShellRun, ScriptsThatAScriptWrites) {
  const std::string write = "cat > r.sh <<'X'\nrun --tp 8 $N\nX\n";
  EXPECT_EQ(started(write + "chmod +x r.sh && ./r.sh"), "run|--tp|8");
  EXPECT_EQ(started(write + "sed -i 's|tp 8|tp 4|' r.sh; bash ./r.sh"),
            "sed|-i|s|tp 8|tp 4||r.sh\nrun|--tp|4");
  EXPECT_EQ(started(write + "export N=3 M=5; envsubst < r.sh > ./s.sh; . s.sh"), "run|--tp|8|3");
  EXPECT_EQ(started("export N=1; M=2; echo 'run $N ${M} $N.x $1' | envsubst > s; bash s"),
            "run|1|1.x");
  EXPECT_EQ(started("export N=1 M=2; echo 'echo $N \\$M' > s; run \"$(envsubst '$N' < s)\""),
            "run|echo 1 \\$M");
  EXPECT_EQ(started("echo '--a 1' > args; echo --b >> args; xargs -a args run x"),
            "run|x|--a|1|--b");
  EXPECT_EQ(started("run ~/x ~"), "run|~/x|~");
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
            "run|32|4|1024|1|1");
  EXPECT_EQ(started("A=3; let A*=2; ((A+=1)); run $A `expr $A \\* 2` $(echo \"$A*3\" | bc)"),
            "run|7|14|21");
  EXPECT_EQ(started("set -- a b; while (( \"$#\" )); do run $1; shift; done; run $(( \"2\" * 3 ))"),
            "run|a\nrun|b\nrun|6");
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
  for (const char* names : {"$PWD/go.sh go.sh", "go.sh $PWD/go.sh", "./go.sh ${PWD}/go.sh"}) {
    const std::string text(names), written = text.substr(0, text.find(' '));
    EXPECT_EQ(
        started("cat > " + written + " <<EOF\nrun 7\nEOF\nbash" + text.substr(written.size())),
        "run|7")
        << names;
  }
}

TEST(ShellRun, FilesBesideTheScript) {
  const spec::TestFile sourced("env.sh", "TP=8\n");
  EXPECT_EQ(started("source " + sourced.path + "; run $TP"), "run|8");
  EXPECT_EQ(started(". ./not-here.sh; run $TP"), "run|<?>");
  EXPECT_EQ(started("source ~/venv/bin/activate; run a$TP"), "run|a");
  EXPECT_EQ(started("source /opt/site/env.sh; run a${TP:-1}"), "run|a<?>");
}

TEST(ShellRun, LessCommonWaysAreThoseOfBash) {
  EXPECT_EQ(started("A=(1 2 3 4); run ${A[@]: -2} ${A[@]: -3:2}; set -- a b c; run ${@: -1}"),
            "run|3|4|2|3\nrun|c");
  EXPECT_EQ(started("declare -A M=([a]=1); [[ -v M[a] ]] && run a; [[ -v M[b] ]] || run b"),
            "run|a\nrun|b");
  EXPECT_EQ(started("run $(printf '%03d-%5.2f-%x-%.2s' 7 3.14159 255 abc) $(printf '%.0f' 2.6)"),
            "run|007-|3.14-ff-ab|3");
  EXPECT_EQ(started("run {1..5..2} {08..10} {a..c} {3..1} x{1..2}y"),
            "run|1|3|5|08|09|10|a|b|c|3|2|1|x1y|x2y");
  EXPECT_EQ(started("f() { return 3; }; f; V=$?; ! true; W=$?; X=$(exit 4); run $V $W $?"),
            "run|3|1|4");
  EXPECT_EQ(started("run \"${U:-\"q r\"}\" \"${1:-\"a\"}b\""), "run|q r|ab");
  EXPECT_EQ(started("f() { echo err >&2; echo 4; }; run $(f) $(f 2>/dev/null) $(f &> log)"),
            "run|4|4");
  EXPECT_EQ(started("declare -i I=2*3; I+=4; run $I $((10#08 + 2#101))"), "run|10|13");
  EXPECT_EQ(started("A=(a b); A[4]=c; run ${!A[@]}"), "run|0|1|4");
  EXPECT_EQ(started("A=(a b); run ${A[@]/#/x} ${A[@]/%/:8}"), "run|xa|xb|a:8|b:8");
  EXPECT_EQ(started("declare -l A=B"),
            "refused: run.sh:1: declare -l is not followed; ${NAME,,} and ${NAME^^} are");
  EXPECT_EQ(started("case 7b in 7b) V=1;;& *b) V=2;; esac"),
            "refused: run.sh:1: a branch of case that goes on (;& and ;;&) is not followed");
}

TEST(ShellRun, LoopsGoOnWhileTheirInputOrArgumentsDo) {
  EXPECT_EQ(started("B=2; set -- --x 1 --y 2 --bs 16; while [ $# -gt 0 ]; do\n"
                    "[ -f /data/stop ] && break\n[ \"$1\" = --bs ] && B=$2\nshift 2\ndone; run $B"),
            "run|<?>");
  EXPECT_EQ(started("B=2; while read -r K; do\n[ -f /data/stop ] && break\n"
                    "if [ $K = two ]; then B=16; fi\ndone <<EOF\none\nother\ntwo\nEOF\nrun $B"),
            "run|<?>");
  // One that waits is the same again.
  EXPECT_EQ(started("B=2; while true; do [ -f /data/stop ] && break; sleep 1; done; run $B"),
            "run|2");
}

TEST(ShellRun, DownloadsThatAreRunAreInstallersByTheirName) {
  EXPECT_EQ(started("curl -LsSf https://astral.sh/uv/install.sh | sh; run 1"),
            "curl|-LsSf|https://astral.sh/uv/install.sh\nsh\nrun|1");
  EXPECT_EQ(started("curl -sL https://x/train.sh | bash; run 1"),
            "refused: run.sh:1: the script that is read depends on $(curl -sL https://x/train.sh) "
            "at run.sh:1, which is not known here");
  EXPECT_EQ(
      started("B=$(curl -s http://x/install); echo \"run $B\" > t.sh; bash t.sh; run 1"),
      "refused: run.sh:1: the script t.sh depends on $(curl -s http://x/install) at run.sh:1, "
      "which is not known here");
}

TEST(ShellRun, WhatBranchesPrintAndReturn) {
  // Neither the first nor the second alone.
  EXPECT_EQ(started("run $([ -f /data/not-here ] && echo y || echo n)"), "run|<?>");
  EXPECT_EQ(started("[ -f /data/not-here ] && A=1 || A=2; run a$A"), "run|a<?>");
  EXPECT_EQ(started("run $(if [ -f /data/not-here ]; then echo 8; else echo 8; fi)"), "run|8");
  EXPECT_EQ(started("if [ -f /data/not-here ]; then echo 2 > f; else echo 3 > f; fi; run $(< f)"),
            "run|<?>");
}

TEST(ShellRun, WordsOfParametersAreSplit) {
  EXPECT_EQ(started("Y=1; run ${X:-a b} ${Y:+--c d}e ${X:-'f g'} \"${X-h i}\" ${X:-\"j k\" l\\ m}"),
            "run|a|b|--c|de|f g|h i|j k|l m");
  EXPECT_EQ(started("A=(${X:-a b}); B=${X:-c d}; run ${#A[@]} \"$B\" ${X:-$B e}"),
            "run|2|c d|c|d|e");
  EXPECT_EQ(started("IFS=,; run a,b ${X:-c,d} ${X:-$(printf '%s' e,f)}"), "run|a,b|c|d|e|f");
}

TEST(ShellRun, LinesAndColumnsOfKnownTexts) {
  const std::string write = "printf 'tp: 4\nname: \"a b\"\npp:8\n' > f\n";
  EXPECT_EQ(
      started(write + "run $(sed -n 's/^ *tp: *//p' f) $(sed -nE 's/^(p+):([0-9]+)$/\\2-\\1/p' f)"),
      "run|4|8-pp");
  EXPECT_EQ(started(write + "run $(sed -e 's/[0-9]/<&>/g' -e '/name/d' f)"), "run|tp:|<4>|pp:<8>");
  EXPECT_EQ(started(write + "run $(sed -n 3p f) $(sed 's/x*/-/g;s/a/b/' f)"),
            "run|pp:8|-t-p-:-|-4-|-n-b-m-e-:-|-\"-a-|-b-\"-|-p-p-:-8-");
  EXPECT_EQ(started("run $(echo abc | sed 's/x*/-/g') $(echo aab | sed 's/^a//g')"),
            "run|-a-b-c-|ab");
  EXPECT_EQ(started(write + "run $(grep tp f | awk '{print $2}') $(awk -F: '/pp/ {print $2}' f) "
                            "$(awk 'NR==1 {print $NF}' f) $(awk '{ s += $2 } END { print s }' f)"),
            "awk|{ s += $2 } END { print s }|f\nrun|4|8|4|<?>");
  EXPECT_EQ(started("run $(hostname | awk '{print $1}')"), "awk|{print $1}\nrun|<?>");
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

TEST(ShellRun, BatchLinesExportVariables) {
  EXPECT_EQ(started("#SBATCH --export=ALL,TP=4,X\nrun ${TP:-2} $X"), "run|4");
  EXPECT_EQ(started("#SBATCH -N 2 --export \"NONE,TP=4\" -J \"a b\" # x\nrun ${TP:-2}"), "run|4");
  EXPECT_EQ(started("#PBS -l select=4\n#PBS -v TP=4,PP=2\nrun ${TP:-1} ${PP:-1}"), "run|4|2");
  EXPECT_EQ(started("#BSUB -env \"all, TP=4\"\nrun ${TP:-1}"), "run|4");
  // What sbatch is told comes in place of the script's own line.
  const std::string inner = "printf '#SBATCH --export=TP=4,PP=2\nrun ${TP:-1} ${PP:-1}\n' > a.sh\n";
  EXPECT_EQ(started(inner + "sbatch --export=ALL,TP=8 a.sh"), "sbatch|--export=ALL,TP=8|run|8|1");
  EXPECT_EQ(started(inner + "sbatch a.sh"), "sbatch|run|4|2");
}

TEST(ShellRun, BatchScripts) {
  EXPECT_EQ(started("#SBATCH --nodes=4 --gres=gpu:8\nsrun run $SLURM_NNODES $((SLURM_NNODES*8)) "
                    "$SLURM_PROCID"),
            "srun|run|4|32|<?>");
  EXPECT_EQ(started("#SBATCH --gpus-per-node=4\n"
                    "run $(echo $CUDA_VISIBLE_DEVICES | tr ',' '\\n' | wc -l)"),
            "run|4");
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

TEST(ShellRun, DollarsThatAreNoParameters) {
  EXPECT_EQ(started("grep \"loss$\" a; TP=4; grep \"time$\" b; run ${TP:-2} a$ $% \"$\""),
            "grep|loss$|a\ngrep|time$|b\nrun|4|a$|$%|$");
  EXPECT_EQ(started("x=yes; [[ $x =~ ^(1|yes)$ ]] && run ${BASH_REMATCH[1]}"), "run|yes");
  EXPECT_EQ(started("run $(# don't (mind\n echo 1)"), "run|1");
}

TEST(ShellRun, VariablesFromFilesOfSettings) {
  EXPECT_EQ(started("printf 'TP=4\n# no\nPP=2\n' > .env\n"
                    "export $(grep -v '^#' .env | xargs)\nrun ${TP:-1} ${PP:-1}"),
            "run|4|2");
  // Whatever an unknown file may set is not known from there on.
  EXPECT_EQ(started("export $(cat not-here.env | xargs)\nrun a$TP"), "run|a<?>");
  EXPECT_EQ(started("read -r -d '' A <<X\n--a 1\n --b 2\nX\nrun $A"), "run|--a|1|--b|2");
  EXPECT_EQ(started("while read -r k v; do run $k $v; done <<< $'a 1\\nb 2'"), "run|a|1\nrun|b|2");
  EXPECT_EQ(started("printf -- '--tp %s' 4 > f; run $(< f) $(sed -e 's/tp/pp/' f)"),
            "run|--tp|4|--pp|4");
}

TEST(ShellRun, ListsAndOptions) {
  EXPECT_EQ(started("A=(a b c); unset 'A[1]'; run \"${A[@]}\" ${#A[@]}"), "run|a|c|2");
  EXPECT_EQ(started("A_7b=(x y); v='A_7b[@]'; run \"${!v}\""), "run|x|y");
  EXPECT_EQ(started("A=(a b); S=$(IFS=,; echo \"${A[*]}\"); run $S"), "run|a,b");
  EXPECT_EQ(started("while getopts 'rsp:' o; do run $o $OPTARG; done", {{}, {"-rsp", "2"}, {}, 0}),
            "run|r\nrun|s\nrun|p|2");
  EXPECT_EQ(started("set -- a b; shift 3; run $#"), "run|2");
}

TEST(ShellRun, JobsThatQueueOthers) {
  EXPECT_EQ(started("cat > j.sbatch <<'X'\n#SBATCH --nodes=4\nrun $SLURM_NNODES $TP\nX\n"
                    "run ${SLURM_NNODES:-1}\nsbatch --export=ALL,TP=2 j.sbatch"),
            "run|1\nsbatch|--export=ALL,TP=2|run|4|2");
  EXPECT_EQ(started("#!/bin/bash\nset -e\n#SBATCH -N 8\nrun ${SLURM_NNODES:-1}"), "run|1");
  EXPECT_EQ(started("sbatch <<'X'\n#!/bin/bash\n#SBATCH -N 2\nrun $SLURM_NNODES\nX"),
            "sbatch|run|2");
  EXPECT_EQ(started("sbatch \"$0\"; run"), "sbatch|run.sh\nrun");
  EXPECT_EQ(started("deepspeed --no_python bash -c 'run 1'"), "deepspeed|--no_python|run|1");
}

}  // namespace
}  // namespace ergometer::intake
