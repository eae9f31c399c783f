#include "import/import.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/test_support.h"

namespace ergometer::importer {
namespace {

const std::string kKinetoData = std::string(ERGOMETER_SOURCE_DIR) + "/tests/data/kineto/";

class Import : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) const {
    return temporary_.put(name, bytes);
  }
  std::string folder() const { return temporary_.root().string(); }

 private:
  base::TestFolder temporary_;
};

std::string trace(int kernels, const std::string& head = "") {
  std::string text = "{" + head + "\"traceEvents\":[";
  for (int i = 0; i < kernels; ++i)
    text +=
        (i > 0 ? "," : "") + std::string(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1})");
  return text + "]}";
}

std::string gzip(const std::string& text) {
  std::string packed(compressBound(static_cast<uLong>(text.size())) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}
// Two cycles of a profiler, and a copy: of each rank the newest, once.
TEST_F(Import, OfARanksRecordingsTheNewestCounts) {
  const auto cycle = [](int rank, int at) {
    return R"({"distributedInfo":{"rank":)" + std::to_string(rank) +
           R"(},"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":)" + std::to_string(at) +
           R"(,"dur":1}]})";
  };
  put("a.json", cycle(0, 100)), put("b.json", cycle(1, 100)), put("c.json", cycle(0, 900));
  put("d.json", cycle(1, 900)), put("e.json", cycle(1, 900));
  const auto recorded = read_recorded({folder()}, {}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  const Traces& traces = recorded->traces;
  ASSERT_EQ(traces.ranks.size(), 2u);
  EXPECT_EQ(traces.ranks[0].events[0].start_ns, 900000);
  EXPECT_TRUE(traces.ranks[1].file.ends_with("d.json"));
  EXPECT_EQ(traces.dropped.size(), 3u);
}

TEST_F(Import, KnowsAFileByWhatItHolds) {
  const std::string plain = put("a.json.gz", trace(1)), packed = put("b.json", gzip(trace(2))),
                    twice = put("c", gzip(gzip(trace(3))));
  const auto traces = read_recorded({plain, packed, twice}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(traces->traces.ranks[i].events.size(), i + 1);
}

TEST_F(Import, ReadsGzipOfSeveralMembers) {
  const std::string text = trace(5);
  const std::string path =
      put("a.json.gz", gzip(text.substr(0, 40)) + gzip(text.substr(40)) + std::string(512, '\0'));
  const auto traces = read_recorded({path}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->traces.ranks[0].events.size(), 5u);
  EXPECT_FALSE(traces->traces.ranks[0].truncated);
}

TEST_F(Import, NumbersRanksThatDoNotSay) {
  put("x.json", trace(1));
  put("y.json", trace(2));
  put("rank-1.json", trace(3));
  const auto traces = read_recorded({folder()}, {}, 2);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 3u);
  EXPECT_EQ(traces->traces.ranks[0].events.size(), 1u);  // x: 0
  EXPECT_EQ(traces->traces.ranks[1].events.size(), 3u);  // rank-1
  EXPECT_EQ(traces->traces.ranks[2].events.size(), 2u);  // y: 2, the next that is free
  EXPECT_EQ(traces->traces.ranks[2].rank, 2);
}

TEST_F(Import, ReadsTheSameOnAnyNumberOfThreads) {
  for (int i = 0; i < 12; ++i) put("d/rank_" + std::to_string(i) + ".json", trace(i + 1));
  put("d/notes.txt", "notes");
  const auto one = read_recorded({folder()}, {}, 1), four = read_recorded({folder()}, {}, 4);
  ASSERT_TRUE(one && four);
  ASSERT_EQ(one->traces.ranks.size(), 12u);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(one->traces.ranks[i].rank, static_cast<int64_t>(i));
    EXPECT_EQ(one->traces.ranks[i].file, four->traces.ranks[i].file);
    EXPECT_EQ(one->traces.ranks[i].events.size(), i + 1);
  }
  ASSERT_EQ(one->traces.dropped.size(), 1u);
  EXPECT_EQ(
      one->traces.dropped[0].reason,
      "is no trace, no telemetry and no log of Megatron-LM, NeMo, torchtitan, nanotron, "
      "DeepSpeed, Trainer, MaxText, LitGPT, Composer, OLMo or MLPerf: it begins with 'notes'");
}

TEST_F(Import, KeepsWhatRanksLeftOutInOnePlace) {
  put("rank_0.json", R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1},)"
                     R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":-1}]})");
  const auto traces = read_recorded({folder()}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 1u);
  EXPECT_TRUE(traces->traces.ranks[0].dropped.empty());
  ASSERT_EQ(traces->traces.dropped.size(), 1u);
  EXPECT_EQ(traces->traces.dropped[0].reason, "GPU event with a negative dur");
}

TEST_F(Import, ReadsEveryRankOfAnArchive) {
  const auto traces = read_recorded({kKinetoData + "dlrm_kineto.tar.gz"}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 8u);
  EXPECT_EQ(
      traces->traces.ranks[1].file,
      kKinetoData + "dlrm_kineto.tar.gz/dlrm_kineto/worker1_step_12.1694128201556.pt.trace.json");
  EXPECT_EQ(traces->traces.ranks[1].rank, 1);
  EXPECT_EQ(traces->traces.ranks[1].world_size, 8);
  EXPECT_EQ(traces->traces.ranks[1].events.size(), 326u);
  EXPECT_EQ(traces->traces.ranks[1].gpu, "Tesla V100-SXM2-32GB");
}

TEST_F(Import, JoinsRcclKernelsToTheirCollectives) {
  const auto traces =
      read_recorded({kKinetoData + "mi300_resnet_act_checkpoint_rank0of8.json.gz"}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  const run::RankTrace& rank = traces->traces.ranks[0];
  int64_t communication = 0, joined = 0;
  for (const run::GpuEvent& event : rank.events) {
    communication += event.kind == run::GpuClass::kCommunication ? 1 : 0;
    joined += event.collective != run::GpuEvent::kNone ? 1 : 0;
  }
  EXPECT_EQ(communication, 17);
  EXPECT_EQ(joined, 12);  // five were launched before the profiler started
}

TEST_F(Import, SaysWhatCannotBeRead) {
  const auto error_of = [](const std::string& path) {
    return base::error_of(read_recorded({path}, {}, 1));
  };
  const std::string packed = gzip(trace(50));
  const std::string sqlite = put("a", "SQLite format 3"), empty = put("b", ""),
                    cut = put("c", packed.substr(0, 10)), csv = put("d", "a,b\n1,2\n");
  std::string bad = packed;
  bad[packed.size() - 6] = static_cast<char>(bad[packed.size() - 6] ^ 1);
  const std::string damaged = put("e", bad);
  EXPECT_EQ(error_of(sqlite),
            sqlite + ": is an SQLite file that cannot be read: file is not a database");
  EXPECT_EQ(error_of(empty), empty + ": is empty");
  EXPECT_EQ(error_of(cut), cut + ": the packed data ends at once");
  EXPECT_EQ(error_of(csv),
            csv +
                ": is no trace, no telemetry and no log of Megatron-LM, NeMo, torchtitan, "
                "nanotron, DeepSpeed, Trainer, MaxText, LitGPT, Composer, OLMo or MLPerf: it "
                "begins with 'a,b.1,2.'");
  EXPECT_EQ(error_of(damaged), damaged + ": the gzip data is damaged: incorrect data check");
  EXPECT_EQ(error_of(folder() + "/none"), folder() + "/none: no such file");
}

TEST_F(Import, ReadsWhatATruncatedGzipHolds) {
  std::string text = trace(20000);
  const std::string packed = gzip(text);
  const auto traces = read_recorded({put("a.json.gz", packed.substr(0, packed.size() / 2))}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_TRUE(traces->traces.ranks[0].truncated);
  EXPECT_GT(traces->traces.ranks[0].events.size(), 1000u);
}

}  // namespace
}  // namespace ergometer::importer
