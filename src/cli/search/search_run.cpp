#include "cli/search/search_run.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/console/crew.h"
#include "cli/console/progress.h"
#include "cli/console/stop_at_signal.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/search/scaling.h"
#include "cli/search/search.h"
#include "cli/search/search_output.h"
#include "engine/simulate.h"
#include "launch/launchable.h"
#include "optimize/files.h"
#include "search/estimates.h"
#include "search/search_file.h"
#include "search/what_if.h"
#include "spec/settings/in_full.h"

namespace ergometer::cli {
namespace {

using search::Estimates;

/// The layout of a job file that has one, on the engine.
std::optional<OwnLayout> own_layout(const SearchPlan& plan) {
  if (plan.settings.layout.all().empty()) return {};
  spec::Settings own = plan.settings.layout;
  own.merge(plan.settings.given);
  OwnLayout answer;
  const auto refuse = [&](const base::Error& error) {
    answer.refused = error.message;
    return answer;
  };
  auto job = spec::resolve(own);
  if (!job) return refuse(job.error());
  search::limit_memory(job->cluster, plan.space.max_memory_bytes);
  auto run = engine::simulate(*job, {});
  if (!run) return refuse(run.error());
  answer.played = search::Played{{}, *job, std::move(*run)};
  answer.played->found.gpus = job->gpus;
  return answer;
}

/// What runs differ in that search the same.
struct Where {
  spread::Shard shard;
  std::string out;
};

/// The file that stands at `out` already, when it is this search's; nothing when there is none. An
/// `out` that cannot be written is said before the work, not after it.
Result<std::optional<search::SearchFile>> finished_file(const SearchPlan& plan,
                                                        const Where& where) {
  ERGOMETER_TRY(base::check_folder(where.out));
  ERGOMETER_ASSIGN(const std::filesystem::file_type type, base::file_type(where.out));
  if (type == std::filesystem::file_type::not_found) return std::nullopt;
  ERGOMETER_ASSIGN(const bool is_search, search::is_search_file(where.out));
  if (!is_search)
    return input_error("{}: exists and is not a search's; remove it or choose another name",
                       where.out);
  ERGOMETER_ASSIGN(search::SearchFile file, search::read_search_file(where.out));
  if (file.identity != plan.identity || file.shard != where.shard)
    return input_error(
        "{}: was made by another search or shard, by another version of the program, "
        "or with other files; remove it or choose another name",
        where.out);
  return file;
}

Result<Estimates> read_estimates(const search::Space& space,
                                 const std::vector<search::Layout>& layouts,
                                 const search::SearchFile& file, const std::string& path) {
  auto estimates = search::parse_estimates(space, layouts, file.estimates);
  if (estimates) return *std::move(estimates);
  return input_error(
      "{}: is damaged: its estimates cannot be read; make it again with `ergometer search --out`",
      path);
}

Result<Estimates> make_estimates(const SearchPlan& plan, const search::Space& space,
                                 const Where& where, spread::Crew& crew, const Console& console) {
  std::optional<Progress> progress;
  search::Spreading spreading{where.shard, plan.identity, where.out, {}, {}};
  spreading.begin = [&](size_t missing, size_t finished) {
    if (finished > 0)
      console.note("{} of {} pieces were finished before; {} to go", finished, missing + finished,
                   missing);
    progress.emplace(console, "search", missing);
  };
  spreading.advance = [&] { progress->advance(); };
  return search::estimate(space, plan.options, spreading, crew);
}

Result<void> write_estimates(const SearchPlan& plan, const Where& where, Estimates& estimates,
                             const Console& console) {
  if (where.out.empty()) return {};
  if (estimates.left > 0) {
    console.note(
        "stopped; what is finished is in {}.unfinished, and the same command goes on from there",
        where.out);
    return {};
  }
  ERGOMETER_TRY(search::write_search_file(
      {plan.identity, where.shard, plan.words, search::to_text(estimates, true)}, where.out));
  if (estimates.journal) estimates.journal->remove();
  console.note("estimates written to {}", where.out);
  return {};
}

Result<int> show_shard(const Where& where, const Estimates& estimates, bool as_json,
                       const Console& console) {
  if (as_json) {
    base::JsonWriter json;
    json.begin_object().member("schema_version", run::kSchemaVersion);
    json.member("shard", spread::to_text(where.shard)).member("out", where.out);
    json.member("candidates", estimates.candidates).member("feasible", estimates.feasible);
    json.member("layouts", estimates.layouts).member("complete", estimates.left == 0);
    json.end_object();
    console.answer(json.take());
  } else {
    console.answer(fmt::format("shard {}: {} layouts, {} candidates, {} fit\n",
                               spread::to_text(where.shard), base::format_count(estimates.layouts),
                               base::format_count(estimates.candidates),
                               base::format_count(estimates.feasible)));
  }
  return estimates.left > 0 ? StopAtSignal::status() : 0;
}

/// The first of the answer, as `simulate` and `launch` read it.
Result<void> save_first(const SearchPlan& plan, const search::Space& space,
                        const search::SearchResult& result, const Console& console) {
  if (plan.save.empty() || result.best.empty()) return {};
  ERGOMETER_ASSIGN(
      const spec::Settings settings,
      spec::in_full(space.settings(result.best.front().found.candidate), result.best.front().job));
  ERGOMETER_TRY(base::write_file_atomically(plan.save, optimize::job_file(settings)));
  console.note("the first written to {}", plan.save);
  return {};
}

/// Whose settings are shown: those asked for, or of the framework that the job is for.
launch::Framework shown_framework(const SearchPlan& plan, const search::Space& space) {
  if (plan.framework) return *plan.framework;
  if (plan.launchable) return *plan.launchable;
  const spec::Job& job = space.bases().front().megatron;
  if (job.software.name.starts_with("nemo-1")) return launch::Framework::kNemo;
  return job.training.framework == spec::Framework::kTorchFsdp ? launch::Framework::kTorchtitan
                                                               : launch::Framework::kMegatron;
}

/// With what turning settings and more hardware would bring, where that is estimated.
Result<int> show_result(const SearchPlan& plan, const search::Space& space,
                        const search::SearchResult& result, bool as_json, const Console& console) {
  SearchAnswer answer{space, plan.options,     result, {},
                      {},    own_layout(plan), {},     shown_framework(plan, space)};
  if (result.best.empty() && result.complete && result.feasible == 0)
    answer.none = search::why_none(space);
  if (!result.best.empty() && !space.has_unlike_nodes()) {
    answer.knobs = search::turn_knobs(space, result.best.front().found.candidate);
    answer.what_if = search::what_if(space, plan.options, result);
  }
  console.answer(as_json ? search_json(answer) : search_text(answer, terminal_style(console.out)));
  ERGOMETER_TRY(save_first(plan, space, result, console));
  if (!result.complete) return StopAtSignal::status();
  return result.best.empty() ? static_cast<int>(base::ErrorKind::kNo) : 0;
}

Result<int> show_whole(const SearchPlan& plan, const search::Space& space,
                       const Estimates& estimates, bool as_json, const Console& console) {
  ERGOMETER_ASSIGN(const search::SearchResult result,
                   search::answer(space, plan.options, estimates));
  return show_result(plan, space, result, as_json, console);
}

/// Over all that the user waited for: the engine's play and what more would bring, too.
void note_rate(const Estimates& estimates, std::chrono::steady_clock::time_point start,
               const Console& console) {
  const double elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string text = fmt::format("{:.1f} s in all", elapsed_s);
  if (estimates.now > 0)
    text += fmt::format(
        "; {} candidates a second",
        base::format_count(static_cast<int64_t>(static_cast<double>(estimates.now) / elapsed_s)));
  console.note(text);
}

Result<int> search_with(const Arguments& arguments, spread::Crew& crew, const Console& console) {
  const auto start = std::chrono::steady_clock::now();
  ERGOMETER_ASSIGN(SearchPlan plan, search_plan(arguments, console));
  ERGOMETER_ASSIGN(plan.options.threads, thread_count(arguments, crew.processes_here()));
  ERGOMETER_ASSIGN(const spread::Shard shard, shard_of(arguments));
  const Where where{shard, arguments.value("out")};
  if (shard.count > 1 && where.out.empty())
    return input_error(
        "search: --shard makes a part that `ergometer merge` joins with the others; give it --out "
        "FILE");
  if (shard.count > 1 && !plan.save.empty())
    return input_error("search: --save writes the first of all; a shard has only its part's");
  ERGOMETER_TRY(base::check_folder(plan.save));
  ERGOMETER_ASSIGN(const std::optional<ScalingAsk> scaling, scaling_ask(arguments, plan.space));
  if (scaling)
    return crew.leads() ? run_scaling(plan, *scaling, arguments.has("json"), console) : 0;
  ERGOMETER_ASSIGN(const search::Space space, search::Space::make(plan.settings.given, plan.space));
  ERGOMETER_TRY(search::check_power(space, plan.options));
  if (plan.launchable)
    ERGOMETER_TRY(launch::check_model(*plan.launchable, space.bases().front().megatron.model));
  if (!space.has_layouts()) return input_error(no_layout_text(search::why_none(space)));
  if (space.has_unlike_nodes()) {
    if (!where.out.empty())
      return input_error(
          "search: --out keeps estimates, and on unlike nodes everything is played by the engine; "
          "leave it out");
    const StopAtSignal stop(console.hosted);
    plan.options.stop = &StopAtSignal::asked();
    if (!crew.leads()) return 0;
    ERGOMETER_ASSIGN(const search::SearchResult result, search::search(space, plan.options));
    return show_result(plan, space, result, arguments.has("json"), console);
  }
  std::optional<search::SearchFile> finished;
  if (crew.leads() && !where.out.empty()) {
    ERGOMETER_ASSIGN(finished, finished_file(plan, where));
  }
  const StopAtSignal stop(console.hosted);
  plan.options.stop = &StopAtSignal::asked();
  ERGOMETER_ASSIGN(Estimates estimates,
                   finished ? read_estimates(space, space.layouts(), *finished, where.out)
                            : make_estimates(plan, space, where, crew, console));
  if (!crew.leads()) return 0;
  if (!finished) ERGOMETER_TRY(write_estimates(plan, where, estimates, console));
  const bool as_json = arguments.has("json");
  if (shard.count > 1) return show_shard(where, estimates, as_json, console);
  ERGOMETER_ASSIGN(const int status, show_whole(plan, space, estimates, as_json, console));
  note_rate(estimates, start, console);
  return status;
}

/// The plan that made a file.
Result<SearchPlan> plan_of(const search::SearchFile& file, const std::string& path) {
  const auto arguments = parse_arguments(*find_command("search"), file.words);
  Console quiet;
  quiet.quiet = true;  // the search that made the file said it
  auto plan = arguments ? search_plan(*arguments, quiet) : tl::unexpected(arguments.error());
  if (!plan)
    return input_error("{}: its search cannot be made again here: {}", path, plan.error().message);
  if (plan->identity != file.identity)
    return input_error(
        "{}: was made by another version of the program, or its model, cluster or "
        "settings' files are not the same here; merge where it was made",
        path);
  return plan;
}

}  // namespace

Result<int> run_search(const Arguments& arguments, const Console& console) {
  return with_crew(arguments, console, [&](spread::Crew& crew, const Console& ours) {
    return search_with(arguments, crew, ours);
  });
}

Result<int> merge_searches(const std::vector<std::string>& paths, const Arguments& arguments,
                           const Console& console) {
  std::vector<search::SearchFile> files;
  std::vector<spread::NamedShard> shards;
  for (const std::string& path : paths) {
    ERGOMETER_ASSIGN(search::SearchFile file, search::read_search_file(path));
    if (!files.empty() && file.identity != files.front().identity)
      return input_error(
          "{} and {}: are of different searches, or of different "
          "versions of the program or its files",
          paths.front(), path);
    shards.push_back({path, file.shard});
    files.push_back(std::move(file));
  }
  ERGOMETER_ASSIGN(const std::vector<size_t> order, spread::in_order(shards));
  const search::SearchFile& first = files[order.front()];
  ERGOMETER_ASSIGN(SearchPlan plan, plan_of(first, paths[order.front()]));
  ERGOMETER_ASSIGN(plan.options.threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const search::Space space, search::Space::make(plan.settings.given, plan.space));
  const std::vector<search::Layout> layouts = space.layouts();
  std::vector<Estimates> parts;
  for (const size_t i : order) {
    ERGOMETER_ASSIGN(Estimates part, read_estimates(space, layouts, files[i], paths[i]));
    parts.push_back(std::move(part));
  }
  Estimates whole = search::join(space, plan.options, parts);
  const Where where{{}, arguments.value("out")};
  if (!where.out.empty()) {
    ERGOMETER_ASSIGN(const auto standing, finished_file(plan, where));
    if (!standing) ERGOMETER_TRY(write_estimates(plan, where, whole, console));
  }
  return show_whole(plan, space, whole, arguments.has("json"), console);
}

}  // namespace ergometer::cli
