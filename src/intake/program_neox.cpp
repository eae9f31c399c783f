#include <fmt/format.h>

#include "intake/config/neox.h"
#include "intake/program_reader.h"
#include "intake/programs/deepspeed_hosts.h"

// GPT-NeoX: `deepy.py train.py -d configs 6-9B.yml local_setup`, or its program with files.

namespace ergometer::intake {

std::vector<ShellText> ProgramReader::neox_files() const {
  const bool own = launch_.name == "deepy.py";
  std::vector<ShellText> files;
  std::string folder;
  for (size_t at = own ? 1 : 0; at < launch_.arguments.size(); ++at) {
    const auto& [word, line] = launch_.arguments[at];
    const bool named = word.ends_with(".yml") || word.ends_with(".yaml") || word.ends_with(".json");
    if (word == "-d" || names_[at] == "conf_dir") {
      const size_t equals = word.find('=');
      if (equals != word.npos)
        folder = word.substr(equals + 1);
      else if (at + 1 < launch_.arguments.size())
        folder = launch_.arguments[++at].text;
    } else if (named || (own && !word.starts_with('-'))) {
      files.push_back({named ? word : word + ".yml", line});
    }
  }
  for (ShellText& file : files)
    if (!folder.empty()) file.text = folder + "/" + file.text;
  return files;
}

int64_t ProgramReader::neox_gpus() const {
  const auto named = launch_.environment.find("DLTS_HOSTFILE");
  if (named == launch_.environment.end()) return 0;
  const std::string* written = written_file(run_.state, named->second);
  const auto text = written != nullptr ? Result<std::string>(*written)
                                       : text_of(named->second, launch_.line, "DLTS_HOSTFILE");
  return text ? deepspeed_gpus({*text, "", "", 0, 0}).value_or(0) : 0;
}

Result<Reading> ProgramReader::neox() const {
  std::vector<NeoxFile> files;
  for (const auto& [path, line] : neox_files()) {
    ERGOMETER_ASSIGN(std::string text, text_of(path, line, launch_.name));
    files.push_back({std::move(text), path});
  }
  const std::string where = run_.session.where(launch_.line);
  if (files.empty())
    return input_error("{}: {} is given no configuration file", where, launch_.name);
  ERGOMETER_ASSIGN(Reading reading, parse_neox(files));
  const BatchRequest& batch = run_.session.batch;
  if (launch_.gpus > 0 || reading.settings.find("gpus") != nullptr) return reading;
  if (const int64_t gpus = neox_gpus(); gpus > 0)
    reading.settings.set("gpus", std::to_string(gpus), {where, "the slots of its hostfile"});
  else if (batch.nodes > 0 && batch.gpus_per_node > 0)
    reading.settings.set("gpus", std::to_string(batch.nodes * batch.gpus_per_node),
                         {where, "nodes x GPUs of the batch"});
  else
    reading.open["gpus"] =
        fmt::format("{}: how many GPUs {} takes is not read; give --gpus", where, launch_.name);
  return reading;
}

}  // namespace ergometer::intake
