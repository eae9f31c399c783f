#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "intake/config/own_processes.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// What a Python program tells the Trainer.
struct TrainerProgram {
  spec::FlatYaml values;
  TrainerKind kind = TrainerKind::kPlain;
  bool takes_words = false;  ///< HfArgumentParser makes the Trainer's own arguments of them
  /// What the program changes once its words are read, so that they say nothing of it.
  std::set<std::string, std::less<>> changed;
  std::set<std::string, std::less<>> own;  ///< words that its own classes of arguments take
  OwnProcesses processes;
  std::map<std::string, std::string, std::less<>> open;  ///< as of Reading
  std::vector<std::string> notes;
  std::vector<Leftover> leftovers;
};
/// Refused: a Python program with a trainer of TRL's that generates answers.
Result<void> check_learns_from_texts(const std::string& text, const std::string& file);
Result<TrainerProgram> trainer_program(const std::string& text, const std::string& file,
                                       PythonStart start);
/// Adds what it leaves open, what the user should know, and what became no setting.
void add_findings(const TrainerProgram& program, Reading& reading);
/// What `TrainingArguments(...)`, `SFTConfig(...)`, `LoraConfig(...)` and `from_pretrained("...")`
/// are given in a Python file, as far as it is known without running it. What matters and is not
/// known is refused.
Result<Reading> parse_trainer_python(const std::string& text, const std::string& file,
                                     PythonStart start = {});

}  // namespace ergometer::intake
