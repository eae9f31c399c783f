#include "base/table.h"

#include <gtest/gtest.h>

namespace ergometer::base {
namespace {

std::string text_of(std::string_view layout, const std::vector<std::vector<std::string>>& rows) {
  Table table(layout);
  for (const auto& row : rows) table.add(row);
  return table.text();
}

TEST(Table, HasTheWidthsOfItsLayout) {
  EXPECT_EQ(text_of("<6 >5 >4", {{"name", "a", "b"}, {"x", "1", "2"}}),
            "name      a   b\n"
            "x         1   2\n");
}

TEST(Table, WidensAColumnThatWouldTouchItsNeighbour) {
  // Ten characters and a gap want twelve of the second column; the third has room.
  EXPECT_EQ(text_of(">4 >5 >12", {{"rank", "kind", "bytes"}, {"3", "0123456789", "7"}}),
            "rank        kind       bytes\n"
            "   3  0123456789           7\n");
  // To the left: the name wants two blanks behind it, though it fills its own width.
  EXPECT_EQ(text_of("<4 >3", {{"name", "1"}, {"longest", "100"}}),
            "name       1\n"
            "longest  100\n");
  EXPECT_EQ(text_of("< < <", {{"a", "b", "c"}, {"long", "longer", "last"}}),
            "a     b       c\n"
            "long  longer  last\n");
}

TEST(Table, SharesTheRoomBetweenANameAndANumber) {
  // "interface" is one longer than its column; in front of the number there is room enough.
  EXPECT_EQ(text_of("<8 >8", {{"interface", "1.5"}, {"nic", "20"}}),
            "interface     1.5\n"
            "nic            20\n");
  EXPECT_EQ(text_of("<8 >8", {{"name", "1.5"}}), "name         1.5\n");
}

TEST(Table, KeepsTextBehindANumberApart) {
  EXPECT_EQ(text_of(">5 <", {{"count", "why"}, {"12", "because"}}),
            "count  why\n"
            "   12  because\n");
}

TEST(Table, CountsCharactersNotBytes) {
  EXPECT_EQ(shown_width("\u00fc\u2192"), 2u);
  EXPECT_EQ(text_of("< <", {{"\u00fc", "x"}, {"ab", "y"}}),
            "\u00fc   x\n"
            "ab  y\n");
}

std::string folded(std::string_view layout, size_t width,
                   const std::vector<std::vector<std::string>>& rows, size_t keys = 1) {
  Table table(layout);
  for (const auto& row : rows) table.add(row);
  return table.text(width, keys);
}

TEST(FoldedTable, StaysWholeWhereItFits) {
  EXPECT_EQ(folded("< >3 >3", 9, {{"row", "a", "b"}, {"x", "1", "2"}}),
            "row  a  b\n"
            "x    1  2\n");
}

TEST(FoldedTable, NarrowsItsColumnsFirst) {
  Table table("<10 >10");
  table.row("name", "count");
  table.row("abc", 12);
  EXPECT_EQ(table.text(20), "name           count\nabc               12\n");
  EXPECT_EQ(table.text(12), "name  count\nabc      12\n");
}

TEST(FoldedTable, GoesOnInBlocksThatBeginWithTheKey) {
  // Three of 5 and two blanks each beside a key of 3 need 24 columns; 18 have room for two of them.
  EXPECT_EQ(folded(">3 >5 >5 >5", 18, {{"n", "a", "b", "c"}, {"100", "10000", "20000", "30000"}}),
            "  n      a      b\n"
            "100  10000  20000\n"
            "\n"
            "  n      c\n"
            "100  30000\n");
}

TEST(FoldedTable, GivesALongNameALineOfItsOwn) {
  EXPECT_EQ(folded("< >4 >4", 14, {{"name", "a", "b"}, {"a-long-name", "10", "20"}}),
            "name\n"
            "       a   b\n"
            "a-long-name\n"
            "      10  20\n");
  // What says which row it is stays together.
  EXPECT_EQ(folded("< < >4 >4", 14, {{"x", "y", "a", "b"}, {"long", "longer", "1", "2"}}, 2),
            "x     y\n"
            "       a   b\n"
            "long  longer\n"
            "       1   2\n");
}

TEST(FoldedTable, WrapsATextBelowItself) {
  EXPECT_EQ(folded(">3 <", 30, {{"n", "why"}, {"1", "so many words do not fit into it"}}),
            "  n  why\n"
            "  1  so many words do not fit\n"
            "     into it\n");
}

TEST(Wrap, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrap("a-word-that-is-too-long b", 5, 0), "a-word-that-is-too-long\nb");
  // \u00fc takes two bytes and one column.
  EXPECT_EQ(wrap("\u00fc\u00fc \u00fc", 4, 0), "\u00fc\u00fc \u00fc");
  EXPECT_EQ(hanging("- ", "one two", 5), "- one\n  two\n");
}

}  // namespace
}  // namespace ergometer::base
