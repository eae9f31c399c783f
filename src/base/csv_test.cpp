#include "base/csv.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::base {
namespace {

std::string error_of(std::string_view text) { return error_of(parse_csv(text, "t.csv")); }

TEST(Csv, CellsByColumn) {
  const auto table = parse_csv("a,b\n1,2\n3,\n", "t.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->cell(0, "b"), "2");
  EXPECT_EQ(table->cell(1, "b"), "");
  EXPECT_EQ(table->cell(1, "c"), "");
  EXPECT_EQ(table->rows[1].line, 3);
}

TEST(Csv, QuotedCellsHoldCommasLineEndsAndQuotes) {
  const auto table = parse_csv("a,b\r\n\"1,5\",\"say \"\"x\"\"\nand\"\r\n2,7\" disk\r\n", "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->cell(0, "a"), "1,5");
  EXPECT_EQ(table->cell(0, "b"), "say \"x\"\nand");
  EXPECT_EQ(table->cell(1, "b"), "7\" disk");
  EXPECT_EQ(table->rows[1].line, 4) << "the quoted cell ran over a line end";
}

TEST(Csv, BlankLinesByteOrderMarkAndMissingLastLineEnd) {
  const auto table = parse_csv(
      "\xef\xbb\xbf"
      "a,b\n\n1,2\r\n\r\n3,4",
      "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns[0], "a");
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->cell(1, "b"), "4");
}

TEST(Csv, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of(""), "t.csv: is empty; expected a header of column names");
  EXPECT_EQ(error_of("a,b\n1\n"), "t.csv:2: found 1 cells; allowed: 2, one a column");
  EXPECT_EQ(error_of("a,b\n1,\"2\n3,4\n"), "t.csv:2: a quoted cell begins here and never ends");
  EXPECT_EQ(error_of("a,b,a\n"), "t.csv:1: column a stands twice");
}

TEST(Csv, MissingColumnsNameTheNearest) {
  const auto table = parse_csv("model,gpu_s\n", "t.csv");
  ASSERT_TRUE(table);
  EXPECT_TRUE(require_columns(*table, "t.csv", {"model"}));
  const auto missing = require_columns(*table, "t.csv", {"model", "gpus"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "t.csv:1: column gpus is missing; is it gpu_s?");
}

TEST(Csv, LinesAreWhatTheReaderReads) {
  EXPECT_EQ(csv_line({"a", "", "b c"}), "a,,b c\n");
  EXPECT_EQ(csv_line({"1,5", "say \"x\""}), "\"1,5\",\"say \"\"x\"\"\"\n");
  EXPECT_EQ(csv_line({""}), "\"\"\n") << "a blank line would be no row";
  const std::vector<std::string> cells = {"a\nb", "c\r", "", "\"", "d"};
  const auto table = parse_csv("v,w,x,y,z\n" + csv_line(cells), "t.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows[0].cells, cells);
}

}  // namespace
}  // namespace ergometer::base
