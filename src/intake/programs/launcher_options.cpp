#include "intake/programs/launcher_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::intake {
namespace {

/// "gpu:8", "gpu:a100:8", "8", "a100:8"
std::string gpu_count_of_one(std::string text) {
  if (const size_t colon = text.rfind(':'); colon != text.npos) text = text.substr(colon + 1);
  return text == "gpu" ? "1" : text.substr(0, text.find('('));
}

/// "a100:4,v100:4" of several kinds together; of --gres what is a GPU: "nvme:100,gpu:8".
std::string gpu_count(const std::string& text, bool of_gres) {
  std::vector<std::string> counts;
  for (const std::string& part : base::split(text, ','))
    if (!of_gres || part.starts_with("gpu")) counts.push_back(gpu_count_of_one(part));
  if (counts.size() < 2) return counts.empty() ? gpu_count_of_one(text) : counts.front();
  int64_t all = 0;
  for (const std::string& count : counts) {
    if (launcher_number(count) == 0) return count;
    all += launcher_number(count);
  }
  return std::to_string(all);
}

}  // namespace

std::string_view file_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

bool is_script(std::string_view word) {
  return !word.starts_with('-') && (word.ends_with(".sh") || word.ends_with(".sbatch") ||
                                    word.ends_with(".slurm") || word.ends_with(".bash"));
}

std::optional<std::string> option_value(const std::vector<ShellText>& words, size_t& at,
                                        std::string_view name) {
  const std::string& word = words[at].text;
  const size_t equals = word.find('=');
  const std::string key = base::dashed(word.substr(0, equals));
  const bool is_long = key.starts_with("--");
  if (key == name) {
    if (equals != word.npos)
      return equals + 1 < word.size() ? word.substr(equals + 1) : "(nothing)";
    // `--nnodes $NNODES train.py` of a variable that is not set: the next word is not the value.
    const bool has_value = at + 1 < words.size() && !words[at + 1].text.starts_with("--") &&
                           !words[at + 1].text.ends_with(".py");
    return has_value ? words[++at].text : "(nothing)";
  }
  // -N4
  if (!is_long && name.size() == 2 && word.size() > 2 && word.starts_with(name) &&
      (word[2] == '=' || word[2] == '\x01' || (word[2] >= '0' && word[2] <= '9')))
    return word.substr(word[2] == '=' ? 3 : 2);
  return std::nullopt;
}

bool read_slurm_option(const std::vector<ShellText>& words, size_t& at, LauncherCounts& counts) {
  struct Option {
    std::string_view name;
    std::string LauncherCounts::* target;
  };
  static constexpr std::array kOptions = std::to_array<Option>({
      {"--nodes", &LauncherCounts::nodes},
      {"-N", &LauncherCounts::nodes},
      {"--ntasks", &LauncherCounts::tasks},
      {"-n", &LauncherCounts::tasks},
      {"--ntasks-per-node", &LauncherCounts::tasks_per_node},
      {"--tasks-per-node", &LauncherCounts::tasks_per_node},
      {"--gpus-per-node", &LauncherCounts::gpus_per_node},
      {"--gres", &LauncherCounts::gpus_per_node},
      {"--ntasks-per-gpu", &LauncherCounts::tasks_per_gpu},
      {"--gpus-per-task", &LauncherCounts::gpus_per_task},
      {"--gpus", &LauncherCounts::gpus},
      {"-G", &LauncherCounts::gpus},
  });
  for (const Option& option : kOptions) {
    if (auto value = option_value(words, at, option.name)) {
      if (option.name == "--gres" && !base::contains(*value, "gpu")) return false;
      const bool is_gpu = option.target == &LauncherCounts::gpus_per_node ||
                          option.target == &LauncherCounts::gpus ||
                          option.target == &LauncherCounts::gpus_per_task;
      counts.*option.target = is_gpu ? gpu_count(*value, option.name == "--gres") : *value;
      return true;
    }
  }
  return false;
}

int64_t LauncherCounts::tasks_of_gpus(int64_t on_nodes, int64_t gpus_of_node) const {
  const int64_t of_job = launcher_number(gpus), each = launcher_number(gpus_per_task);
  if (const int64_t per_gpu = launcher_number(tasks_per_gpu); per_gpu > 0)
    return per_gpu * (of_job > 0 ? of_job : on_nodes * gpus_of_node);
  return each > 0 ? of_job / each : 0;
}

const CountingOptions* counting_options(std::string_view launcher) {
  static const std::array kOptions = std::to_array<CountingOptions>({
      {"srun",
       {"--nodes", "--ntasks", "--ntasks-per-node", "--tasks-per-node", "--gpus-per-node", "--gres",
        "--ntasks-per-gpu", "--gpus-per-task", "--gpus"},
       {"--nodelist", "--nodefile", "--ntasks-per-core", "--ntasks-per-socket", "--gpus-per-socket",
        "--cpus-per-task", "--cpus-per-gpu", "--mem-per-cpu", "--mem-per-gpu", "--gres-flags"}},
      {"torchrun", {"--nnodes", "--nproc-per-node"}, {"--node-rank", "--no-python"}},
      {"deepspeed",
       {"--include", "--exclude", "--num-nodes", "--num-gpus", "--hostfile"},
       {"--node-rank", "--no-python", "--no-local-rank", "--no-ssh"}},
      {"composer", {"--world-size", "--nproc"}, {"--node-rank"}},
  });
  const auto it = std::ranges::find(kOptions, launcher, &CountingOptions::launcher);
  return it == kOptions.end() ? nullptr : &*it;
}

std::string spelt_out(const std::string& word, const CountingOptions& options, std::string& wrong) {
  const size_t end = std::min(word.find('='), word.size());
  const std::string name = base::dashed(word.substr(0, end));
  constexpr size_t kShortest = 4;
  if (name.size() < kShortest || !name.starts_with("--") || base::contains(options.count, name) ||
      base::contains(options.others, name))
    return word;
  std::vector<std::string_view> longer;
  for (const auto* list : {&options.count, &options.others})
    for (const std::string_view option : *list)
      if (option.starts_with(name)) longer.push_back(option);
  if (longer.size() == 1 && base::contains(options.count, longer.front()))
    return std::string(longer.front()) + word.substr(end);
  const auto near = base::nearest(name, options.count);
  constexpr size_t kFewestLetters = 6, kMostEdits = 2;
  const bool is_near =
      near && name.size() >= kFewestLetters + 2 && base::edit_distance(name, *near) <= kMostEdits;
  if (wrong.empty() && longer.empty() && is_near)
    wrong = fmt::format("{} is no option of {}; did you mean {}?", word.substr(0, end),
                        options.launcher, *near);
  return word;
}

int64_t launcher_number(const std::string& text) {
  const auto number = base::parse_integer(text);
  return number && *number > 0 && *number <= 10'000'000 ? *number : 0;
}

}  // namespace ergometer::intake
