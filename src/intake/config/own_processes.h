#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "intake/reader/python_program.h"
#include "intake/reader/reading.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {

/// The GPUs that a variable lets a program see.
struct VisibleGpus {
  int64_t count = 0;  ///< 0: not known
  std::string said;   ///< "CUDA_VISIBLE_DEVICES=0,1"
};
/// By CUDA_VISIBLE_DEVICES, or AMD's variables of the same kind; nothing where none of them is set.
std::optional<VisibleGpus> visible_gpus(
    const std::map<std::string, std::string, std::less<>>& environment);

/// What a program in Python says of its own processes and GPUs.
struct OwnProcesses {
  int64_t started = 0;  ///< processes with a GPU each that it starts; 0: none, or not known
  std::string open;     ///< why the number that it starts, or sees, is not known
  std::string all;      ///< what starts one for every GPU of the node
  std::string one;      ///< what takes one GPU alone: "Unsloth"
  std::string spreads;  ///< what spreads one model's layers over GPUs: "device_map"
  spec::Origin from;    ///< of whichever of these
  std::optional<VisibleGpus> visible;
};
OwnProcesses own_processes(PythonProgram& program);

/// What is started without a launcher.
struct OneProcess {
  spec::Origin from;        ///< where it is started
  std::string name;         ///< "train.py"
  bool of_trainer = false;  ///< which spreads over all GPUs that it sees
  bool is_sure = true;      ///< false: a file alone, which a launcher may start as well
};
/// Sets or leaves open how many GPUs a job takes of which no launcher says so, and says it. Without
/// processes of its own that is one GPU, or all that it sees by the Trainer's nn.DataParallel
/// (transformers/training_args.py, _setup_devices).
void count_own_gpus(const OwnProcesses& own, const OneProcess& process, Reading& reading);

}  // namespace ergometer::intake
