#include <gtest/gtest.h>

#include "intake/programs/shell_utilities.h"

namespace ergometer::intake {
namespace {

/// What getopt prints, with its status where it is not 0; "?" where it is not known.
std::string printed(const std::vector<std::string>& words) {
  std::vector<ShellText> texts = {{"getopt", 1}};
  for (const std::string& word : words) texts.push_back({word, 1});
  const auto result = shell_getopt(texts);
  if (!result) return "?";
  const std::string line = result->output.substr(0, result->output.find('\n'));
  return line + (result->status == 0 ? "" : " = " + std::to_string(result->status));
}

TEST(Getopt, PutsOptionsBeforeTheRest) {
  EXPECT_EQ(
      printed({"-o", "m:t:v", "--long", "model:,tp:", "--", "-m", "13b", "a b", "--tp=4", "-v"}),
      " -m '13b' --tp '4' -v -- 'a b'");
  EXPECT_EQ(printed({"-o", "vm:", "--", "-vm7b", "--", "-v"}), " -v -m '7b' -- '-v'");
  EXPECT_EQ(printed({"--options=h", "--longoptions=help", "-n", "x.sh", "--", "it's"}),
            " -- 'it'\\''s'");
}

TEST(Getopt, TakesNamesByTheirBeginning) {
  EXPECT_EQ(printed({"-o", "", "-l", "nodes:,name:", "--", "--nod", "2"}), " --nodes '2' --");
  EXPECT_EQ(printed({"-o", "", "-l", "nodes:,name:", "--", "--n", "2"}), " -- '2' = 1");
}

TEST(Getopt, ValuesMayBeOptional) {
  EXPECT_EQ(printed({"-o", "a::", "-l", "all::", "--", "-a", "-a1", "--all", "--all=2"}),
            " -a '' -a '1' --all '' --all '2' --");
}

TEST(Getopt, LeavesOutWhatIsNotAllowed) {
  EXPECT_EQ(printed({"-o", "a", "--", "-b", "c"}), " -- 'c' = 1");
  EXPECT_EQ(printed({"-o", "a:", "--", "-a"}), " -- = 1");
}

TEST(Getopt, TheOlderFormQuotesNothing) {
  EXPECT_EQ(printed({"n:t:", "-n", "4", "x"}), " -n 4 -- x");
  EXPECT_EQ(printed({"--test"}), " = 4");
}

TEST(Getopt, IsNotGuessed) {
  EXPECT_EQ(printed({"-o", "a", "--",
                     "\x01"
                     "1\x02"}),
            "?");
  EXPECT_EQ(printed({"-o", "+a", "--", "-a"}), "?");
  EXPECT_EQ(printed({"-o", "a"}), "?");
  EXPECT_EQ(printed({"-s", "csh", "-o", "a", "--", "-a"}), "?");
}

std::string around(const std::vector<std::string>& words, const std::string& input) {
  std::vector<ShellText> texts;
  for (const std::string& word : words) texts.push_back({word, 1});
  const ShellUnknowns unknowns;
  const auto result = shell_around_lines(
      texts, input, [](const std::string& path) { return "of-" + path + "\n"; }, unknowns);
  return result ? result->output : "?";
}

TEST(AroundLines, BeforeAndBehind) {
  EXPECT_EQ(around({"sed", "s/$/ slots=8/"}, "a\nb\n"), "a slots=8\nb slots=8\n");
  EXPECT_EQ(around({"sed", "-e", "s|^|x-|", "hosts"}, ""), "x-of-hosts\n");
  EXPECT_EQ(around({"awk", "{print $1\" slots=8\"}"}, "a\n"), "a slots=8\n");
  EXPECT_EQ(around({"awk", "{ print \"n-\" $0, \"slots=8\"; }"}, "a\n"), "n-a slots=8\n");
}

TEST(AroundLines, AreNotGuessed) {
  EXPECT_EQ(around({"awk", "{print $2\" slots=8\"}"}, "a\n"), "?");
  EXPECT_EQ(around({"awk", "{print $1\" slots=8\"}"}, "a b\n"), "?");
  EXPECT_EQ(around({"sed", "s/$/ &/"}, "a\n"), "?");
  EXPECT_EQ(around({"sed", "s/a$/b/"}, "a\n"), "?");
}

}  // namespace
}  // namespace ergometer::intake
