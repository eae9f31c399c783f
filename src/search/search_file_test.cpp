#include "search/search_file.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_support.h"

namespace ergometer::search {
namespace {

const SearchFile kFile = {
    "0123456789abcdef", {2, 3}, {"a model.json", "--fix=a\nb\\n", ""}, "1 2 3 0 0 0 why not"};

class SearchFiles : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_search_file(kFile, path_)); }
  base::TestFolder temporary_;
  const std::string path_ = temporary_.path("a.search");
};

TEST_F(SearchFiles, ReadBackTheSame) {
  EXPECT_TRUE(is_search_file(path_).value());
  const auto back = read_search_file(path_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->identity, kFile.identity);
  EXPECT_EQ(back->shard, kFile.shard);
  EXPECT_EQ(back->words, kFile.words);
  EXPECT_EQ(back->estimates, kFile.estimates);
}

TEST_F(SearchFiles, CutOffAnywhereAreRefused) {
  const std::string text = *base::read_file(path_, 1 << 20);
  for (size_t size = 0; size < text.size(); ++size) {
    const auto cut = parse_search_file(text.substr(0, size), "f");
    ASSERT_FALSE(cut) << size;
    EXPECT_TRUE(cut.error().message.starts_with("f: is ")) << cut.error().message;
  }
  EXPECT_TRUE(parse_search_file(text, "f"));
}

TEST(SearchFile, OtherFilesAreNone) {
  EXPECT_FALSE(is_search_file("/no/such/file").value());
  EXPECT_FALSE(is_search_file("/dev/null").value());
  EXPECT_FALSE(parse_search_file("ergometer search 12\n", "f"));
}

}  // namespace
}  // namespace ergometer::search
