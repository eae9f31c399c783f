#include "cli/predict/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "cli/job/job_settings.h"
#include "cli/job/script_run.h"
#include "cli/job/user_files.h"
#include "report/decision/together_output.h"
#include "report/format.h"
#include "spec/catalog/read.h"
#include "together/together.h"

namespace ergometer::cli {
namespace {

/// A job's own cluster has no longer the kinds of nodes that it does without.
Result<void> check_nodes_alike(const spec::Settings& settings) {
  const spec::Settings::Value* named = settings.find("cluster");
  if (named == nullptr) return {};
  const auto cluster = spec::read_cluster(named->text);  // whose errors have a place later
  if (!cluster || cluster->groups.empty()) return {};
  return input_error("{} has nodes of several kinds; allowed: a cluster whose nodes are alike",
                     cluster->name);
}

Result<together::NamedJob> job_beside(const std::string& path, const Arguments& arguments,
                                      const Console& console) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return input_error("{}: there is no such file; together takes job files (*.yaml)", path);
  ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
  UserFiles files(console, context);
  ERGOMETER_TRY(files.add(path));
  spec::Settings options;
  if (arguments.has("cluster"))
    options.set("cluster", arguments.value("cluster"), {arguments.written.at("cluster"), ""});
  ERGOMETER_ASSIGN(const spec::Settings settings, files.settings(options));
  ERGOMETER_TRY(check_nodes_alike(settings));
  tell_job(settings, path, console);
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(settings));
  return together::NamedJob{path, std::move(job)};
}

/// The same file again is another job: "job.yaml (2)".
std::string name_of_file(const std::string& path, const std::vector<std::string>& words,
                         size_t number) {
  const auto place = std::count(words.begin(), words.begin() + static_cast<long>(number) + 1, path);
  return place == 1 ? path : fmt::format("{} ({})", path, place);
}

Result<std::vector<together::Place>> given_places(const Arguments& arguments) {
  std::vector<together::Place> places;
  if (!arguments.has("nodes")) return places;
  if (arguments.has("placement"))
    return input_error("--placement and --nodes both say where jobs lie; leave one of them out");
  for (const std::string& one : base::split(arguments.value("nodes"), ',')) {
    auto read = together::parse_place(one);
    if (!read) return input_error("--nodes: {}", read.error().message);
    places.push_back(*std::move(read));
  }
  if (places.size() != arguments.words.size())
    return input_error("--nodes: found {} for {}; allowed: one for each, in order",
                       report::counted(std::ssize(places), "place"),
                       report::counted(std::ssize(arguments.words), "job"));
  return places;
}

Result<together::TogetherOptions> together_options(const Arguments& arguments) {
  together::TogetherOptions options;
  if (arguments.value("placement") == "interleaved")
    options.placement = together::Placement::kInterleaved;
  ERGOMETER_ASSIGN(options.places, given_places(arguments));
  if (!arguments.has("feed")) return options;
  const auto feed_w = base::parse_measure(arguments.value("feed"), "W");
  if (!feed_w || *feed_w <= 0)
    return input_error("--feed: found \"{}\"; allowed: a power above 0, as 2 MW or 350 kW",
                       arguments.value("feed"));
  options.feed_w = *feed_w;
  return options;
}

}  // namespace

std::vector<Flag> together_flags() {
  std::vector<Flag> flags = {
      option("cluster", "CLUSTER", "input", "of all jobs, whatever their files say"),
      option(
          "placement", "packed|interleaved", "input",
          "jobs one behind the other on the cluster's nodes (default), or in turns; packed, jobs "
          "smaller than a node share nodes")
          .one_of({"packed", "interleaved"}),
      option(
          "nodes", "RANGES", "input",
          "once a job, in order: its nodes in the cluster, as 0-15 or 0-7+16-23, or its GPUs of a "
          "node, as 0:0-3")
          .repeated(),
      option("feed", "POWER", "power",
             "what all nodes together may draw at their plugs, as 2 MW: does it hold?")};
  add_script_flags(flags);
  return flags;
}

Result<int> run_together(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const together::TogetherOptions options, together_options(arguments));
  std::vector<together::NamedJob> jobs;
  for (size_t i = 0; i < arguments.words.size(); ++i) {
    const std::string& path = arguments.words[i];
    auto job = job_beside(path, arguments, console);
    if (!job && !base::contains(job.error().message, path))
      return input_error("{}: {}", path, job.error().message);
    if (!job) return tl::unexpected(std::move(job).error());
    job->name = name_of_file(path, arguments.words, i);
    jobs.push_back(*std::move(job));
  }
  ERGOMETER_ASSIGN(const together::Together of, together::play_together(jobs, options));
  console.answer(arguments.has("json") ? report::together_json(of) : report::together_text(of));
  const bool holds = !of.feed || of.feed->holds();
  return of.fits() && holds ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
