#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "intake/launcher_options.h"
#include "intake/shell_launch.h"

// What Slurm sets for a script with #SBATCH lines.

namespace ergometer::intake {
namespace {

/// Words of "#SBATCH --nodes=4 -J x  # comment".
void read_batch_lines(const std::string& script, ShellSession& session, LauncherCounts& counts) {
  for (std::string& line : base::split(script, '\n')) {
    // Slurm reads up to the first command.
    if (line.find_first_not_of(" \t") != line.npos && !line.starts_with('#')) break;
    if (!line.starts_with("#SBATCH")) continue;
    session.is_batch = true;
    std::vector<ShellText> words;
    for (const std::string& part : base::split(line.substr(7), ' ')) {
      if (part.starts_with('#')) break;
      for (const std::string& word : base::split(part, '\t'))
        if (!word.empty()) words.push_back({word, 0});
    }
    for (size_t at = 0; at < words.size(); ++at) read_slurm_option(words, at, counts);
  }
}

}  // namespace

void set_batch_variables(const std::string& script, const std::vector<ShellText>& words,
                         ShellSession& session, ShellState& state) {
  LauncherCounts counts;
  read_batch_lines(script, session, counts);
  if (!words.empty() && file_name(words.front().text) == "sbatch") {
    session.is_batch = true;
    for (size_t at = 1; at < words.size() && !is_script(words[at].text); ++at)
      read_slurm_option(words, at, counts);
  }
  if (!session.is_batch || (!words.empty() && file_name(words.front().text) != "sbatch")) return;
  BatchRequest& batch = session.batch;
  const auto given = [&](const char* name) -> int64_t {
    const auto it = state.variables.find(std::string_view(name));
    return !session.given.contains(name) || it == state.variables.end() || it->second.items.empty()
               ? 0
               : launcher_number(it->second.items.front().text);
  };
  const auto take = [&](const std::string& text, std::initializer_list<const char*> names) {
    int64_t value = 0;
    for (const char* name : names)
      if (value == 0) value = given(name);
    if (value == 0) value = launcher_number(text);
    if (value == 0) return value;
    for (const char* name : names)
      if (given(name) == 0) export_variable(name, std::to_string(value), state);
    return value;
  };
  batch.nodes = take(counts.nodes, {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
  batch.tasks_per_node = take(counts.tasks_per_node, {"SLURM_NTASKS_PER_NODE"});
  batch.gpus_per_node = take(counts.gpus_per_node, {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"});
  batch.gpus = take(counts.gpus, {"SLURM_GPUS"});
  const int64_t tasks = launcher_number(counts.tasks);
  batch.tasks = take(tasks > 0 ? counts.tasks
                     : batch.nodes > 0 && batch.tasks_per_node > 0
                         ? std::to_string(batch.nodes * batch.tasks_per_node)
                         : "",
                     {"SLURM_NTASKS", "SLURM_NPROCS"});
  if (batch.nodes > 0 && batch.gpus > 0 && batch.gpus_per_node == 0)
    batch.gpus_per_node = batch.gpus / batch.nodes;
}

void set_batch_of_environment(ShellRun& run) {
  const auto value = [&](const char* name) -> int64_t {
    const auto it = run.state.variables.find(std::string_view(name));
    return it == run.state.variables.end() || it->second.items.empty()
               ? 0
               : launcher_number(it->second.items.front().text);
  };
  BatchRequest& batch = run.session.batch;
  if (batch.nodes == 0) batch.nodes = std::max(value("SLURM_JOB_NUM_NODES"), value("SLURM_NNODES"));
  if (batch.tasks == 0) batch.tasks = std::max(value("SLURM_NTASKS"), value("SLURM_NPROCS"));
  if (batch.gpus_per_node == 0) batch.gpus_per_node = value("SLURM_GPUS_ON_NODE");
}

}  // namespace ergometer::intake
