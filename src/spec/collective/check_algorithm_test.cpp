#include "spec/collective/check_algorithm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/test_support.h"
#include "spec/collective/read_msccl.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::spec {
namespace {

std::string error_of_file(const std::string& xml) {
  const auto algorithm = parse_msccl(xml, "a.xml");
  if (!algorithm) return base::error_of(algorithm);
  return base::error_of(check_algorithm(*algorithm));
}

/// With the first `from` in it `to` instead.
std::string changed(std::string xml, const std::string& from, const std::string& to) {
  const size_t at = xml.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return xml.replace(at, from.size(), to);
}

TEST(CheckAlgorithm, RingsAllPairsAndExchangesAreRight) {
  for (const int gpus : {2, 3, 8}) {
    for (const char* task : {"allreduce", "allgather", "reducescatter"})
      EXPECT_EQ(error_of_file(ring_file(task, {in_order(gpus), in_order(gpus)})), "")
          << task << gpus;
    EXPECT_EQ(error_of_file(all_pairs_file(gpus)), "") << gpus;
    EXPECT_EQ(error_of_file(exchange_file(gpus)), "") << gpus;
  }
}

TEST(CheckAlgorithm, RingsOfAnyOrderAreRight) {
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    std::vector<int> order = in_order(2 + static_cast<int>(random() % 12));
    std::vector<std::vector<int>> orders;
    for (size_t channel = 0; channel <= random() % 3; ++channel) {
      std::ranges::shuffle(order, random);
      orders.push_back(order);
    }
    for (const char* task : {"allreduce", "allgather", "reducescatter"})
      EXPECT_EQ(error_of_file(ring_file(task, orders)), "");
  }
}

// The last GPU's sum goes out before it has added its own part.
TEST(CheckAlgorithm, ALackingPartIsNamed) {
  const std::string xml =
      changed(ring_file("allreduce", {in_order(3)}), "type=\"rrcs\"", "type=\"rcs\"");
  EXPECT_EQ(error_of_file(xml), "a.xml:1: in the end GPU 0's output chunk 1 lacks GPU 0's part");
}

TEST(CheckAlgorithm, ADoubledPartIsNamed) {
  const std::string xml = changed(
      ring_file("allreduce", {in_order(2)}),
      "<step s=\"1\" type=\"rrcs\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" "
      "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>",
      "<step s=\"1\" type=\"rrc\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\"/>"
      "<step s=\"2\" type=\"re\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\"/>"
      "<step s=\"3\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" cnt=\"1\"/>");
  const std::string whole = changed(xml, "<step s=\"2\" type=\"r\"", "<step s=\"4\" type=\"r\"");
  EXPECT_NE(error_of_file(whole).find("in the end GPU 0's output chunk 1 holds GPU "),
            std::string::npos)
      << error_of_file(whole);
}

TEST(CheckAlgorithm, AWaitForEverIsNamed) {
  EXPECT_EQ(
      error_of_file(changed(ring_file("allgather", {in_order(2)}), "type=\"s\"", "type=\"nop\"")),
      "a.xml:11: never ends: gpu 1, tb 0, step 1 waits for a message from GPU 0 by channel 0");
}

TEST(CheckAlgorithm, AMessageThatNobodyReceivesIsNamed) {
  EXPECT_EQ(
      error_of_file(changed(ring_file("allgather", {in_order(2)}), "type=\"r\"", "type=\"nop\"")),
      "a.xml:1: GPU 1 sends 1 message to GPU 0 by channel 0 that it never receives");
}

TEST(CheckAlgorithm, OtherChunksThanTheTasksAreNamed) {
  const std::string xml =
      changed(exchange_file(2), "type=\"r\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\"",
              "type=\"r\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"0\"");
  EXPECT_NE(error_of_file(xml).find("in the end GPU 0's output chunk"), std::string::npos)
      << error_of_file(xml);
}

TEST(CheckAlgorithm, WhatIsWrongInTheEndStandsAtAlgo) {
  std::string xml = ring_file("allgather", {in_order(2)});
  xml.insert(0, "<!-- what it is for -->\n");
  EXPECT_EQ(error_of_file(changed(xml, "type=\"r\"", "type=\"nop\"")).substr(0, 8), "a.xml:2:");
}

// 20,000 messages arrive at a block that has to wait 20,000 times: a moment.
TEST(CheckAlgorithm, ABlockWaitsOnceHoweverManyMessagesItGets) {
  constexpr int kMany = 20000;
  Algorithm it;
  it.chunks = 2;
  it.channels = 3;
  it.file = "a.xml";
  it.in_place = true;
  it.out_of_place = false;
  AlgorithmStep send, receive, wait;
  send.kind = StepKind::kSend;
  receive.kind = StepKind::kReceive;
  receive.to = ChunkBuffer::kScratch;
  receive.awaited = true;
  wait.after_block = 1;
  const auto many = [](const AlgorithmStep& step) {
    return std::vector<AlgorithmStep>(static_cast<size_t>(kMany), step);
  };
  GpuProgram sender, receiver;
  sender.blocks = {{1, -1, 0, many(send)}, {1, -1, 1, many(send)}};
  for (AlgorithmStep& step : sender.blocks[1].steps) {
    step.after_block = 0;
    step.after_step = kMany - 1;
  }
  receiver.scratch_chunks = 1;
  receiver.blocks = {{-1, 0, 0, many(wait)}, {-1, 0, 1, many(receive)}};
  for (int i = 0; i < kMany; ++i) receiver.blocks[0].steps[static_cast<size_t>(i)].after_step = i;
  for (const AlgorithmStep& step : many(receive)) receiver.blocks[0].steps.push_back(step);
  it.gpus = {sender, receiver};
  EXPECT_EQ(base::error_of(check_algorithm(it)),
            "a.xml:1: in the end GPU 0's output chunk 0 lacks GPU 1's part");
}

}  // namespace
}  // namespace ergometer::spec
