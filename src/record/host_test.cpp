#include "record/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace ergometer::record {
namespace {

namespace fs = std::filesystem;

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
  const fs::path folder =
      fs::temp_directory_path() / ("ergometer-host-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string wanted = (folder / "a.run").string();
  EXPECT_EQ(claim_file_name(wanted), wanted);
  EXPECT_EQ(claim_file_name(wanted), (folder / "a-2.run").string());
  EXPECT_EQ(claim_file_name(wanted), (folder / "a-3.run").string());
  const std::string nowhere = (folder / "none" / "a.run").string();
  EXPECT_EQ(claim_file_name(nowhere), nowhere);
  fs::remove_all(folder);
}

TEST(Host, HasAName) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_EQ(host_name().find('.'), std::string::npos);
}

}  // namespace
}  // namespace ergometer::record
