#include "base/json_writer.h"

#include <gtest/gtest.h>

namespace ergometer::base {
namespace {

TEST(JsonWriter, ObjectsTakeALineAMemberAndOneLineRowsStayOnTheirs) {
  JsonWriter json;
  json.begin_object();
  json.member("name", "a\"b");
  json.key("rows").begin_array();
  json.begin_object(JsonWriter::Layout::kOneLine).member("x", 1).member("y", 0.5).end_object();
  json.end_array();
  json.key("none").begin_array().end_array();
  json.member("fits", true);
  json.end_object();
  EXPECT_EQ(json.take(),
            "{\n"
            "  \"name\": \"a\\\"b\",\n"
            "  \"rows\": [\n"
            "    {\"x\": 1, \"y\": 0.5}\n"
            "  ],\n"
            "  \"none\": [],\n"
            "  \"fits\": true\n"
            "}\n");
}

TEST(JsonWriter, NumbersReadBackAsTheSameDouble) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(shortest(4.0), "4");
  EXPECT_EQ(shortest(-140e9), "-140000000000");
  EXPECT_EQ(shortest(1e22), "1e+22");
}

TEST(JsonWriter, ControlCharactersAreEscaped) {
  EXPECT_EQ(json_quote("a\nb\tc\x01\\"), "\"a\\nb\\tc\\u0001\\\\\"");
}

TEST(JsonWriter, RawTextIsIndentedToItsDepth) {
  JsonWriter json;
  json.begin_object().key("job").raw("{\n  \"tp\": 4\n}\n").end_object();
  EXPECT_EQ(json.take(), "{\n  \"job\": {\n    \"tp\": 4\n  }\n}\n");
}

TEST(JsonWriterDeathTest, AResultThatIsNotANumberIsOurBug) {
  JsonWriter json;
  EXPECT_DEATH(json.value(0.0 / 0.0 * 1.0), "finite");
}

}  // namespace
}  // namespace ergometer::base
