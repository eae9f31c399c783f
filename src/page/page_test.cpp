#include "page/page.h"

#include <gtest/gtest.h>

#include <string>

namespace ergometer::page {
namespace {

TEST(Page, Base64OfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xfb\xff\xfe"), "+//+");
}

TEST(Page, TitleIsEscaped) {
  const std::string page =
      "<title>old</title><script id=\"ergometer-data\"><!--ERGOMETER-DATA--></script>";
  const std::string filled = fill_page(page, "a </title><script>alert('1')</script> & b", "{}");
  EXPECT_EQ(filled.find("<script>alert"), std::string::npos);
  EXPECT_TRUE(
      filled.starts_with("<title>a &lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)"
                         "&lt;/script&gt; &amp; b</title>"))
      << filled;
}

// What the page's own script says about the marker is not the place for the data.
TEST(Page, DataStandsInItsElementAlone) {
  const std::string page =
      "<script>const marker = '<!--ERGOMETER-DATA-->';</script>\n"
      "<script id=\"ergometer-data\"><!--ERGOMETER-DATA-->\n</script>";
  const std::string filled = fill_page(page, "t", "{\"a\": \"</script>\"}");
  EXPECT_NE(filled.find("'<!--ERGOMETER-DATA-->'"), std::string::npos);
  const size_t from = filled.find("ergometer-data\">") + 16;
  const std::string data = filled.substr(from, filled.find('\n', from) - from);
  EXPECT_EQ(
      data.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
      std::string::npos);
  EXPECT_TRUE(data.starts_with("eJ"));  // a zlib stream's first bytes, 0x78 0x9c
}

TEST(Page, TheBuiltInPageHasAPlaceForItsData) {
  const std::string_view page = page_template();
  EXPECT_LT(page.size(), 1'000'000u);
  const std::string filled = fill_page(page, "a job", "{}");
  EXPECT_NE(filled.find("<title>a job</title>"), std::string::npos);
  EXPECT_EQ(filled.find("src=\"http"), std::string::npos);
}

TEST(Page, MayReachNothing) {
  const std::string_view page = page_template();
  const size_t policy = page.find("<meta http-equiv=\"Content-Security-Policy\"");
  ASSERT_NE(policy, page.npos);
  EXPECT_NE(page.find("default-src 'none'", policy), page.npos);
  EXPECT_LT(policy, page.find("<script"));
}

}  // namespace
}  // namespace ergometer::page
