#include "intake/reader/python_values.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ergometer::intake {
namespace {

/// What `expression` comes to behind a text; "?" where it is not known.
std::string value_of(const std::string& text, const std::string& expression,
                     PythonStart start = {}) {
  const std::string whole = without_comments(text + "\nresult = " + expression + "\n");
  const PythonStatements statements(whole);
  PythonValues values(whole, statements, std::move(start));
  const auto value = values.value(expression, whole.rfind("result"));
  return value ? python_literal(*value) : "?";
}

TEST(PythonValues, WorksOutExpressionsAsPythonDoes) {
  struct Case {
    const char *expression, *value;
  };
  for (const Case& it : std::initializer_list<Case>{
           {"2 + 3 * 4", "14"},
           {"-7 // 2", "-4"},
           {"-7 % 4", "1"},
           {"2 ** 3 ** 2", "512"},
           {"-2 ** 2", "-4"},
           {"8 / 2", "4.0"},
           {"1_024 * 1e-3", "1.024"},
           {"int(8 / 2)", "4"},
           {"int('16')", "16"},
           {"int('4x')", "?"},
           {"float('2.5')", "2.5"},
           {"str(4) + 'k'", "\"4k\""},
           {"max(1, 16 // 3, 2)", "5"},
           {"min([4, 2])", "2"},
           {"len('abcd')", "4"},
           {"round(2.5)", "2"},
           {"math.ceil(5 / 2)", "3"},
           {"math.floor(-2.5)", "-3"},
           {"f'{2 * 3}b-{{x}}'", "\"6b-{x}\""},
           {"f'{4:02d}'", "?"},
           {"'a' 'b'", "\"ab\""},
           {"'Llama-3'.lower().startswith('llama')", "True"},
           {"'a,b'.split(',')[1]", "\"b\""},
           {"Path('/data') / 'runs' / 'a'", "\"/data/runs/a\""},
           {"os.path.join('/data', 'runs')", "\"/data/runs\""},
           {"None or 4", "4"},
           {"getattr(torch, 'bf' + 'loat16')", "\"bfloat16\""},
           {"getattr(args, 'size')", "?"},
           {"getattr(args, 'half')", "?"},
           {"0 and what()", "0"},
           {"what() and 0", "?"},
           {"not 'x'", "False"},
           {"'a' in ['a', 'b'] and 3 not in (1, 2)", "True"},
           {"4 if 2 > 1 else 8", "4"},
           {"4 if what() else 8", "?"},
           {"4 is not None", "True"},
           {"{'a': 1, **{'b': 2}}['b']", "2"},
           {"dict({'a': 1}, b=2) | {'c': 3}", "{\"a\": 1, \"b\": 2, \"c\": 3}"},
           {"{'a': what(), 'b': 2}['b']", "2"},
           {"{'a': what(), 'b': 2}['a']", "?"},
           {"{'a': 1}.get('b', 4)", "4"},
           {"[1, 2, 3][-1]", "3"},
           {"torch.bfloat16", "\"bfloat16\""},
           {"[x for x in range(4)]", "?"},
           {"lambda: 4", "?"},
           {"4 +", "?"},
           {"1 / 0", "?"},
           {"10 ** 30", "?"},
           {"((((", "?"},
       })
    EXPECT_EQ(value_of("", it.expression), it.value) << it.expression;
}

TEST(PythonValues, TakesTheStatementThatBindsAName) {
  EXPECT_EQ(value_of("a = 4\na = a * 2", "a"), "8");
  EXPECT_EQ(value_of("a: int = 4", "a"), "4");
  EXPECT_EQ(value_of("a, b = 4, 8", "b"), "8");
  EXPECT_EQ(value_of("a = 4\na += 1", "a"), "5");
  EXPECT_EQ(value_of("a = 16\na //= 1 + 2", "a"), "5");
  EXPECT_EQ(value_of("a = 4\nif what():\n  a += 1", "a"), "?");
  EXPECT_EQ(value_of("a = ['q']\nif True:\n  a += ['o']", "a"), "[\"q\", \"o\"]");
  EXPECT_EQ(value_of("a = ['q']\na.append('o')\na.extend(['k'])", "a"), "[\"q\", \"o\", \"k\"]");
  EXPECT_EQ(value_of("a = {'x': 1}\na.update({'y': 2})\na.update(z=3)\na |= {'x': 4}", "a"),
            "{\"x\": 4, \"y\": 2, \"z\": 3}");
  EXPECT_EQ(value_of("a = {'x': 1}\na.pop('x')", "a"), "?");
  EXPECT_EQ(value_of("a = None\na = Config()", "a is not None"), "True");
  EXPECT_EQ(value_of("a = make()", "a is not None"), "?");
  EXPECT_EQ(value_of("a = b = 4", "b"), "?");
  EXPECT_EQ(value_of("for a in range(3):\n  pass", "a"), "?");
  EXPECT_EQ(value_of("import a", "a"), "?");
  EXPECT_EQ(value_of("a = 4\nif a > 2:\n  b = 1\nelse:\n  b = 2", "b"), "1");
  EXPECT_EQ(value_of("b = 3\nif what():\n  b = 1", "b"), "?");
  EXPECT_EQ(value_of("b = 3\nif False:\n  b = 1", "b"), "3");
  EXPECT_EQ(value_of("a = {'x': 1}\na['x'] = 2", "a['x']"), "2");
  EXPECT_EQ(value_of("a = {'x': 1}\nprint(a['x'])", "a['x']"), "1");
  EXPECT_EQ(value_of("class C:\n  size = 4", "C.size"), "4");
  EXPECT_EQ(value_of("class B:\n  size: int = 4\nclass C(B):\n  pass\nc = C()", "c.size"), "4");
  EXPECT_EQ(value_of("class C:\n  size: int = 4\nc = C(size=8)", "c.size"), "8");
  EXPECT_EQ(value_of("a = a", "a"), "?");
  EXPECT_EQ(value_of("a = b\nb = a", "b"), "?");
}

TEST(PythonValues, FollowsParametersToTheirCalls) {
  const auto inside = [](const std::string& text, const std::string& expression) {
    const std::string whole = without_comments(text);
    const PythonStatements statements(whole);
    PythonValues values(whole, statements, {});
    const auto value = values.value(expression, whole.find("here"));
    return value ? python_literal(*value) : "?";
  };
  EXPECT_EQ(inside("def f(a, b=2):\n  here()\nf(4)\n", "a + b"), "6");
  EXPECT_EQ(inside("def f(a, b=2):\n  here()\nf(b=1, a=3)\n", "a + b"), "4");
  EXPECT_EQ(inside("def f(a=1):\n  here()\nf(2)\nf(3)\n", "a"), "?");
  EXPECT_EQ(inside("def f(a=1):\n  here()\nf(**all)\n", "a"), "?");
  EXPECT_EQ(inside("def f(a, **kw):\n  here()\nf(1, b=2)\n", "kw"), "{\"b\": 2}");
  EXPECT_EQ(inside("more = {'c': 3}\ndef f(a, **kw):\n  here()\nf(1, **more)\n", "(a, kw)"),
            "[1, {\"c\": 3}]");
  EXPECT_EQ(inside("def f(a, **kw):\n  here()\nf(1, b=2)\nf(1)\n", "kw"), "?");
  EXPECT_EQ(inside("a = {'x': 1}\ndef f():\n  here()\na['x'] = 2\nf()\n", "a"), "?");
  EXPECT_EQ(inside("def f(a=1):\n  here()\n", "a"), "1");
  EXPECT_EQ(inside("@main.command()\ndef f(a=1):\n  here()\nf()\n", "a"), "?");
  EXPECT_EQ(inside("size = 4\ndef f():\n  here()\nf()\n", "size"), "4");
  EXPECT_EQ(inside("size = 4\ndef f():\n  here()\nsize = 8\nf()\n", "size"), "?");
}

TEST(PythonValues, AsksEnvironmentAndCommandLine) {
  const PythonStart start{{{"BATCH", "16"}}, {"--lr", "1e-4", "--size=8", "--fast"}};
  EXPECT_EQ(value_of("", "int(os.environ['BATCH'])", start), "16");
  EXPECT_EQ(value_of("", "os.getenv('OTHER', '4')", start), "\"4\"");
  EXPECT_EQ(value_of("", "os.getenv('OTHER')", start), "None");
  EXPECT_EQ(value_of("", "8 if torch.cuda.is_available() else 1", start), "8");
  EXPECT_EQ(value_of("", "os.environ['OTHER']", start), "?");
  EXPECT_EQ(value_of("", "int(os.environ.get('WORLD_SIZE', 1))", start), "?");
  const std::string parser =
      "p = argparse.ArgumentParser()\n"
      "p.add_argument('--size', type=int, default=2)\n"
      "p.add_argument('--fast', action='store_true')\n"
      "p.add_argument('--slow', action='store_true')\n"
      "p.add_argument('-d', '--depth', type=int, default=3)\n"
      "p.add_argument('--need', required=True)\n"
      "args = p.parse_args()\n";
  EXPECT_EQ(value_of(parser, "args.size", start), "8");
  EXPECT_EQ(value_of(parser, "args.fast", start), "True");
  EXPECT_EQ(value_of(parser, "args.slow", start), "False");
  EXPECT_EQ(value_of(parser, "args.depth", start), "3");
  EXPECT_EQ(value_of(parser, "args.need", start), "?");
  EXPECT_EQ(value_of(parser, "args.other", start), "?");
  EXPECT_EQ(value_of(parser + "args.depth = 6\n", "args.depth", start), "6");
  EXPECT_EQ(value_of(parser + "if args.fast:\n  args.depth = 7\n", "args.depth", start), "7");
}

TEST(PythonValues, RayHandsItsLoopAConfiguration) {
  const std::string loop =
      "def train(config):\n"
      "  size = config.get('batch', 4)\n"
      "  other = config.get('none', 2)\n"
      "  result = 0\n";
  const auto in_loop = [&](const std::string& name, const std::string& trainer) {
    const std::string whole = loop + trainer;
    const PythonStatements statements(whole);
    PythonValues values(whole, statements, {});
    const auto value = values.value(name, whole.find("result"));
    return value ? python_literal(*value) : "?";
  };
  const std::string trainer =
      "TorchTrainer(train_loop_per_worker=train, train_loop_config={'batch': 16})\n";
  EXPECT_EQ(in_loop("size", trainer), "16");
  EXPECT_EQ(in_loop("other", trainer), "2");
  EXPECT_EQ(in_loop("size", "TorchTrainer(train, train_loop_config=dict(batch=8))\n"), "8");
  EXPECT_EQ(in_loop("size", trainer + trainer), "?");
  EXPECT_EQ(in_loop("size", "TorchTrainer(other, train_loop_config={'batch': 16})\n"), "?");
}

TEST(PythonValues, ConstructorsAreCalledByTheirClass) {
  const auto in_constructor = [](const std::string& name, const std::string& calls) {
    const std::string whole =
        "class Net(Base):\n"
        "  def __init__(self, size=4, *, deep=2):\n"
        "    result = 0\n" +
        calls;
    const PythonStatements statements(whole);
    PythonValues values(whole, statements, {});
    const auto value = values.value(name, whole.find("result"));
    return value ? python_literal(*value) : "?";
  };
  EXPECT_EQ(in_constructor("size", "net = Net()\n"), "4");
  EXPECT_EQ(in_constructor("size", "net = Net(8)\n"), "8");
  EXPECT_EQ(in_constructor("deep", "net = Net(8, deep=3)\n"), "3");
  EXPECT_EQ(in_constructor("size", "a, b = Net(8), Net(16)\n"), "?");
}

TEST(PythonValues, GivesUpOnWhatNobodyWrites) {
  EXPECT_EQ(value_of("", std::string(10'000, '(')), "?");
  EXPECT_EQ(value_of("", std::string(10'000, '-') + "1"), "?");
  EXPECT_EQ(value_of("", std::string(10'000, '[')), "?");
  std::string chain = "a0 = 1\n";
  for (int i = 1; i < 200; ++i)
    chain += "a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + a" +
             std::to_string(i - 1) + "\n";
  EXPECT_EQ(value_of(chain, "a199"), "?");
}

}  // namespace
}  // namespace ergometer::intake
