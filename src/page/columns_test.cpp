#include "page/columns.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::page {
namespace {

std::string written(const std::vector<double>& values) {
  base::JsonWriter json;
  json.begin_object(base::JsonWriter::Layout::kOneLine);
  column(json, "x", values);
  json.end_object();
  return json.take();
}

TEST(Columns, SixSignificantDigits) {
  EXPECT_EQ(rounded(123456789.0), 123457000.0);
  EXPECT_EQ(rounded(0.000123456789), 0.000123457);
  EXPECT_EQ(rounded(-71.25), -71.25);
  EXPECT_EQ(written({1.0 / 3.0, 2, 1e9 / 7}), "{\"x\": [0.333333, 2, 142857000]}\n");
}

TEST(Columns, WhatIsNotFiniteIsNull) {
  EXPECT_EQ(written({NAN, 1, INFINITY}), "{\"x\": [null, 1, null]}\n");
  EXPECT_EQ(written({}), "{\"x\": []}\n");
}

TEST(Columns, MicrosecondsKeepNanoseconds) {
  base::JsonWriter json;
  json.begin_object(base::JsonWriter::Layout::kOneLine);
  microsecond_column(json, "t", {1'234'567'891, 1'000'000'000}, 1'000'000'000);
  json.end_object();
  EXPECT_EQ(json.take(), "{\"t\": [234567.891, 0]}\n");
}

}  // namespace
}  // namespace ergometer::page
