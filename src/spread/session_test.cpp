#include "spread/session.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>

#include "base/test_support.h"

namespace ergometer::spread {
namespace {

namespace fs = std::filesystem;

/// Squares of the first ten numbers.
class Squares : public testing::Test {
 protected:
  void SetUp() override {
    work_.kind = "sum";
    work_.identity = "squares";
    work_.pieces = 10;
    work_.worker = [this] {
      return [this](size_t i) {
        ++done_[i];
        return std::to_string(i * i);
      };
    };
    work_.take = [this](size_t i, const std::string& answer) {
      if (answer.empty() || answer.find_first_not_of("0123456789") != std::string::npos)
        return false;
      taken_[i] = answer;
      return true;
    };
  }

  Result<Progress> go() { return run(*thread_crew(), work_); }
  std::string journal() const { return work_.out + ".unfinished"; }
  void keep_journal() { work_.out = temporary_.path("out"); }
  void expect_all() const {
    ASSERT_EQ(taken_.size(), 10u);
    for (const auto& [i, answer] : taken_) EXPECT_EQ(answer, std::to_string(i * i));
  }

  base::TestFolder temporary_;
  Work work_;
  std::array<std::atomic<int>, 10> done_{};
  std::map<size_t, std::string> taken_;
};

TEST_F(Squares, EveryPieceIsDoneOnceWhateverTheThreads) {
  for (const size_t threads : {1, 3, 64}) {
    taken_.clear();
    for (auto& times : done_) times = 0;
    work_.threads = threads;
    const auto progress = go();
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->left, 0u);
    expect_all();
    for (const auto& times : done_) EXPECT_EQ(times, 1);
  }
}

TEST_F(Squares, ShardsAreDisjointAndTogetherAll) {
  for (work_.shard = {1, 3}; work_.shard.number <= 3; ++work_.shard.number) ASSERT_TRUE(go());
  expect_all();
  for (const auto& times : done_) EXPECT_EQ(times, 1);
}

TEST_F(Squares, WhatFormerRunsDidIsNotDoneAgain) {
  keep_journal();
  work_.stop = [this] { return taken_.size() >= 4; };
  {
    const auto stopped = go();
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->left, 6u);
  }
  taken_.clear();
  work_.stop = {};
  const auto rest = go();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->finished_before, 4u);
  expect_all();
  for (const auto& times : done_) EXPECT_EQ(times, 1);
}

TEST_F(Squares, ADamagedJournalCostsItsPiecesOnly) {
  keep_journal();
  std::ofstream(journal())
      << "ergometer sum, unfinished: squares 1/1\n65a361d7 0 0\n2f5a8be4 1 x\n2\nnonsense\n"
         "fea2970c 99 1\n4e28efed 3 9";
  const auto progress = go();
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->finished_before, 1u);
  expect_all();
  EXPECT_EQ(done_[0], 0);
  EXPECT_EQ(done_[3], 1);  // its line had no end
}

TEST_F(Squares, AnotherWorksJournalIsRefused) {
  keep_journal();
  for (const char* head : {"ergometer sum, unfinished: cubes 1/1\n",
                           "ergometer sum, unfinished: squares 1/2\n", "my letters\n"}) {
    std::ofstream(journal()) << head;
    const auto refused = go();
    ASSERT_FALSE(refused) << head;
    EXPECT_NE(refused.error().message.find("was left by another sum"), std::string::npos);
  }
}

TEST_F(Squares, AJournalWhoseFirstLineDidNotReachTheDiskIsBegunAgain) {
  keep_journal();
  const std::string head = "ergometer sum, unfinished: squares 1/1\n";
  for (size_t written : {size_t{0}, size_t{9}, head.size() - 1}) {
    std::ofstream(journal()) << head.substr(0, written) << std::string(head.size() - written, '\0');
    const auto progress = go();
    ASSERT_TRUE(progress) << written;
    EXPECT_EQ(progress->finished_before, 0u);
    fs::remove(journal());
  }
}

TEST_F(Squares, WorkWithoutMemoryEndsAndWhatIsDoneIsKept) {
  keep_journal();
  const auto worker = work_.worker;
  for (const size_t threads : {1, 3}) {
    work_.threads = threads;
    work_.worker = [&] {
      return [&, work = worker()](size_t i) {
        if (i >= 4) throw std::bad_alloc();
        return work(i);
      };
    };
    EXPECT_THROW((void)go(), std::bad_alloc);
  }
  work_.worker = worker;
  const auto rest = go();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->finished_before, 4u);
  expect_all();
}

TEST_F(Squares, OnlyOneProcessWritesAJournal) {
  keep_journal();
  const auto other = Journal::open(journal(), "sum", "squares 1/1");
  ASSERT_TRUE(other);
  EXPECT_NE(go().error().message.find("another ergometer is running this sum"), std::string::npos);
}

TEST_F(Squares, AnAnswerThatCannotBeReadEndsTheWork) {
  work_.worker = [] { return [](size_t) { return std::string("?"); }; };
  EXPECT_FALSE(go());
}

TEST(Shards, AreParsed) {
  EXPECT_EQ(*parse_shard("2/8"), (Shard{2, 8}));
  for (const char* bad : {"0/2", "3/2", "1", "/", "a/b", "1/", "1/0", "-1/2", ""})
    EXPECT_FALSE(parse_shard(bad)) << bad;
}

TEST(Journal, ALineThatIsNotAsItWasWrittenIsDoneAgain) {
  const base::TestFolder temporary;
  const std::string path = temporary.path("journal");
  {
    auto journal = Journal::open(path, "sum", "squares");
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->append(3, "nine"));
    ASSERT_TRUE(journal->append(4, "sixteen"));
  }
  {
    std::string text = temporary.bytes("journal");
    text.replace(text.find("nine"), 4, "mine");
    temporary.put("journal", text);
  }
  auto again = Journal::open(path, "sum", "squares");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->finished(), (std::map<size_t, std::string>{{4, "sixteen"}}));
  again->remove();
}

}  // namespace
}  // namespace ergometer::spread
