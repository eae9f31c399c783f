#include "calibration/catalog_writer.h"

#include <gtest/gtest.h>

namespace ergometer::calibration {
namespace {

constexpr std::string_view kFile =
    "# Kernels, \"as measured\"\n"
    "name: x\n"
    "parameters:\n"
    "  gemm.efficiency: {value: 0.72, source: \"said: {a, \\\"b\\\"}\", grade: assumed}\n"
    "  gemm.fixed: {value: 1 us, source: \"guess\", grade: assumed}  # kept\n";

TEST(CatalogWriter, ReplacesOneNumberAndNothingElse) {
  EXPECT_EQ(*replace_parameter(kFile, "x.yaml", {"gemm.efficiency", 0.654321, "fitted to 3 rows"}),
            "# Kernels, \"as measured\"\n"
            "name: x\n"
            "parameters:\n"
            "  gemm.efficiency: {value: 0.6543, source: \"fitted to 3 rows\", grade: fitted}\n"
            "  gemm.fixed: {value: 1 us, source: \"guess\", grade: assumed}  # kept\n");
}

TEST(CatalogWriter, KeepsTheUnitOfTheFile) {
  const std::string once = *replace_parameter(kFile, "x.yaml", {"gemm.fixed", 2.34567e-6, "s"});
  EXPECT_NE(once.find("  gemm.fixed: {value: 2.346 us, source: \"s\", grade: fitted}  # kept\n"),
            std::string::npos);
  EXPECT_EQ(*replace_parameter(once, "x.yaml", {"gemm.fixed", 2.34567e-6, "s"}), once);
}

TEST(CatalogWriter, RefusesWhatIsNotThere) {
  const auto result = replace_parameter(kFile, "x.yaml", {"gemm.eff", 1, "s"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "x.yaml: gemm.eff does not stand on one line as {value: ..., source: \"...\", grade: "
            "...}");
}

TEST(CatalogWriter, FourDigits) {
  EXPECT_EQ(four_digits(0.72134), "0.7213");
  EXPECT_EQ(four_digits(1711.6), "1712");
  EXPECT_EQ(four_digits(123456), "123500");
  EXPECT_EQ(four_digits(2), "2");
}

}  // namespace
}  // namespace ergometer::calibration
