#include "record/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "record/clock.h"

namespace ergometer::record {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<run::Recording::Fact> job_facts(const Environment& environment) {
  constexpr std::array kNames = {"SLURM_JOB_ID",         "SLURM_JOB_NAME",
                                 "SLURM_STEP_ID",        "SLURM_NODEID",
                                 "SLURM_PROCID",         "SLURM_NNODES",
                                 "SLURM_NTASKS",         "SLURM_JOB_NODELIST",
                                 "SLURM_CLUSTER_NAME",   "RANK",
                                 "LOCAL_RANK",           "WORLD_SIZE",
                                 "GROUP_RANK",           "NODE_RANK",
                                 "LOCAL_WORLD_SIZE",     "CUDA_VISIBLE_DEVICES",
                                 "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"};
  std::vector<run::Recording::Fact> facts;
  for (const char* name : kNames) {
    if (const std::string value = environment(name); !value.empty())
      facts.push_back({base::lower(name), value});
  }
  return facts;
}

std::string default_file_name(const std::string& host, int64_t time_ns,
                              const Environment& environment) {
  const time_t seconds = time_ns / kNsPerSecond;
  tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> time{};
  strftime(time.data(), time.size(), "%Y%m%dT%H%M%S", &local);
  std::string job = environment("SLURM_JOB_ID");
  const std::string step = environment("SLURM_STEP_ID");
  if (!job.empty()) job += (step.empty() ? "" : "." + step) + "-";
  return fmt::format("ergometer-{}{}-{}.run", job, host, time.data());
}

std::string claim_file_name(const std::string& wanted) {
  const std::string stem = wanted.substr(0, wanted.rfind('.'));
  const std::string ending = wanted.substr(stem.size());
  std::string name = wanted;
  for (int number = 2;; ++number) {
    const int file = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) close(file);
    // What else stands in the way is for who writes the file to say.
    if (file >= 0 || errno != EEXIST) return name;
    name = fmt::format("{}-{}{}", stem, number, ending);
  }
}

}  // namespace ergometer::record
