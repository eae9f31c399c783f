#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::launch {

/// Who starts processes on nodes.
enum class Scheduler : uint8_t { kSlurm, kSsh, kKubernetes };
inline constexpr std::string_view kSchedulerWords = "slurm, ssh, k8s";
std::optional<Scheduler> scheduler_of(std::string_view word);
std::string_view to_word(Scheduler scheduler);

/// How a node enters its container: pyxis (Slurm's srun does it), else `ergometer record` stays
/// outside and starts the container.
enum class Runtime : uint8_t { kPyxis, kApptainer, kDocker };

/// An environment variable that the training program needs and that no file may hold.
struct Secret {
  std::string variable;
  /// Of Kubernetes: the Secret and its key. Elsewhere the variable is taken from the environment of
  /// who submits.
  std::string secret, key;
};

/// What differs from cluster to cluster: a site file (YAML) with these names as keys, under the
/// options of the command line.
struct Site {
  Scheduler scheduler = Scheduler::kSlurm;
  std::string name = "ergometer";  ///< of the scheduler's jobs
  // Slurm
  std::string account, partition, time_limit;
  std::string gpu_request = "gpus-per-node";  ///< or "gres", "none": how GPUs are asked for
  std::vector<std::string> sbatch_arguments;  ///< further ones, "--qos=high"
  // ssh
  std::vector<std::string> hosts;
  // Kubernetes
  std::string namespace_name;
  std::string volume_claim, volume_path;  ///< a claim that all nodes mount, and where
  std::string folder;                     ///< this folder as pods see it
  std::string gpu_resource = "nvidia.com/gpu";
  /// Further ones of a pod, its network ports above all: {"rdma/hca": 8}. With any, pods may lock
  /// memory, which RDMA registers.
  std::map<std::string, int64_t> pod_resources;
  // Containers; of Kubernetes the image
  std::string container;
  Runtime runtime = Runtime::kPyxis;
  std::vector<std::string> mounts;
  // Programs and data, as nodes see them
  std::string ergometer = "ergometer";
  std::vector<std::string> torchrun = {"torchrun"};
  std::string framework, data, tokenizer;
  std::vector<std::string> record;  ///< further options of `ergometer record`
  std::map<std::string, std::string> environment;
  std::vector<Secret> secrets;
  int64_t port = 29500, clock_port = 9401;
};

/// Reads a site file over what `site` says. Input errors name file, line, key, found, allowed.
Result<void> read_site(const std::string& path, Site& site);
Result<void> parse_site(const std::string& text, const std::string& file, Site& site);

/// "NAME" or, of Kubernetes, "NAME=SECRET/KEY". A value is refused: it would stand in a file.
Result<Secret> parse_secret(Scheduler scheduler, std::string_view text);
/// Refuses names that are none and those of secrets.
Result<void> add_environment(const std::string& name, const std::string& value, Site& site);

/// Everything that cannot stand in the scheduler's own files, or that it needs and lacks.
Result<void> check_site(const Site& site);

}  // namespace ergometer::launch
