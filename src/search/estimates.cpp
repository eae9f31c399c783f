#include "search/estimates.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "search/estimate/pieces.h"
#include "search/play.h"
#include "search/worker.h"

namespace ergometer::search {
namespace {

bool is_of(std::span<const size_t> piece, const Found& found) {
  return std::ranges::binary_search(piece, static_cast<size_t>(found.number / kOptionsOfALayout));
}

/// Whether an answer can be this piece's: one that an older program left may be of other layouts.
bool is_of(std::span<const size_t> piece, const Estimates& part) {
  return part.layouts == static_cast<int64_t>(piece.size()) &&
         std::ranges::all_of(part.kept, [&](const Found& found) { return is_of(piece, found); });
}

/// A piece's estimates, by a worker that has seen others: what it knows from them leaves out what
/// cannot be among the best of all.
Estimates estimate_piece(Worker& worker, const std::vector<Layout>& layouts,
                         std::span<const size_t> piece) {
  for (const size_t i : piece) worker.visit(layouts[i], static_cast<int64_t>(i));
  Estimates found;
  found.layouts = static_cast<int64_t>(piece.size());
  found.candidates = std::exchange(worker.candidates, 0);
  found.feasible = std::exchange(worker.feasible, 0);
  found.estimated = std::exchange(worker.estimated, 0);
  found.unpriced = std::exchange(worker.unpriced, {});
  found.nearest = std::exchange(worker.nearest, {});
  if (found.feasible > 0) found.nearest.reset();
  for (const Found& one : worker.kept.all())
    if (is_of(piece, one)) found.kept.push_back(one);
  return found;
}

}  // namespace

void Estimates::add(const Estimates& other) {
  layouts += other.layouts;
  candidates += other.candidates;
  feasible += other.feasible;
  estimated += other.estimated;
  left += other.left;
  take_nearer(other.nearest, nearest);
  if (feasible > 0) nearest.reset();
  // One of several, which does not depend on their order.
  if (unpriced.empty() || (!other.unpriced.empty() && other.unpriced < unpriced))
    unpriced = other.unpriced;
}

Estimates join(const Space& space, const SearchOptions& options,
               const std::vector<Estimates>& parts) {
  Estimates whole;
  Kept kept(space, options);
  for (const Estimates& part : parts) {
    whole.add(part);
    for (const Found& found : part.kept) kept.offer(found);
  }
  whole.kept = kept.all();
  return whole;
}

Result<Estimates> estimate(const Space& space, const SearchOptions& options,
                           const Spreading& spreading, spread::Crew& crew) {
  // Whoever leads stops; the others are told then, and their pieces must be the same ones.
  const bool stops = options.stop != nullptr && crew.leads();
  std::vector<Layout> layouts;
  const bool has_all = space.for_each_layout([&](const Layout& layout) {
    layouts.push_back(layout);
    return !(stops && options.stop->load());
  });
  if (!has_all) layouts.clear();
  const Pieces pieces(layouts);
  Estimates whole;
  Kept kept(space, options);
  spread::Work work;
  work.kind = "search";
  work.identity = spreading.identity;
  work.pieces = pieces.count();
  work.shard = spreading.shard;
  work.threads = options.threads;
  work.out = spreading.out;
  whole.known.resize(layouts.size());
  work.worker = [&] {
    return [&, worker = std::make_shared<Worker>(space, options, whole.known)](size_t piece) {
      return to_text(estimate_piece(*worker, layouts, pieces.of(piece)), false);
    };
  };
  work.take = [&](size_t piece, const std::string& text) {
    const auto part = parse_estimates(space, layouts, text);
    if (!part || !is_of(pieces.of(piece), *part)) return false;
    whole.add(*part);
    for (const Found& found : part->kept) kept.offer(found);
    return true;
  };
  int64_t finished_candidates = 0;
  work.begin = [&](size_t missing, size_t finished) {
    finished_candidates = whole.candidates;
    if (spreading.begin) spreading.begin(missing, finished);
  };
  work.advance = spreading.advance;
  if (options.stop != nullptr) work.stop = [&] { return options.stop->load(); };
  ERGOMETER_ASSIGN(spread::Progress progress, spread::run(crew, work));
  whole.kept = kept.all();
  whole.left = has_all ? progress.left : 1;
  whole.now = whole.candidates - finished_candidates;
  if (progress.journal) whole.journal.emplace(std::move(*progress.journal));
  return whole;
}

Result<SearchResult> answer(const Space& space, const SearchOptions& options,
                            const Estimates& whole) {
  if (whole.candidates > 0 && whole.feasible == 0 && !whole.unpriced.empty())
    return input_error(whole.unpriced);
  SearchResult result;
  result.layouts = whole.layouts;
  result.candidates = whole.candidates;
  result.feasible = whole.feasible;
  result.estimated = whole.estimated;
  result.complete = whole.left == 0;
  result.nearest = whole.nearest;
  result.known = {whole.kept, whole.known};
  Kept kept(space, options);
  LegalityCheck legal(space);
  for (const Found& found : whole.kept) {
    if (!legal(found.candidate))
      return input_error(
          "search: candidate {} of the estimates that were kept in the --out file or "
          "beside it in FILE.unfinished is no legal one: the file is damaged; remove it",
          found.number);
    kept.offer(found);
  }
  if (options.play) play(space, options, kept, result);
  if (options.stop != nullptr && *options.stop) result.complete = false;
  if (!options.play)
    for (const Found& found : kept.to_play()) result.best.push_back({found, {}, {}});
  result.front = kept.front();
  std::ranges::sort(result.front, [&](const Found& a, const Found& b) {
    const Objective first = options.pareto.empty() ? Objective::kTime : options.pareto.front();
    const double x = value_of(first, a), y = value_of(first, b);
    return x != y ? x < y : a.number < b.number;
  });
  return result;
}

}  // namespace ergometer::search
