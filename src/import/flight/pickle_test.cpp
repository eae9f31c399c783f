#include "import/flight/pickle.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::importer {
namespace {

using Kind = TreeValue::Kind;
using namespace std::string_literals;

std::string pickle_problem(const std::string& body) {
  ValueTree tree;
  return base::error_of(read_pickle("\x80\x02" + body, "f", tree));
}

TEST(Pickle, ReadsWhatTorchWrites) {
  // {"a": [1, 300, -2, 2**40, 0.5], "b": (None, True)}, the list kept as 0 and given again as "c".
  const std::string bytes =
      "\x80\x02}q\x00("s  // a dict, kept; a mark
      "X\x01\x00\x00\x00"
      "a"
      "]q\x01(K\x01M\x2c\x01J\xfe\xff\xff\xff"s  // 1, 300, -2
      "\x8a\x08\x00\x00\x00\x00\x00\x01\x00\x00G\x3f\xe0\x00\x00\x00\x00\x00\x00"
      "e"s
      "X\x01\x00\x00\x00"
      "b"
      "N\x88\x86"
      "X\x01\x00\x00\x00"
      "c"
      "h\x01u."s;
  ValueTree tree;
  const auto value = read_pickle(bytes, "f", tree);
  ASSERT_TRUE(value) << value.error().message;
  const TreeValue* const a = tree.find(*value, "a");
  ASSERT_NE(a, nullptr);
  const auto& items = tree.elements(*a);
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0].whole, 1);
  EXPECT_EQ(items[1].whole, 300);
  EXPECT_EQ(items[2].whole, -2);
  EXPECT_EQ(items[3].whole, int64_t{1} << 40);
  EXPECT_EQ(items[4].kind, Kind::kReal);
  EXPECT_EQ(items[4].real, 0.5);
  const auto& pair = tree.elements(*tree.find(*value, "b"));
  ASSERT_EQ(pair.size(), 2u);
  EXPECT_EQ(pair[0].kind, Kind::kNone);
  EXPECT_EQ(pair[1].whole, 1);
  EXPECT_EQ(tree.find(*value, "c")->at, a->at);
}

TEST(Pickle, ReadsBuildersOfLists) {
  const std::string bytes =
      "\x80\x02"
      "ctorch.jit._pickle\nbuild_intlist\nq\x00(](K\x07K\x08"
      "etR."s;
  ValueTree tree;
  const auto value = read_pickle(bytes, "f", tree);
  ASSERT_TRUE(value) << value.error().message;
  ASSERT_EQ(tree.elements(*value).size(), 2u);
  EXPECT_EQ(tree.elements(*value)[1].whole, 8);
}

TEST(Pickle, CallsNothing) {
  EXPECT_EQ(pickle_problem("cos\nsystem\n(X\x02\x00\x00\x00lstR."s),
            "f: is no pickle of plain values: byte 2: found the name os.system, allowed: "
            "torch.jit._pickle's builders of lists");
  EXPECT_NE(pickle_problem("](K\x01tR."s), "");
  EXPECT_NE(pickle_problem("N)\x81."s), "");  // NEWOBJ
}

TEST(Pickle, RefusesWhatIsDamaged) {
  EXPECT_EQ(pickle_problem("X\xff\x00\x00\x00"
                           "a."s),
            "f: is no pickle of plain values: byte 2: the file ends in the middle of a value");
  EXPECT_EQ(pickle_problem("}"),
            "f: is no pickle of plain values: byte 3: the file ends in the middle");
  EXPECT_EQ(pickle_problem("h\x05."s),
            "f: is no pickle of plain values: byte 2: found a value again that was not kept");
  EXPECT_NE(pickle_problem("."), "");
  EXPECT_NE(pickle_problem("e."), "");
  EXPECT_NE(pickle_problem("K\x01(K\x01u."s), "");
  EXPECT_NE(pickle_problem(std::string(65, '(') + "."), "");
  EXPECT_NE(pickle_problem("\x8a\x09" + std::string(9, '\x01') + "."), "");
}

}  // namespace
}  // namespace ergometer::importer
