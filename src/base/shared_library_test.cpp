#include "base/shared_library.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace ergometer::base {
namespace {

TEST(SharedLibrary, OpensTheFirstThatIsThere) {
  const auto library = SharedLibrary::open({"libno-such.so", "libc.so.6"}, "for this test");
  ASSERT_TRUE(library);
  size_t (*length)(const char*) = nullptr;
  ASSERT_TRUE(library->find("strlen", length));
  EXPECT_EQ(length("four"), 4u);
  library->find_if_there("ergometer_has_no_such_function", length);
  EXPECT_EQ(length, nullptr);
  const auto missing = library->find("ergometer_has_no_such_function", length);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kMissing);
  EXPECT_EQ(missing.error().message,
            "libc.so.6 lacks ergometer_has_no_such_function: too old a driver");
}

TEST(SharedLibrary, NamesAllThatItTried) {
  const auto none = SharedLibrary::open({"liba-none.so", "libb-none.so"}, "nothing can be done");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kMissing);
  EXPECT_EQ(none.error().message,
            "this machine lacks liba-none.so, libb-none.so: nothing can be done");
}

}  // namespace
}  // namespace ergometer::base
