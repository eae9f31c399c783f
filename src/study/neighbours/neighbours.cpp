#include "study/neighbours/neighbours.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "spec/settings/assumed_software.h"
#include "spec/settings/resolve_parts.h"

namespace ergometer::study {
namespace {

using At = std::vector<size_t>;

/// Jobs by their positions on the ladders, each looked at once.
class Legal {
 public:
  Legal(spec::Settings base, spec::JobParts parts, const std::vector<Ladder>& ladders)
      : base_(std::move(base)), parts_(std::move(parts)), ladders_(ladders) {}

  spec::Settings settings(const At& at) const {
    spec::Settings change;
    for (size_t i = 0; i < at.size(); ++i)
      if (const Ladder& ladder = ladders_[i]; at[i] != ladder.own)
        change.set(ladder.setting->name, ladder.values[at[i]],
                   {"option --what-if", std::string(ladder.word())});
    spec::Settings all = base_;
    all.merge(change);
    // An error comes again, and is told, where the job is resolved.
    (void)spec::keep_assumed_software(base_, all);
    return all;
  }
  /// Why there is no such job; empty: there is.
  const std::string& fault(const At& at) {
    const auto known = faults_.find(at);
    if (known != faults_.end()) return known->second;
    const auto job = spec::resolve(settings(at), parts_);
    return faults_.emplace(at, job ? "" : job.error().message).first->second;
  }

 private:
  spec::Settings base_;
  spec::JobParts parts_;
  const std::vector<Ladder>& ladders_;
  std::map<At, std::string> faults_;
};

/// The values of every ladder that are in, ascending, and the legal jobs that they make.
class Grid {
 public:
  Grid(const std::vector<Ladder>& ladders, Legal& legal) : ladders_(ladders), legal_(legal) {
    At own;
    for (const Ladder& ladder : ladders_) own.push_back(ladder.own);
    for (const size_t at : own) chosen_.push_back({at});
    jobs_.insert(own);
  }

  /// Takes the nearest value of a ladder that makes jobs, on the side that has fewer; false: there
  /// is none, or it makes too many.
  bool grow(size_t i) {
    const std::set<size_t>& in = chosen_[i];
    const size_t own = ladders_[i].own;
    const auto below = std::distance(in.begin(), in.find(own)), above = std::ssize(in) - 1 - below;
    const bool up = above <= below;
    return grow_to(i, up) || grow_to(i, !up);
  }
  const std::set<At>& jobs() const { return jobs_; }
  const std::set<size_t>& chosen(size_t i) const { return chosen_[i]; }

 private:
  bool grow_to(size_t i, bool up) {
    size_t value = up ? *chosen_[i].rbegin() : *chosen_[i].begin();
    const size_t end = up ? ladders_[i].values.size() - 1 : 0;
    while (value != end) {
      value = up ? value + 1 : value - 1;
      const std::vector<At> more = jobs_with(i, value);
      if (more.empty()) continue;
      if (jobs_.size() + more.size() > kMostNeighbours) return false;
      chosen_[i].insert(value);
      jobs_.insert(more.begin(), more.end());
      return true;
    }
    return false;
  }

  /// Those of the product that have the value on ladder `i`.
  std::vector<At> jobs_with(size_t i, size_t value) {
    std::vector<At> all = {{}};
    for (size_t k = 0; k < chosen_.size(); ++k) {
      std::vector<At> longer;
      for (const At& at : all)
        for (const size_t next : k == i ? std::set<size_t>{value} : chosen_[k]) {
          longer.push_back(at);
          longer.back().push_back(next);
        }
      all = std::move(longer);
    }
    std::erase_if(all, [&](const At& at) { return !legal_.fault(at).empty(); });
    return all;
  }

  const std::vector<Ladder>& ladders_;
  Legal& legal_;
  std::vector<std::set<size_t>> chosen_;
  std::set<At> jobs_;
};

/// The job's own batch, named, so that no neighbour gets another one.
Result<spec::Settings> with_batch(spec::Settings settings, const spec::Job& job) {
  settings.erase("data_parallel_size");
  if (!job.training.least_batch && settings.find("gradient_accumulation_steps") == nullptr)
    return settings;
  settings.erase("gradient_accumulation_steps");
  settings.set("global_batch_size", std::to_string(job.training.global_batch),
               {"--what-if: the job's own", ""});
  return settings;
}

/// Why a ladder has no other value: what its neighbours are refused for.
tl::unexpected<base::Error> no_neighbour(const std::vector<Ladder>& ladders, size_t i,
                                         Legal& legal) {
  const Ladder& ladder = ladders[i];
  At own;
  for (const Ladder& each : ladders) own.push_back(each.own);
  std::string reasons;
  for (const size_t value : {ladder.own + 1, ladder.own - 1}) {
    if (value >= ladder.values.size()) continue;
    At at = own;
    at[i] = value;
    reasons += fmt::format("; {}: {}", ladder.values[value], legal.fault(at));
  }
  return input_error("--what-if: {}: the job has {} and no neighbour of it can run{}",
                     ladder.word(), ladder.values[ladder.own], reasons);
}

Point point_of(const At& at, const std::vector<Ladder>& ladders, const Legal& legal) {
  Point point;
  for (size_t i = 0; i < at.size(); ++i) {
    const std::string word(ladders[i].word()), &value = ladders[i].values[at[i]];
    point.id += fmt::format("{}{}={}", i == 0 ? "" : ",", word, value);
    point.axes[word] = value;
  }
  point.settings = legal.settings(at);
  return point;
}

/// Leaves the values that are in the grid; `place[i][v]` is where value v of ladder i then stands.
std::vector<std::map<size_t, size_t>> shorten(std::vector<Ladder>& ladders, const Grid& grid) {
  std::vector<std::map<size_t, size_t>> place(ladders.size());
  for (size_t i = 0; i < ladders.size(); ++i) {
    std::vector<std::string> values;
    for (const size_t value : grid.chosen(i)) {
      place[i][value] = values.size();
      values.push_back(ladders[i].values[value]);
    }
    ladders[i].values = std::move(values);
    ladders[i].own = place[i].at(ladders[i].own);
  }
  return place;
}

Neighbours neighbours_of(std::vector<Ladder> ladders, const Grid& grid, const Legal& legal) {
  Neighbours found;
  for (const At& at : grid.jobs()) found.points.push_back(point_of(at, ladders, legal));
  found.ladders = ladders;
  const auto place = shorten(found.ladders, grid);
  for (const At& at : grid.jobs()) {
    At& shorter = found.at.emplace_back();
    bool own = true;
    for (size_t i = 0; i < at.size(); ++i) {
      shorter.push_back(place[i].at(at[i]));
      own = own && at[i] == ladders[i].own;
    }
    if (own) found.job = found.at.size() - 1;
  }
  return found;
}

}  // namespace

Result<Neighbours> neighbours(const spec::Settings& job,
                              const std::vector<const spec::SettingInfo*>& settings) {
  ERGOMETER_ASSIGN(spec::JobParts parts, spec::read_job_parts(job));
  ERGOMETER_ASSIGN(const spec::Job resolved, spec::resolve(job, parts));
  ERGOMETER_ASSIGN(spec::Settings base, with_batch(job, resolved));
  std::vector<Ladder> ladders;
  for (const spec::SettingInfo* setting : settings) {
    ERGOMETER_ASSIGN(Ladder one, ladder(*setting, resolved));
    ladders.push_back(std::move(one));
  }
  Legal legal(std::move(base), std::move(parts), ladders);
  Grid grid(ladders, legal);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < ladders.size(); ++i) grown = grid.grow(i) || grown;
  }
  for (size_t i = 0; i < ladders.size(); ++i)
    if (grid.chosen(i).size() < 2) return no_neighbour(ladders, i, legal);
  return neighbours_of(ladders, grid, legal);
}

}  // namespace ergometer::study
