#include "study/session.h"

#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/output_file.h"
#include "run/study_json.h"
#include "study/facts.h"
#include "study/finish.h"

namespace ergometer::study {
namespace {

run::Run empty_run(const Definition& definition, const Expansion& expansion, const Facts& facts) {
  run::Run run;
  write_facts(facts, run);
  run::Study study;
  study.name = definition.name;
  study.title = definition.title;
  study.question = definition.question;
  study.axes = expansion.axes;
  run.study = std::move(study);
  return run;
}

/// The Run that stands at `out` already, when this study made it; nothing when there is none.
Result<std::optional<run::Run>> finished_run(const std::string& out, const Facts& facts) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(out));
  if (!is_run) return std::nullopt;
  ERGOMETER_ASSIGN(run::Run run, run::read_run(out));
  const auto made_by = read_facts(run);
  if (!made_by)
    return input_error("{}: is a Run, but not of a study; remove it or choose another name", out);
  if (made_by->fingerprint != facts.fingerprint)
    return input_error(
        "{}: was made by another study ({}), or by another version of this one or of "
        "the catalog; remove it or choose another name",
        out, run.study->name);
  if (made_by->shard.number != facts.shard.number || made_by->shard.count != facts.shard.count)
    return input_error("{}: holds shard {} of this study, not {}; choose another name", out,
                       spread::to_text(made_by->shard), spread::to_text(facts.shard));
  return run;
}

/// An `out` that cannot be written is said before the work, not after it.
Result<void> check_out(const std::string& out) {
  ERGOMETER_TRY(base::check_folder(out));
  ERGOMETER_ASSIGN(const std::filesystem::file_type type, base::file_type(out));
  if (type == std::filesystem::file_type::directory)
    return input_error("{}: is a folder; give the name of the Run file to write in it", out);
  ERGOMETER_ASSIGN(const std::string head, base::read_head(out, 1));
  if (!head.empty())
    return input_error("{}: exists and is not a Run; remove it first or choose another name", out);
  return {};
}

/// One piece a point, its answer the point as JSON, which becomes `points`.
spread::Work work_of(const Expansion& expansion, const SessionOptions& options, const Facts& facts,
                     std::vector<run::StudyPoint>& points) {
  spread::Work work;
  work.kind = "study";
  work.identity = facts.fingerprint;
  work.pieces = expansion.points.size();
  work.shard = options.shard;
  work.threads = options.threads;
  work.out = options.out;
  work.worker = [&expansion] {
    return [&expansion](size_t i) { return run::to_json(predict(expansion.points[i])); };
  };
  work.take = [&](size_t i, const std::string& answer) {
    auto point = run::study_point(answer);
    if (!point || point->id != expansion.points[i].id) return false;
    points[i] = *std::move(point);
    return true;
  };
  work.begin = options.begin;
  work.advance = options.advance;
  work.stop = options.stop;
  return work;
}

std::vector<std::string> sources_of(const Expansion& expansion, const Shard& shard) {
  std::vector<std::string> sources;
  for (const size_t i : spread::pieces_of(shard, expansion.points.size()))
    sources.push_back(expansion.points[i].source);
  return sources;
}

/// What follows from points is made afresh: a study file whose captions alone changed is the same
/// study.
Result<SessionResult> finish_again(const Definition& definition, const Expansion& expansion,
                                   const SessionOptions& options, run::Run finished) {
  std::remove((options.out + ".unfinished").c_str());
  std::vector<run::StudyPoint>& points = finished.study->points;
  const std::vector<size_t> positions = spread::pieces_of(options.shard, expansion.points.size());
  if (points.size() != positions.size())
    return input_error("{}: holds {} points of this study's {}; it is damaged", options.out,
                       points.size(), positions.size());
  if (options.begin) options.begin(0, points.size());
  SessionResult result;
  result.finished_before = points.size();
  for (size_t i = 0; i < points.size(); ++i) points[i].notes = expansion.points[positions[i]].notes;
  result.run = empty_run(definition, expansion,
                         {fingerprint(definition, expansion), definition.file, definition.text,
                          options.shard, expansion.points.size()});
  result.run.study->points = std::move(points);
  result.sources = sources_of(expansion, options.shard);
  if (options.shard.count == 1) finish(definition, *result.run.study);
  ERGOMETER_TRY(run::write_run(result.run, options.out));
  return result;
}

}  // namespace

Result<SessionResult> run_study(const Definition& definition, const Expansion& expansion,
                                const SessionOptions& options, spread::Crew& crew) {
  const Facts facts{fingerprint(definition, expansion), definition.file, definition.text,
                    options.shard, expansion.points.size()};
  std::vector<run::StudyPoint> points(expansion.points.size());
  const spread::Work work = work_of(expansion, options, facts, points);
  if (crew.leads() && !options.out.empty()) {
    ERGOMETER_ASSIGN(std::optional<run::Run> finished, finished_run(options.out, facts));
    if (finished) return finish_again(definition, expansion, options, *std::move(finished));
    ERGOMETER_TRY(check_out(options.out));
  }
  ERGOMETER_ASSIGN(spread::Progress progress, spread::run(crew, work));
  SessionResult result;
  if (!crew.leads()) return result;
  result.finished_before = progress.finished_before;
  result.left = progress.left;
  result.stopped = result.left > 0;
  result.run = empty_run(definition, expansion, facts);
  for (const size_t i : spread::pieces_of(options.shard, points.size()))
    result.run.study->points.push_back(std::move(points[i]));
  result.sources = sources_of(expansion, options.shard);
  if (result.stopped) return result;
  if (options.shard.count == 1) finish(definition, *result.run.study);
  if (!options.out.empty()) {
    ERGOMETER_TRY(run::write_run(result.run, options.out));
    progress.journal->remove();
  }
  return result;
}

}  // namespace ergometer::study
