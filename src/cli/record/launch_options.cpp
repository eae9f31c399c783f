#include "cli/record/launch_options.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/console/option_values.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "spec/catalog/read.h"
#include "spec/yaml/yaml_map.h"
#include "study/expand.h"

namespace ergometer::cli {
namespace {

using launch::Site;

constexpr int64_t kMostRuns = 1000;  ///< Slurm's MaxArraySize, by default, is 1001

Result<double> cooldown(const Arguments& arguments) {
  constexpr double kLongest = 86400;
  const auto seconds = parse_seconds(arguments.value("cooldown", "0"));
  if (!seconds || *seconds < 0 || *seconds > kLongest)
    return input_error("--cooldown: found '{}', allowed: a time such as 120s or 5m",
                       arguments.value("cooldown"));
  return std::ceil(*seconds);
}

/// With the option's name before the message.
template <class T>
Result<T> of_option(const char* name, Result<T> result) {
  if (!result) result.error().message = fmt::format("--{}: {}", name, result.error().message);
  return result;
}

/// "A=1,B=x,y": a piece without "=" belongs to the value before it.
Result<void> add_variables(const std::string& text, Site& site) {
  std::string name, value;
  for (const std::string& piece : base::split(text, ',')) {
    const size_t equals = piece.find('=');
    if (equals == std::string::npos && name.empty())
      return input_error("--env: found '{}', allowed: NAME=VALUE", piece);
    if (equals == std::string::npos) {
      value += ',' + piece;
    } else {
      name = piece.substr(0, equals);
      value = piece.substr(equals + 1);
    }
    ERGOMETER_TRY(of_option("env", launch::add_environment(name, value, site)));
  }
  return {};
}

/// A file with a host a line, or hosts between commas.
Result<std::vector<std::string>> hosts_of(const std::string& text) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(text, error)) return base::split(text, ',');
  constexpr size_t kMostBytes = 1 << 20;
  ERGOMETER_ASSIGN(const std::string lines, base::read_file(text, kMostBytes));
  std::vector<std::string> hosts;
  for (std::string line : base::split(lines, '\n')) {
    std::erase_if(line, [](unsigned char c) { return std::isspace(c) != 0; });
    if (!line.empty() && line.front() != '#') hosts.push_back(line);
  }
  return hosts;
}

Result<Site> site_of(const Arguments& arguments) {
  Site site;
  const auto scheduler = launch::scheduler_of(arguments.value("scheduler"));
  if (!scheduler)
    return input_error(
        arguments.has("scheduler")
            ? fmt::format("--scheduler: found '{}', allowed: {}", arguments.value("scheduler"),
                          launch::kSchedulerWords)
            : fmt::format("launch: --scheduler is missing; allowed: {}", launch::kSchedulerWords));
  site.scheduler = *scheduler;
  if (arguments.has("site")) ERGOMETER_TRY(launch::read_site(arguments.value("site"), site));
  site.name = arguments.value("name", site.name);
  site.account = arguments.value("account", site.account);
  site.partition = arguments.value("partition", site.partition);
  site.time_limit = arguments.value("time-limit", site.time_limit);
  site.container = arguments.value("container", site.container);
  if (arguments.has("hosts")) {
    ERGOMETER_ASSIGN(site.hosts, hosts_of(arguments.value("hosts")));
  }
  ERGOMETER_TRY(add_variables(arguments.value("env"), site));
  for (const std::string& text : base::split(arguments.value("secret"), ',')) {
    ERGOMETER_ASSIGN(launch::Secret secret,
                     of_option("secret", launch::parse_secret(site.scheduler, text)));
    site.secrets.push_back(std::move(secret));
  }
  ERGOMETER_TRY(launch::check_site(site));
  return site;
}

/// A mapping with a study's keys, which no job file has.
bool is_study_file(const std::string& path) {
  constexpr size_t kMostBytes = 4 << 20;
  const auto text = base::read_file(path, kMostBytes);
  if (!text) return false;
  const auto map = spec::YamlMap::parse(*text, path);
  return map && (map->has("base") || map->has("axes") || map->has("sets") || map->has("rows"));
}

bool is_study(const std::string& word) {
  const auto names = spec::catalog_names(spec::CatalogKind::kStudy);
  return base::contains(names, word) ||
         ((word.ends_with(".yaml") || word.ends_with(".yml")) && is_study_file(word));
}

Result<std::vector<launch::NamedJob>> jobs_of_study(const Arguments& arguments,
                                                    const Console& console) {
  const std::string& word = arguments.words.front();
  for (const Flag& flag : setting_flags())
    if (arguments.has(flag.name) && flag.name != "env")
      return input_error(
          "{}: is a setting of one job; {} is a study, whose file says it under `base`",
          arguments.written.at(flag.name), word);
  ERGOMETER_ASSIGN(study::Definition definition, study::read_definition(word));
  // Draws of silicon are the simulation's; real GPUs are what they are, and --repeats repeats.
  if (!definition.seeds.empty())
    console.note("{}: its seeds are of simulated GPUs; each job is taken once", word);
  definition.seeds.clear();
  ERGOMETER_ASSIGN(const study::Expansion expansion, study::expand(definition));
  std::vector<launch::NamedJob> jobs;
  for (const study::Point& point : expansion.points) {
    const std::string id = point.family.empty() ? point.id : point.family + "/" + point.id;
    if (point.refusal) return input_error("{}: {}: {}", word, id, *point.refusal);
    jobs.push_back({id, point.settings});
  }
  return jobs;
}

/// What a job is called in tables: its file's name, or its model's.
std::string name_of(const Arguments& arguments) {
  if (arguments.words.empty()) return "job";
  const std::filesystem::path path(arguments.words.front());
  return path.filename().string();
}

}  // namespace

std::vector<Flag> launch_option_flags() {
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* value, const char* group, const char* help) {
    flags.push_back(option(name, value, group, help));
  };
  add("for", "megatron|nemo|torchtitan", "launch", "the training program");
  flags.back().choices = {"megatron", "nemo", "torchtitan"};
  add("scheduler", "slurm|ssh|k8s", "launch", "who starts it on nodes");
  flags.back().choices = {"slurm", "ssh", "k8s"};
  flags.push_back(option("out", "FOLDER", "launch", "the folder to write").shortened("o"));
  add("steps", "N", "launch", "training steps of a run; 50");
  add("repeats", "N", "launch", "runs of every job; 1");
  add("order-seed", "N", "launch", "of the random order of runs; 1; 0: as the jobs are written");
  add("cooldown", "TIME", "launch", "rest between the end of a run and the next: 120s, 5m");
  add("submit", "", "launch", "Slurm: submit the runs that are not finished");
  add("collect", "FOLDER", "launch", "show what came back, beside what was predicted");
  add("site", "FILE", "site", "a YAML file with what is the same for all jobs");
  add("name", "NAME", "site", "of the scheduler's jobs; ergometer");
  add("account", "NAME", "site", "Slurm's account");
  add("partition", "NAME", "site", "Slurm's partition");
  add("hosts", "FILE", "site", "ssh: a host a line, or HOST,HOST");
  add("time-limit", "TIME", "site", "of a run, as Slurm takes it: 30, 2:00:00");
  add("container", "IMAGE", "site", "the container that trains");
  add("env", "NAME=VALUE", "site", "an environment variable; repeats");
  flags.back().repeats = true;
  add("secret", "NAME", "site",
      "a variable that comes from the environment, never from a file; k8s: NAME=SECRET/KEY");
  flags.back().repeats = true;
  flags.push_back(threads_flag());
  return flags;
}

Result<launch::PlanOptions> launch_options(const Arguments& arguments) {
  launch::PlanOptions options;
  const auto framework = launch::framework_of(arguments.value("for"));
  if (!framework)
    return input_error(
        arguments.has("for")
            ? fmt::format("--for: found '{}', allowed: {}", arguments.value("for"),
                          launch::kFrameworkWords)
            : fmt::format("launch: --for is missing; allowed: {}", launch::kFrameworkWords));
  options.framework = *framework;
  ERGOMETER_ASSIGN(options.site, site_of(arguments));
  ERGOMETER_ASSIGN(options.steps, whole_number(arguments, "steps", options.steps, 2, 1'000'000));
  ERGOMETER_ASSIGN(options.repeats,
                   whole_number(arguments, "repeats", options.repeats, 1, kMostRuns));
  ERGOMETER_ASSIGN(options.order_seed,
                   whole_number(arguments, "order-seed", options.order_seed, 0, 1'000'000'000));
  ERGOMETER_ASSIGN(options.cooldown_s, cooldown(arguments));
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  return options;
}

Result<std::vector<launch::NamedJob>> launch_jobs(const Arguments& arguments,
                                                  const Console& console) {
  std::vector<launch::NamedJob> jobs;
  if (!arguments.words.empty() && is_study(arguments.words.front())) {
    ERGOMETER_ASSIGN(jobs, jobs_of_study(arguments, console));
  } else {
    if (!names_job(arguments))
      return input_error(
          "launch: JOB or STUDY is missing; usage: ergometer launch FILE...|STUDY.yaml --for "
          "FRAMEWORK --scheduler SCHEDULER --out FOLDER");
    ERGOMETER_ASSIGN(spec::Settings settings, gather_settings(arguments, console));
    tell_job(settings, "", console);
    jobs.push_back({name_of(arguments), std::move(settings)});
  }
  if (jobs.empty()) return input_error("launch: the study has no jobs");
  ERGOMETER_ASSIGN(const int64_t repeats, whole_number(arguments, "repeats", 1, 1, kMostRuns));
  if (static_cast<int64_t>(jobs.size()) * repeats > kMostRuns)
    return input_error("launch: {} jobs x {} repeats are more than {} runs", jobs.size(), repeats,
                       kMostRuns);
  return jobs;
}

}  // namespace ergometer::cli
