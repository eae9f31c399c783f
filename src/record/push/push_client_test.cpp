#include "record/push/push_client.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include "base/test_support.h"

namespace ergometer::record {
namespace {

std::string error_of_url(const std::string& url, const std::string& named) {
  PushTarget target;
  target.url = url;
  target.named = named;
  return base::error_of(push_client(target));
}

TEST(PushClient, WhatIsWrongIsNamedWithoutItsSecret) {
  for (const char* url : {"http://me:SECRET@h:1", "me:SECRET@h:1", "ftp://me:SECRET@h/"}) {
    EXPECT_NE(error_of_url(url, "--otlp"), "") << url;
    EXPECT_EQ(error_of_url(url, "--otlp").find("SECRET"), std::string::npos) << url;
  }
  EXPECT_NE(error_of_url("http://a@h", "--otlp").find(" --otlp-token-file"), std::string::npos);
  EXPECT_NE(error_of_url("http://a@h", "--push").find(" --token-file"), std::string::npos);
}

TEST(PushClient, PortsThatThereAre) {
  for (const char* url :
       {"http://h", "http://h:1/x:0", "http://h:65535", "http://[::1]:80", "http://[::1]"})
    EXPECT_EQ(error_of_url(url, "--push"), "");
  for (const char* url : {"http://h:0", "http://h:-5", "http://h:99999999999", "http://h:/x",
                          "http://[::1]:65536/x", "http://h:65536"})
    EXPECT_NE(error_of_url(url, "--push").find("its port is none of 1 to 65535"), std::string::npos)
        << url;
}

/// A limit of the process is an answer that does not come, and no end of the recording.
TEST(PushClient, AThreadThatCannotBegin) {
  PushTarget target;
  target.url = "http://127.0.0.1:1";
  const auto client = push_client(target);
  ASSERT_TRUE(client) << client.error().message;
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 48), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const auto answer = (*client)->post("");
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&huge);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("it is not asked"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record
