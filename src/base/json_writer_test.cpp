#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ergometer::base {
namespace {

using Layout = JsonWriter::Layout;

TEST(JsonWriter, ObjectsTakeALineAMemberAndOneLineRowsStayOnTheirs) {
  JsonWriter json;
  json.begin_object();
  json.member("name", "a\"b");
  json.key("rows").begin_array();
  json.begin_object(Layout::kOneLine).member("x", 1).member("y", 0.5);
  json.key("in").begin_array().value(true).end_array().end_object();
  json.end_array();
  json.key("none").begin_array().end_array();
  json.key("advice").null();
  json.member("known", std::optional(3)).member("unknown", std::optional<double>());
  json.end_object();
  EXPECT_EQ(json.take(),
            "{\n"
            "  \"name\": \"a\\\"b\",\n"
            "  \"rows\": [\n"
            "    {\"x\": 1, \"y\": 0.5, \"in\": [true]}\n"
            "  ],\n"
            "  \"none\": [],\n"
            "  \"advice\": null,\n"
            "  \"known\": 3,\n"
            "  \"unknown\": null\n"
            "}\n");
}

TEST(JsonWriter, ArraysOfValuesElementsAndRows) {
  const std::vector<int> numbers = {1, 2};
  JsonWriter json;
  json.begin_object().list("list", numbers, kOneLine);
  json.array("array", kOneLine, numbers, [&](int n) { json.value(n * n); });
  json.objects("objects", numbers, [](JsonWriter& to, int n) { to.member("n", n); });
  json.rows("rows", numbers, [&](int n) { json.member("n", n); }).end_object();
  EXPECT_EQ(json.take(),
            "{\n"
            "  \"list\": [1, 2],\n"
            "  \"array\": [1, 4],\n"
            "  \"objects\": [\n"
            "    {\n"
            "      \"n\": 1\n"
            "    },\n"
            "    {\n"
            "      \"n\": 2\n"
            "    }\n"
            "  ],\n"
            "  \"rows\": [\n"
            "    {\"n\": 1},\n"
            "    {\"n\": 2}\n"
            "  ]\n"
            "}\n");
}

TEST(JsonWriter, IsAsNewAfterTake) {
  JsonWriter json;
  EXPECT_EQ(json.value(1).take(), "1\n");
  EXPECT_EQ(json.begin_array().end_array().take(), "[]\n");
}

TEST(JsonWriter, NumbersReadBackAsTheSameNumber) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(shortest(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(shortest(4.0), "4");
  EXPECT_EQ(shortest(-140e9), "-140000000000");
  EXPECT_EQ(shortest(1e22), "1e+22");
  EXPECT_EQ(JsonWriter().value(INT64_MIN).take(), "-9223372036854775808\n");
  EXPECT_EQ(JsonWriter().value(UINT64_MAX).take(), "18446744073709551615\n");
}

TEST(JsonWriter, WhatIsNotKnownIsLeftOut) {
  JsonWriter json;
  json.begin_object(Layout::kOneLine).known("host", "").known("gpu", "a");
  json.known("mean_c", std::optional<double>()).known("mean_w", std::optional<double>(2.5));
  EXPECT_EQ(json.end_object().take(), "{\"gpu\": \"a\", \"mean_w\": 2.5}\n");
}

TEST(JsonWriter, PairsAreAnObject) {
  struct Part {
    std::string name;
    double watts = 0;
  };
  JsonWriter json;
  json.begin_object().object("parts", std::vector<Part>{{"hbm", 1}, {"tensor", 2}});
  json.object("axes", std::map<std::string, std::string>{{"tp", "4"}}, Layout::kOneLine);
  EXPECT_EQ(json.end_object().take(),
            "{\n  \"parts\": {\n    \"hbm\": 1,\n    \"tensor\": 2\n  },\n"
            "  \"axes\": {\"tp\": \"4\"}\n}\n");
}

TEST(JsonWriter, WhatJsonForbidsInTextIsEscaped) {
  EXPECT_EQ(json_quote("a\nb\tc\x01\\"), "\"a\\nb\\tc\\u0001\\\\\"");
  EXPECT_EQ(json_quote(std::string_view("\0\x7F", 2)), "\"\\u0000\\u007f\"");
}

TEST(JsonWriter, BrokenUtf8IsReplacedAndTheRestKept) {
  const std::string replaced = "\xEF\xBF\xBD";
  const std::string valid = "\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x94\xA5";
  EXPECT_EQ(json_quote(valid), "\"" + valid + "\"");
  EXPECT_EQ(json_quote("\xFFz"), "\"" + replaced + "z\"");
  EXPECT_EQ(json_quote("\xC0\x80"), "\"" + replaced + replaced + "\"");                 // overlong
  EXPECT_EQ(json_quote("\xED\xA0\x80"), "\"" + replaced + replaced + replaced + "\"");  // surrogate
  EXPECT_EQ(json_quote("\xE2\x82"), "\"" + replaced + replaced + "\"");                 // truncated
}

TEST(JsonWriter, RawTextIsIndentedToItsDepth) {
  const std::string inner = "{\n  \"tp\": 4\n}\n";
  EXPECT_EQ(JsonWriter().begin_object().key("job").raw(inner).end_object().take(),
            "{\n  \"job\": {\n    \"tp\": 4\n  }\n}\n");
  EXPECT_EQ(JsonWriter().begin_array(Layout::kOneLine).raw(inner).end_array().take(),
            "[{\"tp\": 4}]\n");
}

TEST(JsonWriterDeathTest, WhatIsNotJsonIsOurBug) {
  const auto fails = testing::ExitedWithCode(70);
  EXPECT_EXIT(JsonWriter().value(std::numeric_limits<double>::quiet_NaN()), fails, "finite");
  EXPECT_EXIT(JsonWriter().value(std::numeric_limits<double>::infinity()), fails, "finite");
  EXPECT_EXIT(JsonWriter().begin_object().value(1), fails, "without a key");
  EXPECT_EXIT(JsonWriter().begin_array().key("a"), fails, "outside of an object");
  EXPECT_EXIT(JsonWriter().begin_object().key("a").key("b"), fails, "two keys");
  EXPECT_EXIT(JsonWriter().begin_object().key("a").end_object(), fails, "without a value");
  EXPECT_EXIT(JsonWriter().begin_object().end_array(), fails, "not open");
  EXPECT_EXIT(JsonWriter().begin_object().take(), fails, "unfinished");
  EXPECT_EXIT(JsonWriter().value(1).value(2), fails, "behind the document");
}

}  // namespace
}  // namespace ergometer::base
