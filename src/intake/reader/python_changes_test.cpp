#include "intake/reader/python_changes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ergometer::intake {
namespace {

/// What becomes of the object that `args = Config()` makes, or that is returned.
std::string changes_of(const std::string& written, const std::string& name = "args") {
  const std::string text = without_comments(written);
  const PythonStatements statements(text);
  PythonValues values(text, statements, {});
  std::string all;
  for (const PythonChange& it :
       python_changes(values, statements, text, name, text.find("Config()")))
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", it.attribute.empty() ? "?" : it.attribute,
                       it.expression.empty() ? "?" : it.expression);
  return all;
}

TEST(PythonChanges, SeeEveryWayToAssign) {
  const std::string made = "args = Config()\n";
  EXPECT_EQ(changes_of(made + "args.a = 1\nargs.b = args.c = 2\n"), "a=1 b=2 c=2");
  EXPECT_EQ(changes_of(made + "args.a, args.b = 1, (2, 3)\n"), "a=1 b=(2, 3)");
  EXPECT_EQ(changes_of(made + "setattr(args, 'a', 1)\nsetattr(args, name(), 1)\n"), "a=1 ?=?");
  EXPECT_EQ(changes_of(made + "for k, v in {'a': 1, 'b': True}.items():\n  setattr(args, k, v)\n"),
            "a=1 b=True");
  EXPECT_EQ(changes_of(made + "args.a += 1\nif debug: args.b = 2\n"), "a=? b=?");
  EXPECT_EQ(changes_of(made + "args.set_training(batch_size=4)\n"), "?=?");
  EXPECT_EQ(changes_of(made + "vars(args).update(x)\nargs.__dict__['a'] = 1\n"), "?=? ?=?");
  EXPECT_EQ(changes_of(made + "print(vars(args), args.a == 1)\nuse(args.__dict__['a'])\n"), "");
}

TEST(PythonChanges, FollowTheObject) {
  const std::string made = "args = Config()\n";
  EXPECT_EQ(changes_of(made + "b = args\nargs.a = 1\nb.a = 2\n"), "a=1 a=2");
  EXPECT_EQ(changes_of(made + "b = dataclasses.replace(args, a=1)\nb.c = 2\n"), "a=1 c=2");
  EXPECT_EQ(changes_of(made + "t = Trainer(model, args=args)\nt.args.a = 1\n"), "a=1");
  EXPECT_EQ(changes_of("def tweak(x, on=1):\n  x.a = 1\n" + made + "args.a = 2\ntweak(args)\n"),
            "a=2 a=1");
  EXPECT_EQ(changes_of(made + "tweak(args)\nargs.a = 2\ndef tweak(args):\n  args.a = 1\n"),
            "a=1 a=2");
  EXPECT_EQ(changes_of("class Run:\n  def __init__(self, x):\n    self.args = x\n"
                       "    self.args.a = 1\n" +
                       made + "r = Run(args)\n"),
            "a=1");
  EXPECT_EQ(changes_of("def make():\n  return Config()\nb = make()\nb.a = 1\n", ""), "a=1");
  EXPECT_EQ(changes_of("def main():\n  m, b = make()\n  b.a = 1\n"
                       "def make():\n  args = Config()\n  args.a = 2\n  return model, args\n"),
            "a=2 a=1");
  // Another function's own name.
  EXPECT_EQ(changes_of(made + "def other():\n  args = parse()\n  args.a = 1\n"), "");
}

}  // namespace
}  // namespace ergometer::intake
