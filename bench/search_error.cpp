// How far the search's estimates are from the engine: random jobs of the catalog that fit, each
// estimated and played.
//
//   search_error [JOBS] [SEED] [--power] [--narrow] [--worst N]
//
// --power: with the loop of power and heat too, for energy (much slower). --narrow: on networks
// whose lines hold cards up. Prints percentiles of |estimate / engine - 1|, over all jobs and by
// what runs beside what, how many are within 2 %, how often memory was on the wrong side of the
// limit, and the worst jobs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/prepared.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "search/estimate/estimator.h"
#include "search/space/random_candidates.h"

namespace ergometer::search {
namespace {

struct HarnessOptions {
  int jobs = 300;
  uint64_t seed = 1;
  bool power = false, narrow = false;
  size_t worst = 10;
};

struct Error {
  double time = 0;
  const char* kind = "";
  std::string job;
};

/// What runs beside what: each kind has a mechanism of its own.
const char* kind_of(const Candidate& c) {
  if (c.overlap.expert) return "expert transfers overlapped";
  switch (c.data.sharding) {
    case Sharding::kFsdp: return "FSDP";
    case Sharding::kZero3: return "ZeRO 3";
    case Sharding::kZero2:
      if (c.layout.pp == 1) return "ZeRO 2";
      return c.overlap.pipeline ? "ZeRO 2, transfers overlapped" : "ZeRO 2, pipeline";
    default:
      return c.overlap.pipeline ? "ZeRO 0/1, transfers overlapped" : "ZeRO 0/1, transfers in line";
  }
}

std::string describe(const Candidate& c, const spec::Settings& base) {
  const Layout& l = c.layout;
  constexpr std::array kSchedules = {"1f1b", "interleaved", "gpipe", "zb-h1"};
  return fmt::format(
      "{} {} gpus {} gbs {} seq {} tp {} sp {} cp {} pp {} vpp {} {} dp {} ep {} etp {} mbs {} "
      "recompute {}/{} tpo {} p2po {} epo {} sho {} shard {} og {} op {}",
      base.find("model")->text, base.find("cluster")->text, base.find("gpus")->text,
      base.find("global_batch_size")->text,
      base.find("seq_length") == nullptr ? "" : base.find("seq_length")->text, l.tp,
      l.sequence_parallel, l.cp, l.pp, l.vpp, kSchedules[static_cast<size_t>(l.schedule)], l.dp,
      l.ep, l.etp, l.micro_batch, c.recomputation.choice, c.recomputation.depth, c.overlap.tensor,
      c.overlap.pipeline, c.overlap.expert, c.overlap.shared_expert,
      static_cast<int>(c.data.sharding), c.data.overlap_gradients, c.data.overlap_parameters);
}

class Harness {
 public:
  explicit Harness(const HarnessOptions& options) : options_(options), draws_(options.seed) {}

  void run() {
    while (static_cast<int>(errors_.size()) < options_.jobs) try_space();
    print();
  }

 private:
  static constexpr int kPerSpace = 10;

  void try_space() {
    const spec::Settings settings =
        options_.narrow ? narrow_settings(draws_) : random_settings(draws_);
    const auto space = Space::make(settings, {});
    if (!space) return;
    const std::vector<Layout> layouts = space->layouts();
    LegalityCheck legal(*space);
    Estimator estimator(*space);
    int found = 0;
    for (int i = 0; i < 8 * kPerSpace && found < kPerSpace; ++i) {
      const auto candidate = random_candidate(*space, layouts, legal, draws_);
      if (!candidate) continue;
      if (measure(*space, *candidate, settings, legal, estimator)) ++found;
      if (static_cast<int>(errors_.size()) >= options_.jobs) return;
    }
  }

  /// As a search does it: with all of the layout that fits in some way and is played alike.
  static Result<Estimate> estimate_among_all(const Space& space, const Candidate& candidate,
                                             LegalityCheck& legal, Estimator& estimator) {
    ERGOMETER_TRY(estimator.set_layout(candidate.layout));
    const Options options = space.options(candidate.layout, legal);
    const PassVariant wanted{candidate.overlap, candidate.recomputation};
    std::vector<PassVariant> variants;
    for (const Overlap& overlap : options.overlaps) {
      if (!played_alike(overlap, wanted.overlap)) continue;
      for (const Recomputation& recomputation : options.recomputations) {
        const PassVariant variant{overlap, recomputation};
        const auto fits = [&](const DataOption& data) {
          return estimator.fits(overlap, recomputation, data);
        };
        if (variant == wanted || std::any_of(options.data.begin(), options.data.end(), fits))
          variants.push_back(variant);
      }
    }
    estimator.set_passes(variants);
    const auto pass = std::find(variants.begin(), variants.end(), wanted) - variants.begin();
    return estimator.estimate(static_cast<size_t>(pass), candidate.data);
  }

  bool measure(const Space& space, const Candidate& candidate, const spec::Settings& settings,
               LegalityCheck& legal, Estimator& estimator) {
    const auto estimate = estimate_among_all(space, candidate, legal, estimator);
    if (!estimate) return false;
    const spec::Job job = space.job(candidate);
    const workload::Workload workload = workload::lower(job);
    const plan::MemoryReport memory = plan::memory(job, workload, plan::divide(job, workload));
    const double memory_error = std::abs(estimate->memory_bytes / memory.worst().total() - 1);
    worst_memory_ = std::max(worst_memory_, memory_error);
    if (memory_error > 1e-9)
      fmt::print("memory {:.3g}: {}\n", memory_error, describe(candidate, settings));
    if (estimator.fits(candidate.overlap, candidate.recomputation, candidate.data) != memory.fits)
      ++wrong_side_;
    ++memories_;
    if (!memory.fits) return false;
    const auto played = engine::estimate(job);
    if (!played) return false;
    Error error;
    error.time = estimate->step_s / played->performance.step_time_s - 1;
    error.kind = kind_of(candidate);
    error.job = describe(candidate, settings);
    if (options_.power) {
      const auto run = engine::simulate(job, {});
      if (run && run->has_power && run->power.energy_j_per_step > 0)
        energy_.push_back(std::abs(estimate->energy_j / run->power.energy_j_per_step - 1));
    }
    errors_.push_back(std::move(error));
    return true;
  }

  static void print_percentiles(const char* what, std::vector<double> values) {
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
      return 100 * values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
    };
    constexpr double kGoal = 0.02;
    const auto near = std::upper_bound(values.begin(), values.end(), kGoal) - values.begin();
    fmt::print(
        "{:<31} {:>6} jobs  p50 {:5.2f} %  p90 {:5.2f} %  p99 {:6.2f} %  max {:6.2f} %  "
        "within 2 %: {:.1f} %\n",
        what, values.size(), at(0.5), at(0.9), at(0.99), at(1),
        100 * static_cast<double>(near) / static_cast<double>(values.size()));
  }

  void print() {
    std::vector<double> times;
    std::map<std::string, std::vector<double>> by_kind;
    for (const Error& error : errors_) {
      times.push_back(std::abs(error.time));
      by_kind[error.kind].push_back(times.back());
    }
    print_percentiles("time", times);
    for (const auto& [kind, of_kind] : by_kind) print_percentiles(("  " + kind).c_str(), of_kind);
    print_percentiles("energy", energy_);
    fmt::print("memory   largest difference {:.2g}, wrong side of the limit {} of {}\n",
               worst_memory_, wrong_side_, memories_);
    std::sort(errors_.begin(), errors_.end(),
              [](const Error& a, const Error& b) { return std::abs(a.time) > std::abs(b.time); });
    for (size_t i = 0; i < std::min(options_.worst, errors_.size()); ++i)
      fmt::print("{:+7.2f} %  {}\n", 100 * errors_[i].time, errors_[i].job);
  }

  HarnessOptions options_;
  Draws draws_;
  std::vector<Error> errors_;
  std::vector<double> energy_;
  double worst_memory_ = 0;
  int wrong_side_ = 0, memories_ = 0;
};

HarnessOptions parse(int argc, char** argv) {
  HarnessOptions options;
  int position = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--power") == 0) {
      options.power = true;
    } else if (std::strcmp(argv[i], "--narrow") == 0) {
      options.narrow = true;
    } else if (std::strcmp(argv[i], "--worst") == 0 && i + 1 < argc) {
      options.worst = static_cast<size_t>(std::atoi(argv[++i]));
    } else if (position++ == 0) {
      options.jobs = std::atoi(argv[i]);
    } else {
      options.seed = static_cast<uint64_t>(std::atoll(argv[i]));
    }
  }
  return options;
}

}  // namespace
}  // namespace ergometer::search

int main(int argc, char** argv) {
  ergometer::search::Harness(ergometer::search::parse(argc, argv)).run();
}
