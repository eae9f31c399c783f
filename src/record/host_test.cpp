#include "record/host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/test_support.h"

namespace ergometer::record {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  };
}

TEST(Host, SaysWhatTheLauncherSet) {
  const auto facts = job_facts(environment(
      {{"SLURM_JOB_ID", "812"}, {"LOCAL_RANK", "3"}, {"WORLD_SIZE", ""}, {"HOME", "x"}}));
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].key, "slurm_job_id");
  EXPECT_EQ(facts[0].value, "812");
  EXPECT_EQ(facts[1].key, "local_rank");
  EXPECT_EQ(facts[1].value, "3");
}

TEST(Host, NamesTheFileByHostTimeAndJob) {
  setenv("TZ", "UTC", 1);
  // 2025-01-31 23:59:59 UTC
  constexpr int64_t kTime = 1738367999'000'000'000;
  EXPECT_EQ(default_file_name("node7", kTime, environment({})),
            "ergometer-node7-20250131T235959.run");
  EXPECT_EQ(default_file_name("node7", kTime,
                              environment({{"SLURM_JOB_ID", "812"}, {"SLURM_STEP_ID", "0"}})),
            "ergometer-812.0-node7-20250131T235959.run");
  EXPECT_EQ(default_file_name("node7", kTime, environment({{"SLURM_JOB_ID", "812"}})),
            "ergometer-812-node7-20250131T235959.run");
}

TEST(Host, TwoThatStartAtOnceHaveTwoFiles) {
  const base::TestFolder temporary;
  const std::string wanted = temporary.path("a.run");
  EXPECT_EQ(claim_file_name(wanted), wanted);
  EXPECT_EQ(claim_file_name(wanted), temporary.path("a-2.run"));
  EXPECT_EQ(claim_file_name(wanted), temporary.path("a-3.run"));
  const std::string nowhere = temporary.path("none/a.run");
  EXPECT_EQ(claim_file_name(nowhere), nowhere);
}

TEST(Host, HasAName) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_EQ(host_name().find('.'), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record
