#include "cli/search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "cli/console/crew.h"
#include "cli/console/option_values.h"
#include "cli/console/threads.h"
#include "cli/job/script_run.h"
#include "cli/search/scaling.h"
#include "launch/launchable.h"
#include "spec/files/fingerprint.h"

namespace ergometer::cli {
namespace {

constexpr std::array<std::pair<std::string_view, search::Objective>, 6> kObjectives = {
    {{"time", search::Objective::kTime},
     {"energy", search::Objective::kEnergy},
     {"energy-delay", search::Objective::kEnergyDelay},
     {"cost", search::Objective::kCost},
     {"tokens-per-joule", search::Objective::kTokensPerJoule},
     {"memory", search::Objective::kMemory}}};

Result<search::Objective> objective_of(std::string_view flag, const std::string& word) {
  std::vector<std::string_view> words;
  for (const auto& [name, objective] : kObjectives) {
    if (name == word) return objective;
    words.push_back(name);
  }
  return input_error("--{}: '{}' is not one of {}", flag, word, fmt::join(words, ", "));
}

Result<double> positive(const Arguments& arguments, const char* name, const char* like) {
  if (!arguments.has(name)) return 0;
  const auto number = base::parse_number(arguments.value(name));
  if (!number || *number <= 0)
    return input_error("--{}: '{}' is not a positive number, like {}", name, arguments.value(name),
                       like);
  return *number;
}

/// In their order, each once: what is named twice is tried once.
template <class T>
void add_once(const T& value, std::vector<T>& values) {
  if (!base::contains(values, value)) values.push_back(value);
}

Result<search::SpaceOptions> space_options(const Arguments& arguments, spec::Settings& settings) {
  search::SpaceOptions options;
  for (const std::string& word : base::split(arguments.value("gpus"), ',')) {
    const auto number = base::parse_integer(word);
    // "1,024" is no list of 1 and 24.
    if (!number || *number < 1 || word.starts_with('0'))
      return input_error(
          "--gpus: '{}' is not a number of GPUs; several are separated by "
          "commas, and one has none (1024)",
          word);
    add_once(*number, options.gpus);
  }
  if (!options.gpus.empty())
    settings.set("gpus", std::to_string(options.gpus.front()), {"--gpus", ""});
  for (const std::string& word : base::split(arguments.value("precisions"), ','))
    add_once(word, options.precisions);
  for (const std::string& word : base::split(arguments.value("lock-clocks"), ',')) {
    const auto number = base::parse_number(word);
    if (!number || *number <= 0)
      return input_error("--lock-clocks: '{}' is not a clock in MHz", word);
    add_once(*number, options.lock_clocks_mhz);
  }
  if (arguments.has("max-memory")) {
    const auto bytes = base::parse_measure(arguments.value("max-memory"), "B");
    if (!bytes || *bytes <= 0)
      return input_error("--max-memory: '{}' is not an amount of memory, like '40 GiB'",
                         arguments.value("max-memory"));
    options.max_memory_bytes = *bytes;
  }
  return options;
}

Result<search::SearchOptions> search_options(const Arguments& arguments) {
  search::SearchOptions options;
  options.simplest = true;
  ERGOMETER_ASSIGN(options.objective,
                   objective_of("objective", arguments.value("objective", "time")));
  for (const std::string& word : base::split(arguments.value("pareto"), ',')) {
    ERGOMETER_ASSIGN(const search::Objective objective, objective_of("pareto", word));
    options.pareto.push_back(objective);
  }
  ERGOMETER_ASSIGN(options.top, whole_number(arguments, "top", 10, 1, 1000));
  ERGOMETER_ASSIGN(options.limits.most[0], positive(arguments, "max-step-time", "12.5"));
  ERGOMETER_ASSIGN(options.limits.most[1], positive(arguments, "max-power-w", "600"));
  ERGOMETER_ASSIGN(options.limits.most[2], positive(arguments, "max-gpu-c", "80"));
  return options;
}

Result<std::optional<launch::Framework>> framework_flag(const Arguments& arguments,
                                                        const char* flag) {
  if (!arguments.has(flag)) return std::nullopt;
  const auto framework = launch::framework_of(arguments.value(flag));
  if (!framework)
    return input_error("--{}: '{}' is not one of {}", flag, arguments.value(flag),
                       launch::kFrameworkWords);
  return framework;
}

/// How it runs and how its answer looks: options that another run of the same search may have
/// otherwise.
bool says_how(std::string_view flag) {
  constexpr std::array<std::string_view, 6> kHow = {"json", "out",   "quiet",
                                                    "save", "shard", "threads"};
  return base::contains(kHow, flag);
}

std::vector<std::string> words_of(const Arguments& arguments) {
  std::vector<std::string> words = arguments.words;
  for (const auto& [name, value] : arguments.flags)
    if (!says_how(name)) words.push_back(fmt::format("{}={}", arguments.written.at(name), value));
  return words;
}

std::string identity_of(const Arguments& arguments, const SearchSettings& settings) {
  spec::Fingerprint fingerprint;
  fingerprint.add_program();
  for (const auto* part : {&settings.given, &settings.layout})
    for (const auto& [name, value] : part->all()) fingerprint.add_setting(name, value.text);
  for (const auto& [name, value] : arguments.flags)
    if (!says_how(name) && name != "settings") fingerprint.add(fmt::format("{}={}", name, value));
  return fingerprint.hex();
}

}  // namespace

std::vector<Flag> search_flags() {
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* value, const char* group, const char* help) {
    flags.push_back(option(name, value, group, help));
  };
  add("model", "MODEL", "job", "catalog name, config.json, or a folder that holds one");
  add("cluster", "CLUSTER", "job", "catalog name of a cluster or node kind, or a YAML file");
  add("gpus", "N,N,...", "job", "GPUs of the job; several numbers are all tried");
  flags.push_back(
      option("global-batch-size", "N", "job", "sequences of one step").shortened("gbs"));
  flags.push_back(option("seq-length", "N", "job", "tokens of a sequence").shortened("seq"));
  add("software", "NAME", "job", "framework and release, as simulate takes it");
  add("fix", "KEY=VALUE", "space",
      "a setting that is given, not searched: tp=8, precision=fp8, recompute=none; of a job file's "
      "layout: tp");
  flags.back().repeats = true;
  add("precisions", "LIST", "space", "number formats to try: bf16,fp8");
  add("lock-clocks", "MHz,...", "space", "GPU clocks to try");
  add("objective", "time|energy|energy-delay|cost|tokens-per-joule", "answer",
      "what the best has least of (tokens per joule: most); cost: GPU time");
  for (const auto& [name, objective] : kObjectives) flags.back().choices.emplace_back(name);
  add("max-power-w", "W", "answer", "a GPU's mean power may not be more");
  add("max-gpu-c", "C", "answer", "the hottest GPU may not be hotter");
  add("max-step-time", "S", "answer", "a step may not take longer");
  add("max-memory", "SIZE", "answer", "no rank may take more memory: '40 GiB'");
  add("pareto", "LIST", "answer", "also what no other candidate beats in all: time,energy");
  add("top", "N", "answer", "how many of the best are played and shown; 10");
  for (Flag& flag : scaling_flags()) flags.push_back(std::move(flag));
  flags.push_back(threads_flag());
  flags.back().help = "threads; by default one a processor";
  add("settings", "megatron|nemo|torchtitan", "answer",
      "whose settings for the first are shown; by default those of --launchable, else of "
      "--software");
  add("launchable", "megatron|nemo|torchtitan", "space",
      "only what `launch` writes for this framework and it runs as predicted");
  add("save", "FILE.yaml", "answer", "writes the first as a job file for simulate and launch");
  flags.push_back(shard_flag());
  flags.push_back(option("out", "FILE", "running",
                         "keeps estimates here as they come; the same command goes on")
                      .shortened("o"));
  add_script_flags(flags);
  add_run_flag(flags);
  return flags;
}

Result<SearchPlan> search_plan(const Arguments& arguments, const Console& console) {
  SearchPlan plan;
  ERGOMETER_ASSIGN(plan.settings, search_settings(arguments, console));
  ERGOMETER_ASSIGN(plan.space, space_options(arguments, plan.settings.given));
  ERGOMETER_ASSIGN(plan.options, search_options(arguments));
  ERGOMETER_ASSIGN(plan.framework, framework_flag(arguments, "settings"));
  ERGOMETER_ASSIGN(plan.launchable, framework_flag(arguments, "launchable"));
  if (plan.launchable) {
    launch::settle_software(*plan.launchable,
                            fmt::format("--launchable {}", arguments.value("launchable")),
                            plan.settings.given);
    plan.space.refuses = [framework = *plan.launchable](const spec::Job& job) {
      const auto checked = launch::check_layout(framework, job);
      return checked ? std::string() : checked.error().message;
    };
  }
  plan.save = arguments.value("save");
  plan.identity = identity_of(arguments, plan.settings);
  plan.words = words_of(arguments);
  return plan;
}

}  // namespace ergometer::cli
