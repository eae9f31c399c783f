#include <ergometer/ergometer.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "base/test_support.h"
#include "library/content.h"

namespace ergometer {
namespace {

const Options kSmall = {
    {"cluster", "hgx-h100"}, {"gpus", 8}, {"tp", 2}, {"sequence_parallel", false}};

Document small_job() { return simulate({"llama3-8b"}, kSmall); }

template <class Call>
void expect_error(int status, const std::string& message, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status);
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(Library, NumbersHaveTheNamesOfTheDocument) {
  const Document job = small_job();
  EXPECT_EQ(job.number("schema_version"), kSchemaVersion);
  EXPECT_GT(job.number("performance.step_time_s"), 0);
  EXPECT_GT(job.number("memory.stages[0].activations_bytes"), 0);
  EXPECT_EQ(job.size("memory.stages"), 1);
  EXPECT_EQ(job.number("job.parallelism.tp"), 2);
  EXPECT_FALSE(job.truth("job.parallelism.sequence_parallel"));
  EXPECT_EQ(job.text("job.model.name"), "llama3-8b");
  EXPECT_TRUE(job.has("power.mean_w_per_gpu"));
  EXPECT_FALSE(job.has("power.no_such_number"));
  EXPECT_EQ(job.json("job.parallelism.tp"), "2");
  EXPECT_EQ(job.json().front(), '{');
}

TEST(Library, WrongNamesAreToldOf) {
  const Document job = small_job();
  expect_error(2, "performance.mfuu: there is no 'mfuu'; did you mean mfu?",
               [&] { job.number("performance.mfuu"); });
  expect_error(2, "there are 1 entries", [&] { job.number("memory.stages[1].stage"); });
  expect_error(2, "'[x]' is no entry", [&] { job.number("memory.stages[x]"); });
  expect_error(2, "'[]' is no entry", [&] { job.number("memory.stages["); });
  expect_error(2, "is a JSON string, no number", [&] { job.number("job.model.name"); });
  expect_error(2, "is asked of what is no object", [&] { job.number("performance.mfu.a"); });
}

TEST(Library, AnErrorHasTheProgramsMessageAndStatus) {
  expect_error(2, "unknown option --clutser; did you mean --cluster?",
               [] { simulate({"llama3-8b"}, {{"clutser", "hgx-h100"}}); });
  expect_error(2, "is an option, no file", [] { simulate({"--explain"}); });
  expect_error(2, "'record' is no command of the library", [] { command("record", {}); });
  expect_error(2, "did you mean simulate?", [] { command("simulat", {}); });
  expect_error(2, "there is no document", [] { simulate({"llama3-8b"}, {{"settings", true}}); });
  expect_error(2, "help", [] { simulate({}, {{"help", true}}); });
}

TEST(Library, AnAnswerMayBeNo) {
  const Document job = simulate({"llama3-70b"}, {{"cluster", "hgx-h100"}, {"gpus", 8}});
  EXPECT_TRUE(job.answer_is_no());
  EXPECT_FALSE(job.truth("memory.fits"));
  EXPECT_FALSE(small_job().answer_is_no());
  const base::TestFolder temporary;
  const Document refused = sweep({temporary.put(
      "refused.yaml", "base: {model: llama3-8b, cluster: hgx-h100, gpus: 8}\naxes: {tp: [3]}\n")});
  EXPECT_TRUE(refused.answer_is_no());
  EXPECT_EQ(refused.text("rows[0].status"), "refused");
  EXPECT_FALSE(refused.notes().empty());
}

TEST(Library, OptionsAreWordsOfTheCommandLine) {
  EXPECT_EQ(Option("tp", 8).word(), "--tp=8");
  EXPECT_EQ(Option("tp", 8U).word(), "--tp=8");
  EXPECT_EQ(Option("inlet_c", 32.5).word(), "--inlet_c=32.5");
  EXPECT_EQ(Option("inlet_c", 0.1F).word().substr(0, 12), "--inlet_c=0.");
  EXPECT_EQ(Option("ranks", true).word(), "--ranks");
  EXPECT_EQ(Option("sequence-parallel", false).word(), "--no-sequence-parallel");
  EXPECT_EQ(Option("with", std::string("tp=8,pp=2")).word(), "--with=tp=8,pp=2");
}

TEST(Library, EveryCallAnswers) {
  const base::TestFolder temporary;
  const std::string folder = temporary.path("");
  const std::string run = folder + "job.run", study = folder + "study.yaml";
  std::ofstream(study) << "base: {model: llama3-8b, cluster: hgx-h100, gpus: 8}\n"
                          "axes: {tp: [2, 4]}\n";
  EXPECT_TRUE(explain("mfu", {"llama3-8b"}, kSmall).has("explain"));
  EXPECT_TRUE(optimize({"llama3-8b"}, {{"cluster", "hgx-h100"}, {"gpus", 8}, {"knobs", "caps"}})
                  .has("keeps"));
  simulate({"llama3-8b"}, {{"cluster", "hgx-h100"}, {"gpus", 8}, {"tp", 2}, {"run", run}});
  EXPECT_TRUE(analyze({run}).has("performance.step_time_s"));
  EXPECT_EQ(report({run}, folder + "job.html").size("runs"), 1);
  EXPECT_GT(compare({run}, {{"with", "tp=4"}}).size("causes"), 0);
  EXPECT_EQ(catalog({"show", "llama3-8b"}).text("name"), "llama3-8b");
  std::vector<std::string> shards;
  for (const char* shard : {"1/2", "2/2"}) {
    shards.push_back(fmt::format("{}{}.run", folder, shard[0]));
    EXPECT_EQ(sweep({study}, {{"shard", shard}, {"out", shards.back()}}).size("rows"), 1);
  }
  EXPECT_EQ(merge(shards, {{"out", folder + "all.run"}}).number("points"), 2);
}

TEST(Library, TheHostKeepsItsStreamsAndSignals) {
  const auto handler = [](int) {};
  const auto before = std::signal(SIGINT, handler);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Document found = search(
      {"llama3-8b"},
      {{"cluster", "hgx-h100"}, {"gpus", 8}, {"gbs", 16}, {"fix", "tp=8,pp=1,cp=1"}, {"top", 1}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::signal(SIGINT, before), +handler);
  EXPECT_EQ(found.size("best"), 1);
  EXPECT_FALSE(found.notes().empty());
  EXPECT_NE(small_job().summary().find("Step time"), std::string::npos);
}

TEST(Library, ThreadsMayAskAtOnce) {
  const std::string alone = small_job().json();
  std::vector<std::string> answers(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& answer : answers)
      threads.emplace_back([&answer] { answer = small_job().json(); });
  }
  for (const std::string& answer : answers) EXPECT_EQ(answer, alone);
}

Result<int> fail_a_check(const cli::Arguments&, const cli::Console&) {
  ERGOMETER_CHECK(1 + 1 == 3, "sums");
  return 0;
}

TEST(Library, OurBugsDoNotEndTheHost) {
  const cli::Command broken{
      "broken", "", "", "", "", 0, 0, [] { return std::vector<cli::Flag>(); }, fail_a_check};
  expect_error(70, "internal error", [&] { ask(broken, {}); });
}

}  // namespace
}  // namespace ergometer
