#include "cli/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cli/threads.h"
#include "engine/simulate.h"
#include "report/job_json.h"
#include "report/summary_json.h"
#include "spec/matrix.h"
#include "spec/read.h"

namespace ergometer::cli {
namespace {

enum class Status { kOk, kDoesNotFit, kRefused };

std::string_view to_word(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kDoesNotFit: return "does-not-fit";
    case Status::kRefused: return "refused";
  }
  return "";
}

/// Configurations of two families may share their id.
std::string name_of(const spec::MatrixRow& row) {
  return row.family.empty() ? row.config_id : row.family + "/" + row.config_id;
}

struct Outcome {
  Status status = Status::kRefused;
  std::string reason;  ///< why not; empty when ok
  run::Run run;
};

Outcome predict(const spec::MatrixRow& row) {
  const auto refused = [](const base::Error& error) {
    return Outcome{Status::kRefused, error.message, {}};
  };
  if (row.refusal) return {Status::kRefused, *row.refusal, {}};
  const auto job = spec::resolve(row.settings);
  if (!job) return refused(job.error());
  auto run = engine::simulate(*job, {});
  if (!run) return refused(run.error());
  run->job_json = report::job_json(*job);
  const Status status = run->memory.fits ? Status::kOk : Status::kDoesNotFit;
  std::string reason = run->memory.advice;
  return {status, std::move(reason), std::move(*run)};
}

/// Every row by itself, so the outcome does not depend on who computed it when.
std::vector<Outcome> predict_all(const std::vector<spec::MatrixRow>& rows, size_t threads) {
  std::vector<Outcome> outcomes(rows.size());
  base::parallel_for(rows.size(), threads, [&](size_t i) { outcomes[i] = predict(rows[i]); });
  return outcomes;
}

std::string count_text(const std::vector<Outcome>& outcomes) {
  const auto count = [&](Status status) {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [&](const Outcome& o) { return o.status == status; });
  };
  return fmt::format("{} rows: {} ok, {} do not fit, {} refused", outcomes.size(),
                     count(Status::kOk), count(Status::kDoesNotFit), count(Status::kRefused));
}

/// What a refusal is about, for counting: the name of the defect that stands behind it in
/// parentheses, or the first key that it names.
std::string subject(const std::string& reason) {
  const size_t open = reason.rfind('(');
  if (reason.ends_with(')') && reason.find(' ', open) == std::string::npos)
    return reason.substr(open + 1, reason.size() - open - 2);
  const size_t file = reason.find(": ");
  const size_t start = file == std::string::npos ? 0 : file + 2;
  return reason.substr(start, reason.find_first_of(" :", start) - start);
}

std::map<std::string, int64_t> refusals(const std::vector<Outcome>& outcomes) {
  std::map<std::string, int64_t> counts;
  for (const Outcome& o : outcomes)
    if (o.status == Status::kRefused) ++counts[subject(o.reason)];
  return counts;
}

std::string refusals_text(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const auto& [what, count] : refusals(outcomes))
    text += fmt::format("  {:>5}  {}\n", count, what);
  return text.empty() ? text : "refused for\n" + text;
}

std::string to_text(const std::vector<spec::MatrixRow>& rows,
                    const std::vector<Outcome>& outcomes) {
  size_t width = 4;
  for (const spec::MatrixRow& row : rows) width = std::max(width, name_of(row).size());
  std::string out = fmt::format("{:<{}}  {:<12}  {:>9}  {:>9}  {:>10}  {}\n", "row", width,
                                "status", "step", "tokens/s", "memory", "reason");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Outcome& o = outcomes[i];
    const bool known = o.status != Status::kRefused;
    const run::Performance& p = o.run.performance;
    out += fmt::format("{:<{}}  {:<12}  {:>9}  {:>9}  {:>10}{}{}\n", name_of(rows[i]), width,
                       to_word(o.status), known ? base::format_seconds(p.step_time_s) : "-",
                       known ? base::format_count(std::llround(p.tokens_per_s)) : "-",
                       known ? base::format_binary_bytes(o.run.memory.peak_bytes) : "-",
                       o.reason.empty() ? "" : "  ", o.reason);
  }
  return out + count_text(outcomes) + '\n' + refusals_text(outcomes);
}

std::string to_json(const std::vector<spec::MatrixRow>& rows,
                    const std::vector<Outcome>& outcomes) {
  base::JsonWriter json;
  json.begin_object()
      .member("schema_version", run::kSchemaVersion)
      .member("summary", count_text(outcomes));
  json.key("refused_for").begin_object();
  for (const auto& [what, count] : refusals(outcomes)) json.member(what, count);
  json.end_object();
  json.key("rows").begin_array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Outcome& o = outcomes[i];
    json.begin_object().member("id", rows[i].config_id).member("family", rows[i].family);
    json.member("file", rows[i].yaml).member("status", to_word(o.status));
    if (!o.reason.empty()) json.member("reason", o.reason);
    if (!rows[i].notes.empty()) {
      json.key("notes").begin_array();
      for (const std::string& note : rows[i].notes) json.value(note);
      json.end_array();
    }
    if (o.status != Status::kRefused) json.key("run").raw(report::summary_json(o.run, false));
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

/// "charllm" is short for the study's matrix, "charllm-matrix".
base::Result<std::string> study_of(const std::string& word) {
  const auto known = [](const std::string& name) {
    return spec::find_in_catalog(spec::CatalogKind::kStudy, name) != nullptr;
  };
  std::error_code error;
  if (known(word) || std::filesystem::exists(word, error)) return word;
  if (known(word + "-matrix")) return word + "-matrix";
  std::string message = fmt::format("sweep: there is no study and no file '{}'", word);
  std::vector<std::string_view> studies = spec::catalog_names(spec::CatalogKind::kStudy);
  for (std::string_view& study : studies) {
    if (study.ends_with("-matrix")) study.remove_suffix(std::string_view("-matrix").size());
  }
  if (const auto guess = base::nearest(word, studies))
    message += fmt::format("; did you mean {}?", *guess);
  return base::input_error(message + " (all studies: ergometer catalog list studies)");
}

}  // namespace

std::vector<Flag> sweep_flags() { return {threads_flag()}; }

base::Result<int> run_sweep(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const std::string study, study_of(arguments.words.front()));
  ERGOMETER_ASSIGN(const std::vector<spec::MatrixRow> rows, spec::read_matrix(study));
  const std::vector<Outcome> outcomes = predict_all(rows, threads);
  console.answer(arguments.has("json") ? to_json(rows, outcomes) : to_text(rows, outcomes));
  return 0;
}

}  // namespace ergometer::cli
