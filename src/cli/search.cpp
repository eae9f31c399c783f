#include "cli/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/search_output.h"
#include "cli/threads.h"
#include "search/search.h"

namespace ergometer::cli {
namespace {

using base::input_error;
using base::Result;
using search::Objective;

constexpr std::array<std::pair<std::string_view, Objective>, 6> kObjectives = {
    {{"time", Objective::kTime},
     {"energy", Objective::kEnergy},
     {"energy-delay", Objective::kEnergyDelay},
     {"cost", Objective::kCost},
     {"tokens-per-joule", Objective::kTokensPerJoule},
     {"memory", Objective::kMemory}}};

std::atomic<bool> g_stop = false;  // set by the signal handler alone
void stop_at_signal(int) { g_stop = true; }

Result<Objective> objective_of(std::string_view flag, const std::string& word) {
  std::vector<std::string_view> words;
  for (const auto& [name, objective] : kObjectives) {
    if (name == word) return objective;
    words.push_back(name);
  }
  return input_error(
      fmt::format("--{}: '{}' is not one of {}", flag, word, fmt::join(words, ", ")));
}

/// "tp=8,recompute_modules=core_attn,mlp": a word without "=" goes on with the value before it.
Result<void> add_fixed(const std::string& text, spec::Settings& settings) {
  std::string name, value;
  const auto set = [&]() -> Result<void> {
    if (name.empty()) return {};
    const spec::SettingInfo* info = spec::find_setting(name);
    if (info == nullptr) {
      std::vector<std::string_view> known;
      for (const spec::SettingInfo& setting : spec::setting_table())
        known.insert(known.end(), {setting.name, setting.short_name});
      const auto guess = base::nearest(name, known);
      return input_error(fmt::format("--fix: '{}' is not a setting{}", name,
                                     guess ? fmt::format("; did you mean {}?", *guess) : ""));
    }
    settings.set(info->name, value, {"--fix", std::string(name)});
    return {};
  };
  for (const std::string& part : base::split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos && name.empty())
      return input_error(fmt::format("--fix: '{}' is not KEY=VALUE, like tp=8", part));
    if (equals == std::string::npos) {
      value += ',' + part;
      continue;
    }
    ERGOMETER_TRY(set());
    name = part.substr(0, equals);
    value = part.substr(equals + 1);
  }
  return set();
}

Result<spec::Settings> settings_of(const Arguments& arguments) {
  spec::Settings settings;
  settings.set("model", arguments.words.front(), {"the command line", "MODEL"});
  for (const char* name : {"cluster", "global-batch-size", "seq-length"}) {
    const spec::SettingInfo* info = spec::find_setting(name);
    if (arguments.has(name))
      settings.set(info->name, arguments.value(name), {arguments.written.at(name), ""});
  }
  if (arguments.has("fix")) ERGOMETER_TRY(add_fixed(arguments.value("fix"), settings));
  if (settings.find("global_batch_size") == nullptr)
    return input_error("search: --gbs is missing: what batch are the layouts to divide?");
  return settings;
}

Result<double> positive(const Arguments& arguments, const char* name, const char* like) {
  if (!arguments.has(name)) return 0;
  const auto number = base::parse_number(arguments.value(name));
  if (!number || *number <= 0)
    return input_error(fmt::format("--{}: '{}' is not a positive number, like {}", name,
                                   arguments.value(name), like));
  return *number;
}

Result<search::SpaceOptions> space_options(const Arguments& arguments, spec::Settings& settings) {
  search::SpaceOptions options;
  for (const std::string& word : base::split(arguments.value("gpus"), ',')) {
    const auto number = base::parse_integer(word);
    if (!number || *number < 1)
      return input_error(fmt::format("--gpus: '{}' is not a number of GPUs", word));
    options.gpus.push_back(*number);
  }
  if (!options.gpus.empty())
    settings.set("gpus", std::to_string(options.gpus.front()), {"--gpus", ""});
  options.precisions = base::split(arguments.value("precisions"), ',');
  for (const std::string& word : base::split(arguments.value("lock-clocks"), ',')) {
    const auto number = base::parse_number(word);
    if (!number || *number <= 0)
      return input_error(fmt::format("--lock-clocks: '{}' is not a clock in MHz", word));
    options.lock_clocks_mhz.push_back(*number);
  }
  return options;
}

Result<void> read_shard(const std::string& text, search::SearchOptions& options) {
  if (text.empty()) return {};
  const std::vector<std::string> parts = base::split(text, '/');
  const auto index = base::parse_integer(parts.front());
  const auto count = parts.size() == 2 ? base::parse_integer(parts.back()) : index;
  if (parts.size() != 2 || !index || !count || *index < 1 || *index > *count)
    return input_error(fmt::format("--shard: '{}' is not a part like 1/4", text));
  options.shard = *index - 1;
  options.shards = *count;
  return {};
}

Result<search::SearchOptions> search_options(const Arguments& arguments) {
  search::SearchOptions options;
  ERGOMETER_ASSIGN(options.objective,
                   objective_of("objective", arguments.value("objective", "time")));
  for (const std::string& word : base::split(arguments.value("pareto"), ',')) {
    ERGOMETER_ASSIGN(const Objective objective, objective_of("pareto", word));
    options.pareto.push_back(objective);
  }
  const auto top = base::parse_integer(arguments.value("top", "10"));
  constexpr int64_t kMostTop = 1000;
  if (!top || *top < 1 || *top > kMostTop)
    return input_error(
        fmt::format("--top: '{}' is not a number from 1 to {}", arguments.value("top"), kMostTop));
  options.top = static_cast<size_t>(*top);
  ERGOMETER_ASSIGN(options.limits.most[0], positive(arguments, "max-step-time", "12.5"));
  ERGOMETER_ASSIGN(options.limits.most[1], positive(arguments, "max-power-w", "600"));
  ERGOMETER_ASSIGN(options.limits.most[2], positive(arguments, "max-gpu-c", "80"));
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  ERGOMETER_TRY(read_shard(arguments.value("shard"), options));
  return options;
}

/// Draws how many layouts are done; from any thread.
class Drawn {
 public:
  explicit Drawn(const Console& console) : console_(console) {}
  void at(size_t done, size_t all) {
    const std::scoped_lock lock(mutex_);
    if (!progress_) progress_.emplace(console_, "layouts", all);
    for (; drawn_ < done; ++drawn_) progress_->advance();
  }
  void clear() { progress_.reset(); }

 private:
  const Console& console_;
  std::mutex mutex_;
  std::optional<Progress> progress_;
  size_t drawn_ = 0;
};

}  // namespace

std::vector<Flag> search_flags() {
  using Takes = Flag::Takes;
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* short_name, const char* value,
                       const char* group, const char* help) {
    Flag flag;
    flag.name = name;
    flag.short_name = short_name;
    flag.takes = Takes::kValue;
    flag.value = value;
    flag.group = group;
    flag.help = help;
    flags.push_back(std::move(flag));
  };
  add("cluster", "", "CLUSTER", "job", "catalog name of a cluster or node kind, or a YAML file");
  add("gpus", "", "N,N,...", "job", "GPUs of the job; several numbers are all tried");
  add("global-batch-size", "gbs", "N", "job", "sequences of one step");
  add("seq-length", "seq", "N", "job", "tokens of a sequence");
  add("fix", "", "KEY=VALUE", "space",
      "a setting that is given, not searched: tp=8, precision=fp8, recompute=none");
  flags.back().repeats = true;
  add("precisions", "", "LIST", "space", "number formats to try: bf16,fp8");
  add("lock-clocks", "", "MHz,...", "space", "GPU clocks to try");
  add("objective", "", "time|energy|energy-delay|cost|tokens-per-joule", "answer",
      "what the best has least of (tokens per joule: most); cost: GPU time");
  for (const auto& [name, objective] : kObjectives) flags.back().choices.emplace_back(name);
  add("max-power-w", "", "W", "answer", "a GPU's mean power may not be more");
  add("max-gpu-c", "", "C", "answer", "the hottest GPU may not be hotter");
  add("max-step-time", "", "S", "answer", "a step may not take longer");
  add("pareto", "", "LIST", "answer", "also what no other candidate beats in all: time,energy");
  add("top", "", "N", "answer", "how many of the best are played and shown; 10");
  flags.push_back(threads_flag());
  flags.back().help = "threads; by default one a processor";
  add("settings", "", "megatron|nemo|torchtitan", "answer",
      "whose settings for the first are shown; megatron");
  add("shard", "", "I/N", "running", "only the I-th of N parts of the layouts");
  return flags;
}

base::Result<int> run_search(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(spec::Settings settings, settings_of(arguments));
  ERGOMETER_ASSIGN(const search::SpaceOptions space_choice, space_options(arguments, settings));
  ERGOMETER_ASSIGN(search::SearchOptions options, search_options(arguments));
  const auto framework = launch::framework_of(arguments.value("settings", "megatron"));
  if (!framework)
    return input_error(fmt::format("--settings: '{}' is not one of {}", arguments.value("settings"),
                                   launch::kFrameworkWords));
  const auto start = std::chrono::steady_clock::now();
  ERGOMETER_ASSIGN(const search::Space space, search::Space::make(settings, space_choice));
  Drawn drawn(console);
  options.progress = [&](size_t done, size_t all) { drawn.at(done, all); };
  options.stop = &g_stop;
  const auto before = std::signal(SIGINT, stop_at_signal);
  auto result = search::search(space, options);
  std::signal(SIGINT, before);
  drawn.clear();
  if (!result) return tl::unexpected(result.error());
  if (result->layouts == 0)
    return input_error(
        "search: no layout is legal: the batch, the sequence length or what is fixed rule out all");
  SearchAnswer answer{space, *result, {}, 0, *framework};
  if (!result->best.empty())
    answer.knobs = search::turn_knobs(space, result->best.front().found.candidate);
  answer.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  console.answer(arguments.has("json") ? search_json(answer) : search_text(answer));
  if (!arguments.has("json"))
    console.note(fmt::format(
        "{:.1f} s; {} candidates a second of processor time", answer.elapsed_s,
        base::format_count(static_cast<int64_t>(static_cast<double>(result->candidates) /
                                                std::max(result->estimate_s, 1e-9)))));
  return result->best.empty() ? static_cast<int>(base::ErrorKind::kNo) : 0;
}

}  // namespace ergometer::cli
