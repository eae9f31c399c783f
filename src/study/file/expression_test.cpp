#include "study/file/expression.h"

#include <gtest/gtest.h>

#include <map>

#include "base/test_support.h"

namespace ergometer::study {
namespace {

std::optional<Value> value_of(const std::string& text) {
  const auto expression = Expression::parse(text);
  EXPECT_TRUE(expression) << expression.error().message;
  if (!expression) return std::nullopt;
  static const std::map<std::string, Value, std::less<>> kNames = {
      {"tp", 4.0}, {"pp", 8.0}, {"gpus", 32.0}, {"a.b_c", 2.5}, {"model", std::string("llama3")}};
  return expression->evaluate([](std::string_view name) -> std::optional<Value> {
    const auto found = kNames.find(name);
    if (found == kNames.end()) return std::nullopt;
    return found->second;
  });
}
double number_of(const std::string& text) { return std::get<double>(value_of(text).value()); }
std::string expression_error(const std::string& text) {
  return base::error_of(Expression::parse(text));
}

TEST(Expression, ProductsBindTighterThanSumsAndBothTighterThanComparisons) {
  EXPECT_EQ(number_of("2 + 3 * 4"), 14);
  EXPECT_EQ(number_of("(2 + 3) * 4"), 20);
  EXPECT_EQ(number_of("20 - 4 - 3"), 13);
  EXPECT_EQ(number_of("64 / 4 / 2"), 8);
  EXPECT_EQ(number_of("-2 * -3 + 1"), 7);
  EXPECT_EQ(number_of("10 % 4 + 1.5e1"), 17);
  EXPECT_EQ(number_of("tp * pp <= gpus"), 1);
  EXPECT_EQ(number_of("tp * pp * 2 <= gpus"), 0);
  EXPECT_EQ(number_of("tp+1<gpus-20"), 1);
}

TEST(Expression, LogicBindsWeakest) {
  EXPECT_EQ(number_of("tp == 4 or tp == 5 and pp == 9"), 1);
  EXPECT_EQ(number_of("(tp == 4 or tp == 5) and pp == 9"), 0);
  EXPECT_EQ(number_of("not tp == 4"), 0);
  EXPECT_EQ(number_of("!(tp == 5) && pp != 9"), 1);
  EXPECT_EQ(number_of("not not tp"), 1);
}

TEST(Expression, KnowsTextsFunctionsAndDottedNames) {
  EXPECT_EQ(number_of("model == 'llama3'"), 1);
  EXPECT_EQ(number_of("model != \"gpt3\" and model != 3"), 1);
  EXPECT_EQ(number_of("max(tp, pp, 3) - min(tp, pp)"), 4);
  EXPECT_EQ(number_of("floor(a.b_c) + ceil(a.b_c) + abs(-1)"), 6);
  EXPECT_EQ(number_of("log2(gpus) + sqrt(16)"), 9);
}

TEST(Expression, HasNoValueWhereANameHasNone) {
  EXPECT_FALSE(value_of("ep + 1"));
  EXPECT_FALSE(value_of("tp / (pp - 8)"));
  EXPECT_FALSE(value_of("model * 2"));
  EXPECT_FALSE(value_of("model < 3"));
  EXPECT_EQ(number_of("tp == 4 or ep"), 1);  // the right side does not matter
  EXPECT_EQ(Expression::parse("tp + pp * tp")->names(), (std::vector<std::string>{"tp", "pp"}));
}

TEST(Expression, SaysWhatIsWrong) {
  EXPECT_EQ(expression_error("tp * (pp"), "\"tp * (pp\": found the end; expected )");
  EXPECT_EQ(expression_error("tp * "),
            "\"tp * \": found the end; expected a number, a name, a text in quotes or (");
  EXPECT_EQ(expression_error("tp pp"), "\"tp pp\": found 'pp'; expected an operator");
  EXPECT_EQ(expression_error("1 < tp < 3"),
            "\"1 < tp < 3\": compares three things; write a < b and b < c");
  EXPECT_NE(expression_error("mean(tp)").find("mean is not a function"), std::string::npos);
  EXPECT_NE(expression_error("abs(1, 2)").find("takes 1 value"), std::string::npos);
  EXPECT_NE(expression_error("'open").find("not closed"), std::string::npos);
  EXPECT_NE(expression_error("1.2.3").find("expected a number"), std::string::npos);
  EXPECT_NE(expression_error("").find("the end"), std::string::npos);
  EXPECT_NE(expression_error(std::string(200, '(')).find("deep"), std::string::npos);
  EXPECT_NE(expression_error(std::string(5000, '-') + "1").find("longer"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::study
