#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using Steps = std::vector<std::pair<int64_t, double>>;

std::string little_endian(uint64_t word, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(word >> (8 * i) & 255);
  return bytes;
}

/// CRC-32C, bit by bit, masked as TFRecord masks it.
uint64_t check_of(const std::string& bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  crc = ~crc;
  return static_cast<uint32_t>(((crc >> 15) | (crc << 17)) + 0xa282ead8U);
}

std::string record(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + little_endian(check_of(length), 4) + data + little_endian(check_of(data), 4);
}

std::string within(char tag, const std::string& bytes) {
  return std::string{tag, static_cast<char>(bytes.size())} + bytes;
}

/// Event: 1 wall_time, 2 step, 5 summary { 1 value { 1 tag, 2 simple_value } }.
std::string event(double wall_s, int step, const std::string& tag, float value) {
  const std::string scalar =
      within('\x0a', tag) + '\x15' + little_endian(std::bit_cast<uint32_t>(value), 4);
  return record('\x09' + little_endian(std::bit_cast<uint64_t>(wall_s), 8) + '\x10' +
                static_cast<char>(step) + within('\x2a', within('\x0a', scalar)));
}

std::string first_record() {
  return record('\x09' + little_endian(std::bit_cast<uint64_t>(1.7e9), 8) +
                within('\x1a', "brain.Event:2"));
}

run::TrainingLog read(const std::string& bytes) {
  const auto log = parse_telemetry(bytes, "runs/events.out.tfevents.1700000000.node", {});
  EXPECT_TRUE(log) << base::error_of(log);
  return log && log->training.size() == 1 ? log->training[0] : run::TrainingLog{};
}

Steps steps_of(const run::TrainingLog& training) {
  Steps steps;
  for (const run::TrainingStep& step : training.steps)
    steps.emplace_back(step.number, step.seconds);
  return steps;
}

/// CRC-32C as everyone has it: that of "123456789" is 0xe3069283.
TEST(EventFile, TheTestsOwnCheckIsCrc32c) {
  EXPECT_EQ(check_of("123456789"),
            static_cast<uint32_t>(((0xe3069283U >> 15) | (0xe3069283U << 17)) + 0xa282ead8U));
}

/// As Hugging Face's Trainer writes: a loss every ten steps, an evaluation's at the step of one.
TEST(EventFile, StepsLieBetweenTheFirstScalarsOfTwo) {
  const auto training =
      read(first_record() + event(1.7e9, 10, "train/loss", 2) + event(1.7e9, 10, "train/epoch", 0) +
           event(1.7e9 + 30, 20, "train/loss", 1.9F) + event(1.7e9 + 37, 20, "eval/loss", 1.8F) +
           event(1.7e9 + 62, 30, "train/loss", 1.7F));
  EXPECT_EQ(steps_of(training), (Steps{{20, 3.0}, {30, 3.2}}));
  EXPECT_EQ(training.steps.at(1).end_ns, 1'700'000'062'000'000'000);
  EXPECT_EQ(training.job, "events.out.tfevents.1700000000.node");
}

TEST(EventFile, WhatAProgramSaysAStepTookCounts) {
  const auto training =
      read(first_record() + event(1.7e9, 1, "loss", 2) + event(1.7e9, 1, "iteration-time", 4.5F) +
           event(1.7e9 + 60, 2, "loss", 2) + event(1.7e9 + 60, 2, "iteration-time", 4.25F) +
           event(1.7e9 + 64, 3, "eval", 2));
  EXPECT_EQ(steps_of(training), (Steps{{1, 4.5}, {2, 4.25}}));
  const auto titan = read(first_record() + event(1.7e9, 1, "time_metrics/end_to_end(s)", 2.5F) +
                          event(1.7e9, 1, "throughput(tps)", 6012));
  EXPECT_EQ(titan.steps.at(0).tokens_per_s_per_gpu, 6012);
}

/// A program counts from 0 on; the difference of two steps is one of 64 bits then. The largest
/// number of 63 bits was never counted to.
TEST(EventFile, AStepBelowZeroOrBeyondAllCountingIsNone) {
  const std::string scalar =
      within('\x2a', within('\x0a', within('\x0a', "loss") + '\x15' + little_endian(0, 4)));
  const std::string time = '\x09' + little_endian(std::bit_cast<uint64_t>(1.7e9 - 60), 8);
  const std::string negative = record(time + '\x10' + std::string(9, '\xff') + '\x01' + scalar);
  const std::string largest = record(time + '\x10' + std::string(8, '\xff') + '\x7f' + scalar);
  const auto log = parse_telemetry(first_record() + negative + largest +
                                       event(1.7e9, 1, "loss", 2) + event(1.7e9 + 3, 2, "loss", 2),
                                   "a", {});
  ASSERT_TRUE(log);
  EXPECT_EQ(steps_of(log->training.at(0)), (Steps{{2, 3.0}}));
  ASSERT_EQ(log->dropped.size(), 1U);
  EXPECT_EQ(log->dropped[0].reason, "an event without a time or a step");
  EXPECT_EQ(log->dropped[0].count, 2);
}

/// A file that still grows may end anywhere.
TEST(EventFile, EndsAnywhere) {
  const std::string whole = first_record() + event(1.7e9, 1, "loss", 2) +
                            event(1.7e9 + 3, 2, "loss", 2) + event(1.7e9 + 6, 3, "loss", 2);
  const size_t last = event(1.7e9 + 6, 3, "loss", 2).size();
  for (size_t missing = 1; missing < last; ++missing) {
    const auto log = parse_telemetry(whole.substr(0, whole.size() - missing), "a", {});
    ASSERT_TRUE(log) << missing;
    EXPECT_EQ(steps_of(log->training.at(0)), (Steps{{2, 3.0}})) << missing;
    EXPECT_EQ(log->notes, std::vector<std::string>{"a: ends in the middle of a record"});
  }
}

TEST(EventFile, DamageIsToldWithItsPlace) {
  const size_t first = first_record().size();
  std::string bytes = first_record() + event(1.7e9, 1, "loss", 2);
  bytes[first + 14] = static_cast<char>(bytes[first + 14] ^ 1);
  const auto log = parse_telemetry(bytes, "a", {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message,
            "a: byte " + std::to_string(first) + ": found a record that fails its check");
  const auto odd = parse_telemetry(first_record() + record("\x2a\x7f"), "a", {});
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().message.find("no event of TensorBoard's"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::importer
