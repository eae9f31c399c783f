#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "base/text.h"
#include "intake/programs/launcher_options.h"
#include "intake/programs/shell_hosts.h"
#include "intake/script/inner_shell.h"
#include "intake/script/shell_launch.h"

// What Slurm, PBS and LSF set for a script with lines of theirs.

namespace ergometer::intake {
namespace {

/// Words behind "#SBATCH", without their quotes; "#SBATCH --nodes=4 -J x  # comment".
std::vector<ShellText> batch_words(std::string_view line) {
  std::vector<ShellText> words;
  std::string word;
  char quote = '\0';
  const auto end_word = [&] {
    if (!word.empty()) words.push_back({word, 0});
    word.clear();
  };
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (quote == '\0' && word.empty() && c == '#') break;
    if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else if (quote == '\0' && blank)
      end_word();
    else
      word += c;
  }
  end_word();
  return words;
}

/// What the lines of other batch systems set for their script: `#PBS -v TP=8,PP=4`, `#$ -v TP=8`,
/// `#BSUB -env "all, TP=8"`.
void export_of_line(const std::string& line, ShellState& state) {
  struct System {
    std::string_view mark, option;
  };
  for (const auto& [mark, option] : {System{"#PBS", "-v"}, {"#$", "-v"}, {"#BSUB", "-env"}}) {
    if (!line.starts_with(mark)) continue;
    const std::vector<ShellText> words = batch_words(std::string_view(line).substr(mark.size()));
    for (size_t at = 0; at + 1 < words.size(); ++at) {
      if (words[at].text != option) continue;
      std::string list = words[at + 1].text;
      std::erase(list, ' ');
      export_list(list, state);
    }
  }
}

bool started_by(const std::vector<ShellText>& words, std::string_view program) {
  return !words.empty() && file_name(words.front().text) == program;
}

struct BatchLines {
  LauncherCounts counts;
  std::optional<std::string> exports;  ///< what `--export` says
};

/// `words` are those of bsub or qsub, which are stronger than the script's lines; or others.
BatchLines read_batch_lines(const std::string& script, const std::vector<ShellText>& words,
                            ShellSession& session, ShellState& state) {
  BatchLines lines;
  BatchHosts hosts;
  for (std::string& line : base::split(script, '\n')) {
    // Slurm reads up to the first command.
    if (line.find_first_not_of(" \t") != line.npos && !line.starts_with('#')) break;
    export_of_line(line, state);
    for (const char* mark : {"#PBS", "#BSUB"})
      if (line.starts_with(mark))
        hosts.read(batch_words(line.substr(std::string_view(mark).size())), line[1] == 'P');
    if (!line.starts_with("#SBATCH")) continue;
    session.is_batch = true;
    std::vector<ShellText> said = batch_words(std::string_view(line).substr(7));
    // What follows is asked for by the other parts of a job.
    if (!said.empty() && (said.front().text == "hetjob" || said.front().text == "packjob")) break;
    for (size_t at = 0; at < said.size(); ++at) {
      said[at].text = spelt_out(said[at].text, *counting_options("srun"), session.misspelt);
      if (const auto list = option_value(said, at, "--export"))
        lines.exports = *list;
      else
        read_slurm_option(said, at, lines.counts);
    }
  }
  if (started_by(words, "bsub") || started_by(words, "qsub"))
    hosts.read(words, started_by(words, "qsub"));
  hosts.set(session, state);
  return lines;
}

/// Slurm numbers the GPUs that a job gets of a node; scripts count them.
void show_gpus(int64_t count, ShellState& state) {
  constexpr int64_t kMost = 128;
  if (count < 1 || count > kMost || state.variables.contains("CUDA_VISIBLE_DEVICES")) return;
  std::string numbers = "0";
  for (int64_t gpu = 1; gpu < count; ++gpu) numbers += fmt::format(",{}", gpu);
  export_variable("CUDA_VISIBLE_DEVICES", numbers, state);
}

}  // namespace

void set_batch_variables(const std::string& script, const std::vector<ShellText>& words,
                         ShellSession& session, ShellState& state) {
  const bool submits = started_by(words, "sbatch");
  const bool queues = started_by(words, "bsub") || started_by(words, "qsub");
  // Only who submits a script looks at its lines; what was given beside it is stronger.
  ShellState submitted;
  auto [counts, exports] = read_batch_lines(script, words, session, submitted);
  if (submits) {
    session.is_batch = true;
    for (size_t at = 1; at < words.size() && !is_script(words[at].text); ++at)
      if (option_value(words, at, "--export"))
        exports.reset();  // in place of the script's own
      else
        read_slurm_option(words, at, counts);
  }
  if (exports) export_list(*exports, submitted);
  if (words.empty() || submits || queues)
    for (const auto& [name, variable] : submitted.variables)
      if (!session.given.contains(name)) state.variables[name] = variable;
  state.files.insert(submitted.files.begin(), submitted.files.end());
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
  const int64_t by_node = batch.nodes * batch.tasks_per_node;
  batch.tasks = take(
      tasks > 0
          ? counts.tasks
          : std::to_string(by_node > 0 ? by_node
                                       : counts.tasks_of_gpus(batch.nodes, batch.gpus_per_node)),
      {"SLURM_NTASKS", "SLURM_NPROCS"});
  if (batch.nodes > 0 && batch.gpus > 0 && batch.gpus_per_node == 0)
    batch.gpus_per_node = batch.gpus / batch.nodes;
  show_gpus(batch.gpus_per_node, state);
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
