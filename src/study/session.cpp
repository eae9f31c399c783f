#include "study/session.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "run/study_journal.h"
#include "study/facts.h"
#include "study/finish.h"

namespace ergometer::study {
namespace {

using base::Result;

/// Positions of a shard's points in the whole study.
std::vector<size_t> positions_of(const Shard& shard, size_t points) {
  std::vector<size_t> positions;
  for (size_t i = shard.number - 1; i < points; i += shard.count) positions.push_back(i);
  return positions;
}

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
  if (!run::is_run_file(out)) return std::nullopt;
  ERGOMETER_ASSIGN(run::Run run, run::read_run(out));
  const auto made_by = read_facts(run);
  if (!made_by)
    return base::input_error(
        fmt::format("{}: is a Run, but not of a study; remove it or choose another name", out));
  if (made_by->fingerprint != facts.fingerprint)
    return base::input_error(
        fmt::format("{}: was made by another study ({}), or by another version of this one or of "
                    "the catalog; remove it or choose another name",
                    out, run.study->name));
  if (made_by->shard.number != facts.shard.number || made_by->shard.count != facts.shard.count)
    return base::input_error(
        fmt::format("{}: holds shard {} of this study, not {}; choose another "
                    "name",
                    out, to_text(made_by->shard), to_text(facts.shard)));
  return run;
}

/// Predicts what the journal does not hold.
class Session {
 public:
  Session(const Expansion& expansion, const SessionOptions& options, run::StudyJournal* journal)
      : expansion_(expansion),
        options_(options),
        journal_(journal),
        positions_(positions_of(options.shard, expansion.points.size())) {}

  Result<SessionResult> predict_all() {
    SessionResult result;
    std::vector<run::StudyPoint> points(positions_.size());
    std::vector<size_t> missing = take_finished(points);
    result.finished_before = positions_.size() - missing.size();
    if (options_.begin) options_.begin(missing.size(), result.finished_before);
    ERGOMETER_TRY(predict_missing(missing, points, result.left));
    result.stopped = result.left > 0;
    result.run.study = run::Study{};
    result.run.study->points = std::move(points);
    return result;
  }

 private:
  std::vector<size_t> take_finished(std::vector<run::StudyPoint>& points) {
    std::vector<size_t> missing;
    for (size_t i = 0; i < positions_.size(); ++i) {
      const Point& point = expansion_.points[positions_[i]];
      if (journal_ != nullptr) {
        const auto found = journal_->finished().find(positions_[i]);
        if (found != journal_->finished().end() && found->second.id == point.id) {
          points[i] = std::move(found->second);
          continue;
        }
      }
      missing.push_back(i);
    }
    return missing;
  }

  Result<void> predict_missing(const std::vector<size_t>& missing,
                               std::vector<run::StudyPoint>& points, size_t& left) {
    std::vector<Point> jobs;
    for (const size_t i : missing) jobs.push_back(expansion_.points[positions_[i]]);
    std::optional<base::Error> problem;
    size_t done = 0;
    PredictOptions predicting;
    predicting.threads = options_.threads;
    std::mutex mutex;  // `stop` is asked by threads that are not in `done`
    predicting.done = [&](size_t job, const run::StudyPoint& point) {
      if (journal_ != nullptr) {
        auto kept = journal_->append(positions_[missing[job]], point);
        const std::lock_guard lock(mutex);
        if (!kept && !problem) problem = kept.error();
      }
      ++done;
      if (options_.advance) options_.advance();
    };
    predicting.stop = [&] {
      const std::lock_guard lock(mutex);
      return problem.has_value() || (options_.stop && options_.stop());
    };
    std::vector<run::StudyPoint> predicted = predict(jobs, predicting);
    for (size_t job = 0; job < missing.size(); ++job)
      points[missing[job]] = std::move(predicted[job]);
    left = missing.size() - done;
    if (problem) return tl::unexpected(*problem);
    return {};
  }

  const Expansion& expansion_;
  const SessionOptions& options_;
  run::StudyJournal* journal_;
  std::vector<size_t> positions_;
};

Result<void> check_folder(const std::string& out) {
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
  return base::input_error(fmt::format("{}: there is no folder {}", out, folder.string()));
}

/// An `out` that cannot be written is said before the work, not after it.
Result<std::optional<run::StudyJournal>> open_journal(const std::string& out, const Facts& facts) {
  if (out.empty()) return std::nullopt;
  ERGOMETER_TRY(check_folder(out));
  std::error_code ignored;
  if (std::filesystem::is_directory(out, ignored))
    return base::input_error(
        fmt::format("{}: is a folder; give the name of the Run file to write in it", out));
  if (std::filesystem::exists(out, ignored) && std::filesystem::file_size(out, ignored) > 0)
    return base::input_error(
        fmt::format("{}: exists and is not a Run; remove it first or choose another name", out));
  return run::StudyJournal::open(out + ".unfinished",
                                 fmt::format("{} {}", facts.fingerprint, to_text(facts.shard)));
}

std::vector<std::string> sources_of(const Expansion& expansion, const Shard& shard) {
  std::vector<std::string> sources;
  for (const size_t i : positions_of(shard, expansion.points.size()))
    sources.push_back(expansion.points[i].source);
  return sources;
}

/// What follows from points is made afresh: a study file whose captions alone changed is the same
/// study.
Result<SessionResult> finish_again(const Definition& definition, const Expansion& expansion,
                                   const SessionOptions& options, run::Run finished) {
  std::remove((options.out + ".unfinished").c_str());
  std::vector<run::StudyPoint>& points = finished.study->points;
  const std::vector<size_t> positions = positions_of(options.shard, expansion.points.size());
  if (points.size() != positions.size())
    return base::input_error(fmt::format("{}: holds {} points of this study's {}; it is damaged",
                                         options.out, points.size(), positions.size()));
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

Result<Shard> parse_shard(const std::string& text) {
  constexpr int64_t kMost = 100'000;
  const size_t slash = text.find('/');
  const auto number = base::parse_integer(text.substr(0, slash));
  const auto count = base::parse_integer(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (!number || !count || *number < 1 || *count > kMost || *number > *count)
    return base::input_error(fmt::format(
        "--shard: '{}' is not a part of a whole, like 1/4: a number from 1, a slash, how many",
        text));
  return Shard{static_cast<size_t>(*number), static_cast<size_t>(*count)};
}

Result<SessionResult> run_study(const Definition& definition, const Expansion& expansion,
                                const SessionOptions& options) {
  const Facts facts{fingerprint(definition, expansion), definition.file, definition.text,
                    options.shard, expansion.points.size()};
  if (!options.out.empty()) {
    ERGOMETER_ASSIGN(std::optional<run::Run> finished, finished_run(options.out, facts));
    if (finished) return finish_again(definition, expansion, options, *std::move(finished));
  }
  ERGOMETER_ASSIGN(std::optional<run::StudyJournal> journal, open_journal(options.out, facts));
  Session session(expansion, options, journal ? &*journal : nullptr);
  ERGOMETER_ASSIGN(SessionResult result, session.predict_all());
  std::vector<run::StudyPoint> points = std::move(result.run.study->points);
  result.run = empty_run(definition, expansion, facts);
  result.run.study->points = std::move(points);
  result.sources = sources_of(expansion, options.shard);
  if (result.stopped) return result;
  if (options.shard.count == 1) finish(definition, *result.run.study);
  if (!options.out.empty()) {
    ERGOMETER_TRY(run::write_run(result.run, options.out));
    journal->remove();
  }
  return result;
}

}  // namespace ergometer::study
