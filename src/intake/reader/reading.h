#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

/// What users have for running a job, launch scripts and configuration files of frameworks, read
/// into settings.
namespace ergometer::intake {

/// Something in a user's file that did not become a setting.
struct Leftover {
  enum class Kind {
    kUnknown,      ///< no option of this framework that is known here; perhaps misspelt
    kNotModelled,  ///< changes time, memory or power, and is not part of the prediction
    kNoEffect      ///< changes neither
  };
  Kind kind = Kind::kNoEffect;
  std::string name;   ///< as written: "--save-interval", "model.flash_mode"
  std::string where;  ///< "train.sh:12"
  /// kUnknown: the name that was perhaps meant, or empty. kNotModelled: what it would change,
  /// "memory: states of the optimizer are on the host".
  std::string says;
};

/// What a file said.
struct Reading {
  spec::Settings settings;
  /// What the framework does where the file says nothing: weaker than what any other file says.
  spec::Settings defaults;
  /// What holds where no framework's default does either: weaker than every file's defaults.
  spec::Settings fallbacks;
  std::string form;  ///< "a DeepSpeed configuration"
  std::vector<Leftover> leftovers;
  /// Settings that the file has without saying what they are, with why ("train.sh:4: how many GPUs
  /// are used: ..."): they are to be given beside it.
  std::map<std::string, std::string, std::less<>> open;
  /// Settings of which the file says nothing, with what that means: told where nobody else says
  /// them.
  std::map<std::string, std::string, std::less<>> unsaid;
  int64_t node_gpus = 0;       ///< of each of several nodes, as its launcher says; 0: it does not
  std::string node_gpus_from;  ///< "train.sh:4: torchrun --nnodes 2 --nproc_per_node 4"
  /// On how many nodes its launcher is to be started, as the launcher's file says; 0: it does not,
  /// or reaches the others from one.
  int64_t launchers = 0;
  std::vector<std::string> notes;  ///< what was assumed or taken from where, a sentence each
};

/// What the user says beside a script, so that it can be followed.
struct ScriptContext {
  std::map<std::string, std::string, std::less<>> environment;  ///< --env NAME=VALUE
  std::vector<std::string> arguments;                           ///< --script-args: $1, $2, ...
  std::vector<std::string> more;  ///< --script-adds: behind the program's own arguments
  int line = 0;  ///< --script-line: of several jobs the one started there; 0: the only one
};

}  // namespace ergometer::intake
