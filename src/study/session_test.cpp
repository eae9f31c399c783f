#include "study/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/test_support.h"

namespace ergometer::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStudy = R"(
title: T
base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 8, seq: 2048}
axes: {tp: [1, 2, 4, 8], mbs: [1, 3]}
figures:
  - {id: f, title: F, caption: C, kind: line, x: tp, y: performance.tokens_per_s, series: mbs}
)";

class Sessions : public testing::Test {
 protected:
  void SetUp() override {
    definition_ = *parse_definition(kStudy, "s.yaml");
    expansion_ = *expand(definition_);
  }

  std::string path(const std::string& name) const { return temporary_.path(name); }
  static std::string bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<SessionResult> session(const std::string& out, SessionOptions options = {}) {
    options.out = path(out);
    return run_study(definition_, expansion_, options, *spread::thread_crew());
  }

  base::TestFolder temporary_;
  Definition definition_;
  Expansion expansion_;
};

TEST_F(Sessions, WriteAFileThatReadsBackTheSame) {
  const auto result = session("a.run");
  ASSERT_TRUE(result) << result.error().message;
  const auto back = run::read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_TRUE(back->study);
  const run::Study &now = *result->run.study, &then = *back->study;
  ASSERT_EQ(then.points.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(then.points[i].id, now.points[i].id);
    EXPECT_EQ(then.points[i].settings, now.points[i].settings);
    EXPECT_EQ(then.points[i].axes, now.points[i].axes);
    EXPECT_EQ(then.points[i].status, now.points[i].status);
    EXPECT_EQ(then.points[i].notes, now.points[i].notes);
    EXPECT_EQ(then.points[i].values, now.points[i].values);
  }
  // 8 samples do not divide by micro batches of 3: kept with their reason.
  EXPECT_EQ(then.points[7].status, run::PointStatus::kRefused);
  EXPECT_FALSE(then.points[7].reason.empty());
  ASSERT_EQ(then.figures.size(), 1u);
  EXPECT_EQ(then.figures[0].series[0].y, now.figures[0].series[0].y);
  EXPECT_FALSE(fs::exists(path("a.run.unfinished")));
}

TEST_F(Sessions, GoOnWhereTheyWereStoppedAndGiveTheSameBytes) {
  ASSERT_TRUE(session("whole.run", {.threads = 2}));
  std::atomic<int> done = 0;
  SessionOptions options;
  options.advance = [&] { ++done; };
  options.stop = [&] { return done >= 3; };
  const auto stopped = session("b.run", options);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(stopped->left, 5u);
  EXPECT_FALSE(fs::exists(path("b.run")));
  const auto rest = session("b.run");
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->finished_before, 3u);
  EXPECT_EQ(bytes(path("b.run")), bytes(path("whole.run")));
  const auto again = session("b.run");
  EXPECT_EQ(again->finished_before, 8u);
  EXPECT_EQ(bytes(path("b.run")), bytes(path("whole.run")));
}

TEST_F(Sessions, SurviveAKillInTheMiddleOfALine) {
  ASSERT_TRUE(session("whole.run"));
  SessionOptions options;
  std::atomic<int> done = 0;
  options.advance = [&] { ++done; };
  options.stop = [&] { return done >= 4; };
  ASSERT_TRUE(session("c.run", options));
  const std::string journal = bytes(path("c.run.unfinished"));
  // Whatever length the kill left of it, the same file comes out, at two dozen places.
  for (size_t size = 0; size < journal.size(); size += 1 + journal.size() / 23) {
    fs::remove(path("c.run"));
    std::ofstream(path("c.run.unfinished"), std::ios::binary) << journal.substr(0, size);
    const auto result = session("c.run");
    ASSERT_TRUE(result) << size << ": " << result.error().message;
    EXPECT_LE(result->finished_before, 4u);
    EXPECT_EQ(bytes(path("c.run")), bytes(path("whole.run"))) << size;
  }
}

TEST_F(Sessions, ShardsMergeToTheSameBytes) {
  ASSERT_TRUE(session("whole.run"));
  std::vector<run::Run> runs;
  std::vector<std::string> files;
  for (size_t i = 1; i <= 3; ++i) {
    const std::string name = "part" + std::to_string(i);
    ASSERT_TRUE(session(name, {.shard = {4 - i, 3}}));
    runs.push_back(*run::read_run(path(name)));
    files.push_back(name);
  }
  const auto merged = merge_shards(runs, files);
  ASSERT_TRUE(merged) << merged.error().message;
  ASSERT_TRUE(run::write_run(*merged, path("merged.run")));
  EXPECT_EQ(bytes(path("merged.run")), bytes(path("whole.run")));
}

TEST_F(Sessions, MergeNamesWhatIsWrong) {
  const auto shard = [&](const std::string& name, Shard part) {
    EXPECT_TRUE(session(name, {.shard = part}));
    return *run::read_run(path(name));
  };
  const run::Run one = shard("1", {1, 3}), two = shard("2", {2, 3}), half = shard("h", {1, 2});
  const auto error = [](std::vector<run::Run> runs, const std::vector<std::string>& files) {
    return base::error_of(merge_shards(std::move(runs), files));
  };
  EXPECT_EQ(error({one, two}, {"a", "b"}), "merge: 1 shard is missing: 3/3");
  EXPECT_EQ(error({one, one}, {"a", "b"}), "a and b: both hold shard 1/3");
  EXPECT_EQ(error({one, half}, {"a", "b"}),
            "a and b: are shards 1/3 and 1/2; all must be of the same number");
  EXPECT_NE(error({one, run::Run{}}, {"a", "b"}).find("b: is not a study's Run"),
            std::string::npos);
  definition_ = *parse_definition("base: {model: llama3-8b}\naxes: {tp: [1]}\n", "t.yaml");
  expansion_ = *expand(definition_);
  EXPECT_NE(error({one, shard("o", {1, 3})}, {"a", "b"}).find("of different studies"),
            std::string::npos);
}

TEST_F(Sessions, RefuseWhatAnotherStudyMade) {
  ASSERT_TRUE(session("d.run"));
  std::ofstream(path("e.run.unfinished")) << "something else\n";
  std::ofstream(path("f.run")) << "my letters";
  definition_ = *parse_definition("axes: {tp: [1]}\n", "t.yaml");
  expansion_ = *expand(definition_);
  EXPECT_NE(session("d.run").error().message.find("was made by another study"), std::string::npos);
  EXPECT_NE(session("e.run").error().message.find("was left by another study"), std::string::npos);
  EXPECT_NE(session("f.run").error().message.find("exists and is not a Run"), std::string::npos);
  EXPECT_NE(session("no/g.run").error().message.find("there is no folder"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::study
