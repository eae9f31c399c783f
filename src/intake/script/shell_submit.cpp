#include "intake/programs/launcher_options.h"
#include "intake/script/inner_shell.h"

// Programs that queue a script: LSF's bsub and PBS' qsub. (Slurm's sbatch is a launcher as well.)

namespace ergometer::intake {
namespace {

using SubmitWords = std::vector<ShellText>;

constexpr std::string_view kBsubValues =
    " -n -R -gpu -q -J -o -e -oo -eo -W -We -P -G -U -M -m -w -env -cwd -app -sp -g -i -is -L -f "
    "-E -Ep -k -C -c -D -F -S -v -T -p -u -Lp -sla -b -t -nnodes -alloc_flags -core_isolation ";
constexpr std::string_view kBsubSwitches = " -I -Is -Ip -ISs -K -H -x -r -rn -B -N -XF -csm ";
constexpr std::string_view kQsubValues =
    " -l -N -q -A -o -e -j -M -m -W -v -S -P -p -J -t -a -c -k -r -u -pe ";
constexpr std::string_view kQsubSwitches = " -V -I -h -X -z -cwd -terse ";

/// `bsub [options] words ...`: a text of all its words; without any, its input.
std::optional<InnerShell> bsub_shell(const SubmitWords& words) {
  const auto at = behind_options(words, 1, kBsubValues, kBsubSwitches);
  if (!at) return std::nullopt;
  if (*at >= words.size()) return InnerShell{false, "", 0, words.size(), {}, {}};
  return shell_of(words, *at, words.size());
}

/// `qsub [options] FILE`; its shell gets what is exported with -V alone.
std::optional<InnerShell> qsub_shell(const SubmitWords& words) {
  const auto at = behind_options(words, 1, kQsubValues, kQsubSwitches);
  if (!at) return std::nullopt;
  bool exports = false;
  for (size_t i = 1; i < *at; ++i) exports = exports || words[i].text == "-V";
  const std::string file = *at < words.size() ? words[*at].text : "";
  return InnerShell{false, file, 0, *at + 1, exports ? "" : "qsub", {}};
}

}  // namespace

std::optional<InnerShell> submitted_shell(const std::vector<ShellText>& words) {
  const std::string_view first = file_name(words.front().text);
  if (first == "bsub") return bsub_shell(words);
  if (first == "qsub") return qsub_shell(words);
  return std::nullopt;
}

}  // namespace ergometer::intake
