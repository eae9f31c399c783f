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

}  // namespace
}  // namespace ergometer::base
