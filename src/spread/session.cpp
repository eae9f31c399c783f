#include "spread/session.h"

#include <fmt/format.h>

namespace ergometer::spread {
namespace {

Task task_of(const Work& work) {
  Task task;
  task.identity = fmt::format("{} {}", work.identity, to_text(work.shard));
  task.threads = work.threads;
  task.worker = work.worker;
  return task;
}

/// Of a shard's pieces those that the journal does not hold.
std::vector<size_t> take_finished(const Work& work, std::optional<Journal>& journal) {
  std::vector<size_t> missing;
  for (const size_t piece : pieces_of(work.shard, work.pieces)) {
    if (journal) {
      const auto found = journal->finished().find(piece);
      if (found != journal->finished().end() && work.take(piece, found->second)) continue;
    }
    missing.push_back(piece);
  }
  if (journal) journal->finished().clear();
  return missing;
}

}  // namespace

Result<Progress> run(Crew& crew, const Work& work) {
  Task task = task_of(work);
  Progress progress;
  if (!crew.leads()) {
    ERGOMETER_TRY(crew.run(task));
    return progress;
  }
  if (!work.out.empty()) {
    ERGOMETER_ASSIGN(Journal journal,
                     Journal::open(work.out + ".unfinished", work.kind, task.identity));
    progress.journal.emplace(std::move(journal));
  }
  task.pieces = take_finished(work, progress.journal);
  progress.left = task.pieces.size();
  progress.finished_before = pieces_of(work.shard, work.pieces).size() - progress.left;
  if (work.begin) work.begin(progress.left, progress.finished_before);
  task.stop = work.stop;
  task.done = [&](size_t piece, const std::string& answer) -> Result<void> {
    if (!work.take(piece, answer))
      return input_error("{}: a rank sent what cannot be read; are all ranks the same program?",
                         work.kind);
    if (progress.journal) ERGOMETER_TRY(progress.journal->append(piece, answer));
    --progress.left;
    if (work.advance) work.advance();
    return {};
  };
  ERGOMETER_TRY(crew.run(task));
  return progress;
}

}  // namespace ergometer::spread
