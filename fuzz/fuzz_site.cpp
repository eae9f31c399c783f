// A site file for `ergometer launch`, of every scheduler: what passes its checks stands in scripts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "launch/site.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::launch;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Scheduler scheduler : {Scheduler::kSlurm, Scheduler::kSsh, Scheduler::kKubernetes}) {
    Site site;
    site.scheduler = scheduler;
    const auto read = parse_site(text, "site.yaml", site);
    if (!read && read.error().message.empty()) std::abort();
    if (!read || !check_site(site) || scheduler != Scheduler::kSlurm) continue;
    // One line each in a script, and nothing that a shell or Slurm would read as more.
    for (const std::string* word : {&site.account, &site.partition, &site.name, &site.time_limit})
      if (word->find_first_of(" \n\"'$`;&|") != std::string::npos) std::abort();
    for (const std::string& argument : site.sbatch_arguments)
      if (argument.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
