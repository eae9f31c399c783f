#include "watch/actions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "record/metrics/listener.h"

namespace ergometer::watch {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Action command(std::vector<std::string> words) {
  return {Action::Kind::kCommand, {}, {}, {}, std::move(words)};
}

TEST(Actions, ACommandGetsTheAlertAndNoShell) {
  const std::string path = testing::TempDir() + "ergometer-action-test";
  std::remove(path.c_str());
  ASSERT_TRUE(perform(command({"tee", path}), "{\"alert\": \"$(id)\"}\n"));
  EXPECT_EQ(content(path), "{\"alert\": \"$(id)\"}\n");
  ASSERT_TRUE(perform({Action::Kind::kFile, path, {}, {}, {}}, "{}\n"));
  EXPECT_EQ(content(path), "{\"alert\": \"$(id)\"}\n{}\n");
  std::remove(path.c_str());
}

TEST(Actions, WhatFailsIsToldWithoutItsSecret) {
  EXPECT_NE(perform(command({"false"}), "{}").error().message.find("status 1"), std::string::npos);
  EXPECT_FALSE(perform(command({"no-such-program-here"}), "{}"));
  EXPECT_FALSE(perform({Action::Kind::kFile, "/no/such/folder/a", {}, {}, {}}, "{}"));
  EXPECT_TRUE(perform(command({"true"}), std::string(1000, 'x')));  // it reads nothing
  EXPECT_FALSE(perform({Action::Kind::kWebhook, "http://127.0.0.1:1/x", {}, {}, {}}, "{}"));
}

TEST(Actions, ACommandThatDoesNotEndIsEnded) {
  const auto done = perform(command({"sleep", "1000"}), "{}", 0);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("was ended"), std::string::npos);
}

/// Answers every tenth of a second by a byte, for as long as its client listens.
void answer_byte_by_byte(int listener) {
  const int client = ::accept(listener, nullptr, nullptr);
  const std::string head = "HTTP/1.1 200 OK\r\nX-Long: ";
  bool heard = ::send(client, head.data(), head.size(), MSG_NOSIGNAL) > 0;
  for (int i = 0; heard && i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    heard = ::send(client, "a", 1, MSG_NOSIGNAL) > 0;
  }
  ::close(client);
}

TEST(Actions, AServerThatNeverComesToAnEndIsLeft) {
  const auto listener = record::Listener::open("127.0.0.1:0");
  ASSERT_TRUE(listener);
  const int socket = listener->socket.get();
  ::fcntl(socket, F_SETFL, 0);  // accept waits
  std::thread server(answer_byte_by_byte, socket);
  const auto start = std::chrono::steady_clock::now();
  const std::string url = "http://" + listener->address + "/x";
  EXPECT_FALSE(perform({Action::Kind::kWebhook, url, {}, {}, {}}, "{}", 1));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  server.join();
}

TEST(Actions, NobodyWaitsForThem) {
  // Of a thousand that would take hours one is begun; the others are left out, or left undone.
  std::atomic<int> told = 0;
  Actions actions([&](const std::string&) { ++told; });
  for (int i = 0; i < 1000; ++i) actions.put(command({"sleep", "0.01"}), "{}");
  actions.put({}, "{}");
}

}  // namespace
}  // namespace ergometer::watch
