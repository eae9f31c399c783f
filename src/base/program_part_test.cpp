#include "base/program_part.h"

#include <gtest/gtest.h>

namespace ergometer::base {
namespace {

TEST(ProgramPart, MissingIsSaidWithItsPlace) {
  const auto found = find_in_part("no-such-part", "function");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kMissing);
  EXPECT_NE(found.error().message.find("lib/ergometer/no-such-part.so is missing"),
            std::string::npos)
      << found.error().message;
}

}  // namespace
}  // namespace ergometer::base
