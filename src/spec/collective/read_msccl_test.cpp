#include "spec/collective/read_msccl.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/collective/test_algorithms.h"

namespace ergometer::spec {
namespace {

std::string with(std::string from, std::string_view to) {
  std::string xml = all_pairs_file(2);
  const size_t at = xml.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return base::error_of(parse_msccl(xml.replace(at, from.size(), to), "a.xml"));
}

TEST(ReadMsccl, SaysWhatAFileHolds) {
  const Algorithm algorithm = base::value_of(parse_msccl(all_pairs_file(4, "LL128"), "a.xml"));
  EXPECT_EQ(algorithm.name, "all-pairs");
  EXPECT_EQ(algorithm.task, CollectiveTask::kAllReduce);
  EXPECT_EQ(algorithm.protocol, CollectiveProtocol::kLl128);
  EXPECT_EQ(algorithm.size(), 4);
  EXPECT_EQ(algorithm.chunks, 4);
  EXPECT_TRUE(algorithm.in_place);
  ASSERT_EQ(algorithm.gpus[1].blocks.size(), 3U);
  const ThreadBlock& block = algorithm.gpus[1].blocks[2];
  EXPECT_EQ(block.send_to, 3);
  ASSERT_EQ(block.steps.size(), 4U);
  EXPECT_EQ(block.steps[1].kind, StepKind::kReceiveReduceCopy);
  EXPECT_EQ(block.steps[1].after_block, 1);
  EXPECT_EQ(block.steps[2].from_chunk, 1);
}

TEST(ReadMsccl, BytesItIsFor) {
  Algorithm algorithm;
  algorithm.min_bytes = 1024;
  EXPECT_FALSE(algorithm.holds(1000));
  EXPECT_TRUE(algorithm.holds(1e12));
  algorithm.max_bytes = 2048;
  EXPECT_TRUE(algorithm.holds(2048));
  EXPECT_FALSE(algorithm.holds(2049));
}

TEST(ReadMsccl, ErrorsNameLineAndAttribute) {
  EXPECT_EQ(with("ngpus=\"2\"", "ngpus=\"two\""),
            "a.xml:1: ngpus: found \"two\"; allowed: a whole number from 2 to 512");
  EXPECT_EQ(with("name=\"all-pairs\"", "name=\"a&#27;b\""),
            "a.xml:1: name: allowed: 1 to 200 characters, none of them a control character");
  EXPECT_EQ(with("proto=\"LL\"", "proto=\"LL64\""),
            "a.xml:1: proto: found \"LL64\"; allowed: LL, LL128, Simple");
  EXPECT_EQ(
      with("coll=\"allreduce\"", "coll=\"broadcast\""),
      "a.xml:1: coll: found \"broadcast\"; allowed: allreduce, allgather, reducescatter, alltoall");
  EXPECT_EQ(with("type=\"s\"", "type=\"put\""),
            "a.xml:4: gpu 0, tb 0, step 0: type: found \"put\"; allowed: s, r, cpy, re, rcs, rrc, "
            "rrs, rrcs, nop");
  EXPECT_EQ(
      with("srcoff=\"1\"", "srcoff=\"2\""),
      "a.xml:4: gpu 0, tb 0, step 0: srcoff: found \"2\"; allowed: a whole number from 0 to 1");
  EXPECT_EQ(with("recv=\"1\"", "recv=\"0\""),
            "a.xml:3: gpu 0, tb 0: recv: found 0, the GPU itself");
  EXPECT_EQ(with("<tb id=\"0\"", "<tb id=\"3\""),
            "a.xml:3: gpu 0, tb 0: id: found \"3\"; allowed: 0");
  EXPECT_EQ(with("<gpu id=\"1\"", "<gpu id=\"0\""), "a.xml:10: gpu 0 stands here twice");
  EXPECT_EQ(with("cnt=\"1\"", "count=\"1\""),
            "a.xml:4: gpu 0, tb 0, step 0: <step> has no attribute count; allowed: s, type, "
            "srcbuf, srcoff, "
            "dstbuf, dstoff, cnt, depid, deps, hasdep");
  EXPECT_EQ(with("</algo>", "").substr(0, 6), "a.xml:");
  EXPECT_EQ(with("</algo>", "</algo><algo/>"),
            "a.xml:18: found <algo>; allowed: one <algo> a file");
  EXPECT_EQ(with("nchannels=\"1\"", "nchannels=\"1\" nchannels=\"2\""),
            "a.xml:1: <algo> has the attribute nchannels twice; allowed: once");
}

TEST(ReadMsccl, NobodyWaitsForAStepThatTellsNobody) {
  std::string xml = all_pairs_file(2);
  const size_t at = xml.find("hasdep=\"1\"");
  xml.replace(at, 10, "hasdep=\"0\"");
  EXPECT_EQ(base::error_of(parse_msccl(xml, "a.xml")),
            "a.xml:6: waits for step 1 of thread block 0, whose hasdep is 0: it tells nobody that "
            "it is done");
}

}  // namespace
}  // namespace ergometer::spec
