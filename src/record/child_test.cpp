#include "record/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "record/wait.h"

namespace ergometer::record {
namespace {

namespace fs = std::filesystem;

ExitStatus run(const std::vector<std::string>& words) {
  const Signals signals(true);
  int status = 0;
  auto child = Child::start(words, signals.for_child(), status);
  if (!child) return {status, 0};
  wait_until(signals, {&*child, nullptr, std::nullopt, {}}, [] {});
  return child->ended().value_or(ExitStatus{-1, -1});
}

TEST(Child, ExitStatusIsPassedThrough) {
  EXPECT_EQ(run({"true"}).code, 0);
  EXPECT_EQ(run({"sh", "-c", "exit 77"}).code, 77);
  const ExitStatus killed = run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(killed.signal, SIGSEGV);
}

TEST(Child, WhatCannotBeStartedHasAShellsStatus) {
  EXPECT_EQ(check_command("true"), std::nullopt);
  EXPECT_EQ(check_command("/bin/sh"), std::nullopt);
  EXPECT_EQ(check_command("no-such-program")->status, kNotFound);
  EXPECT_EQ(check_command("no-such-program")->message, "no-such-program: there is no such command");
  EXPECT_EQ(check_command("./no/such/program")->message,
            "./no/such/program: there is no such file");
  EXPECT_EQ(check_command("")->status, kNotFound);
  EXPECT_EQ(check_command("/etc")->status, kNotExecutable);
  EXPECT_EQ(check_command("/etc/passwd")->status, kNotExecutable);
  EXPECT_EQ(run({"no-such-program"}).code, kNotFound);
}

TEST(Child, BeginsWithTheSignalsItWouldHaveWithoutUs) {
  // SigBlk and SigIgn of the command, against those of this test; 32 and 33 are the C library's
  // own.
  const auto masks = [](std::istream& status) {
    std::string line;
    std::vector<uint64_t> found;
    while (std::getline(status, line))
      if (line.starts_with("SigBlk") || line.starts_with("SigIgn"))
        found.push_back(std::stoull(line.substr(7), nullptr, 16) & 0x7fffffff);
    return found;
  };
  const fs::path file = fs::temp_directory_path() / ("ergometer-child-" + std::to_string(getpid()));
  ASSERT_EQ(run({"cp", "/proc/self/status", file.string()}).code, 0);
  std::ifstream of_child(file), ours("/proc/self/status");
  const std::vector<uint64_t> begun = masks(of_child);
  EXPECT_EQ(begun.size(), 2u);
  EXPECT_EQ(begun, masks(ours));
  fs::remove(file);
}

TEST(Child, SignalsArePassedOn) {
  const Signals signals(true);
  int status = 0;
  const auto wait_for = [](int seconds) {
    return Until{nullptr, nullptr, static_cast<double>(seconds), {}};
  };
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGQUIT}) {
    auto child = Child::start({"sleep", "60"}, signals.for_child(), status);
    ASSERT_TRUE(child);
    kill(getpid(), signal);
    Until until = wait_for(30);
    until.child = &*child;
    wait_until(signals, until, [] {});
    ASSERT_TRUE(child->ended()) << signal;
    EXPECT_EQ(child->ended()->signal, signal);
  }
}

TEST(Wait, ASignalEndsARecordingWithoutACommand) {
  const Signals signals(false);
  kill(getpid(), SIGTERM);
  int looks = 0;
  wait_until(signals, {nullptr, nullptr, 30, {}}, [&] { ++looks; });
  EXPECT_EQ(looks, 0);
}

TEST(Wait, EndsWithAProcessATimeOrWhenAsked) {
  const Signals signals(true);
  int status = 0, looks = 0;
  auto child = Child::start({"sleep", "0.3"}, signals.for_child(), status);
  ASSERT_TRUE(child);
  auto process = Process::open(child->pid());
  ASSERT_TRUE(process);
  wait_until(signals, {nullptr, nullptr, 0.01, {}}, [&] { ++looks; });
  EXPECT_GE(looks, 1);
  EXPECT_FALSE(process->ended());
  wait_until(signals, {nullptr, &*process, 30, {}}, [] {});
  EXPECT_TRUE(process->ended());
  child->look();
  EXPECT_TRUE(child->ended());
  wait_until(signals, {nullptr, nullptr, 30, [] { return true; }}, [] {});
  constexpr pid_t kNobody = (1 << 22) + 1;  // above the kernel's largest number
  EXPECT_FALSE(Process::open(kNobody));
}

}  // namespace
}  // namespace ergometer::record
