#include "launch/site.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::launch {
namespace {

std::string error_of(const std::string& text, Scheduler scheduler = Scheduler::kSlurm) {
  Site site;
  site.scheduler = scheduler;
  const auto read = parse_site(text, "site.yaml", site);
  if (!read) return read.error().message;
  return base::error_of(check_site(site));
}

TEST(Site, ReadsEverything) {
  Site site;
  const auto read = parse_site(
      "account: chips\npartition: h100\ntime_limit: 2:00:00\ngpu_request: none\n"
      "sbatch_arguments: [--qos=high, --constraint=ib]\nframework: /shared/Megatron LM\n"
      "torchrun: [python, -m, torch.distributed.run]\nrecord: [--hz, '20']\n"
      "environment: {NCCL_DEBUG: WARN, NCCL_IB_HCA: 'mlx5_0,mlx5_1'}\nsecrets: [HF_TOKEN]\n"
      "container: /images/a.sqsh\ncontainer_runtime: apptainer\nclock_port: 0\n",
      "site.yaml", site);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(check_site(site));
  EXPECT_EQ(site.sbatch_arguments, (std::vector<std::string>{"--qos=high", "--constraint=ib"}));
  EXPECT_EQ(site.torchrun.size(), 3U);
  EXPECT_EQ(site.environment.at("NCCL_IB_HCA"), "mlx5_0,mlx5_1");
  EXPECT_EQ(site.secrets.at(0).variable, "HF_TOKEN");
  EXPECT_EQ(site.runtime, Runtime::kApptainer);
  EXPECT_EQ(site.clock_port, 0);
}

TEST(Site, PodResources) {
  Site site;
  ASSERT_TRUE(parse_site("pod_resources: {rdma/hca: 8, hugepages-2Mi: 1}\n", "site.yaml", site));
  EXPECT_EQ(site.pod_resources,
            (std::map<std::string, int64_t>{{"hugepages-2Mi", 1}, {"rdma/hca", 8}}));
  for (const char* bad : {"pod_resources: 8\n", "pod_resources: {rdma/hca: 0}\n",
                          "pod_resources: {rdma/hca: some}\n", "pod_resources: {'a b': 1}\n"})
    EXPECT_NE(error_of(bad).find("allowed: "), std::string::npos) << bad << error_of(bad);
}

TEST(Site, NamesFileLineAndKey) {
  EXPECT_EQ(error_of("account: a\npartitions: b\n").substr(0, 13), "site.yaml:2: ");
  EXPECT_NE(error_of("account: a\npartitions: b\n").find("partition"), std::string::npos);
  EXPECT_NE(error_of("environment:\n  MY_API_KEY: abc\n").find("--secret MY_API_KEY"),
            std::string::npos);
  EXPECT_NE(error_of("time_limit: soon\n").find("[DAYS-]HH:MM:SS"), std::string::npos);
  EXPECT_NE(error_of("sbatch_arguments: [--array=1-3]\n").find("not --array"), std::string::npos);
  EXPECT_NE(error_of("sbatch_arguments: [--wrap=curl x]\n").find("or --wrap"), std::string::npos);
  EXPECT_NE(error_of("sbatch_arguments: [--wr=curl x]\n").find("or --wrap"), std::string::npos);
  EXPECT_NE(error_of("account: 'a b'\n").find("'a b'"), std::string::npos);
  EXPECT_NE(error_of("hosts: ['-oProxyCommand=x']\n", Scheduler::kSsh).find("hosts"),
            std::string::npos);
}

TEST(Site, RefusesWhatIsOfAnotherForm) {
  EXPECT_EQ(error_of("hosts: one\n", Scheduler::kSsh),
            "site.yaml:1: hosts: found \"one\"; allowed: a list of texts, as [one, two]");
  for (const char* bad : {"torchrun: torchrun --x\n", "record: {hz: 20}\n", "secrets: HF_TOKEN\n",
                          "mounts: [[/a, /b]]\n", "environment: A=1\n", "environment: [A]\n",
                          "environment: {A: {B: 1}}\n", "environment: {A: [1, 2]}\n"})
    EXPECT_NE(error_of(bad).find("allowed: "), std::string::npos) << bad << error_of(bad);
  for (const char* secret : {"SSH_KEY", "DB_PASS", "NETRC_AUTH"})
    EXPECT_NE(error_of(std::string("environment: {") + secret + ": a}\n").find("--secret"),
              std::string::npos);
}

TEST(Site, TimeLimitsAsSlurmTakesThem) {
  for (const char* good : {"30", "30:00", "2:00:00", "1-12", "1-12:30:00"})
    EXPECT_EQ(error_of(std::string("time_limit: \"") + good + "\"\n"), "") << good;
  for (const char* bad : {"1h", "2:00:00:00", ":30", "30:", "1-", "-5"})
    EXPECT_NE(error_of(std::string("time_limit: \"") + bad + "\"\n"), "") << bad;
}

/// A value is never repeated: the message may stand in a log.
TEST(Secret, IsNamedAndNeverHeld) {
  EXPECT_TRUE(parse_secret(Scheduler::kSlurm, "HF_TOKEN"));
  const auto value = parse_secret(Scheduler::kSlurm, "HF_TOKEN=hf_secretvalue");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message.find("hf_secretvalue"), std::string::npos);
  const auto named = parse_secret(Scheduler::kKubernetes, "HF_TOKEN=hugging-face/token");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->secret, "hugging-face");
  EXPECT_EQ(named->key, "token");
  const auto unnamed = parse_secret(Scheduler::kKubernetes, "HF_TOKEN=hf_secretvalue");
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().message.find("hf_secretvalue"), std::string::npos);
}

/// Nor is one that stands in an address.
TEST(Secret, IsNoPartOfAnAddress) {
  for (const char* text : {"environment: {PROXY: \"http://me:word@host:80\"}\n",
                           "sbatch_arguments: [\"--comment=http://me:word@host\"]\n"}) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find("holds a password"), std::string::npos) << text;
    EXPECT_EQ(error.find("me:word"), std::string::npos) << error;
  }
}

TEST(Kubernetes, SaysWhatItLacks) {
  EXPECT_NE(error_of("container: a\n", Scheduler::kKubernetes).find("volume_claim"),
            std::string::npos);
  const std::string all = "container: a\nvolume_claim: c\nvolume_path: /s\nfolder: /s/f\n";
  EXPECT_EQ(error_of(all, Scheduler::kKubernetes), "");
  EXPECT_NE(error_of(all + "name: Upper\n", Scheduler::kKubernetes), "");
  EXPECT_NE(error_of(all + "name: 7b\n", Scheduler::kKubernetes), "");
}

}  // namespace
}  // namespace ergometer::launch
