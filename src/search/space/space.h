#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/space/candidate.h"
#include "spec/settings/settings.h"

namespace ergometer::search {

/// What a search tries besides the layout: lists with one entry where nothing is asked for.
struct SpaceOptions {
  std::vector<int64_t> gpus;            ///< empty: as the settings say
  std::vector<std::string> precisions;  ///< empty: as the settings say
  std::vector<double> lock_clocks_mhz;  ///< empty: as the settings say
  double max_memory_bytes = 0;          ///< that a rank may take; 0: all that a GPU has
  /// Why a job is none of the space, whatever is legal; an empty text: it is one. Nothing: all are.
  /// What it says of a layout's recomputation does not depend on overlap and sharding; a sharding
  /// that it refuses beside some overlap that it accepts is left out.
  std::function<std::string(const spec::Job&)> refuses;
};

/// One recomputation that may be chosen; the block method stands for all its depths.
struct RecomputeChoice {
  spec::Recompute granularity = spec::Recompute::kNone;
  bool block = false;                ///< full, the first layers of every chunk
  std::vector<std::string> modules;  ///< selective
};

/// What may follow a layout; their product are its candidates.
struct Options {
  std::vector<Recomputation> recomputations;
  std::vector<Overlap> overlaps;
  std::vector<DataOption> data;
  int64_t candidates() const {
    return static_cast<int64_t>(recomputations.size() * overlaps.size() * data.size());
  }
};

class Space;

/// GPUs with memory for ranks that take at most so many bytes, as `plan::memory` counts what they
/// need; 0 leaves them as they are.
void limit_memory(spec::Cluster& cluster, double most_bytes);

/// Whether a setting, by its full name, says how the job is laid out: what a search decides, and
/// what fits one layout alone.
bool is_of_layout(std::string_view setting);

/// Candidates as jobs, a job kept for every base: one for each thread.
class CandidateJobs {
 public:
  explicit CandidateJobs(const Space& space) : space_(space) {}
  /// The candidate's job, until the next one is asked for.
  spec::Job& of(const Candidate& candidate);

 private:
  const Space& space_;
  std::map<std::pair<int32_t, bool>, spec::Job> jobs_;  ///< by base and whether FSDP
};

/// Whether `spec::resolve` would accept a candidate: one for each thread.
class LegalityCheck {
 public:
  explicit LegalityCheck(const Space& space) : space_(space), jobs_(space) {}
  bool operator()(const Candidate& candidate);
  /// The ways to divide the layers of these stages and chunks.
  const std::vector<Split>& splits(const Layout& layout);
  /// What `SpaceOptions::refuses` says.
  std::string refused(const Candidate& candidate);
  /// What `spec::check_job` says; nothing where it accepts.
  std::string illegal(const Candidate& candidate);
  /// Layers of the longest chunk.
  int64_t longest_chunk(const Layout& layout);

 private:
  const Space& space_;
  CandidateJobs jobs_;
  std::map<std::array<int64_t, 3>, std::vector<Split>> splits_;  ///< by base, stages and chunks
};

/// Every legal way to run one job: model, cluster, global batch and sequence length are given, and
/// what the settings fix stays fixed.
///
/// What is legal is what `spec::resolve` accepts; values that change nothing (overlapping what is
/// not sent, sharding over one rank) are tried once. Order: as the loops of `for_each_layout`, so
/// that a search counts and breaks ties alike on every machine.
class Space {
 public:
  /// An input error: settings that no layout can mend.
  static Result<Space> make(const spec::Settings& settings, const SpaceOptions& options);

  /// The same space on a cluster that differs in numbers of its hardware.
  Space on(const std::function<void(spec::Cluster&)>& change) const;
  /// The same space with another number of GPUs; an input error where the cluster has not so many.
  Result<Space> with_gpus(int64_t gpus) const;
  /// Whether any layout is legal.
  bool has_layouts() const;

  /// False: visit no more.
  using Visit = std::function<bool(const Layout&)>;
  /// Whether all were visited.
  bool for_each_layout(const Visit& visit) const;
  /// All legal ones in that order.
  std::vector<Layout> layouts() const;
  Options options(const Layout& layout, LegalityCheck& legal) const;

  /// Every way to divide the GPUs that what is fixed allows, legal or not, as a layout of which
  /// nothing else is said.
  void for_each_division(const std::function<void(const Layout&)>& visit) const;
  /// Legal layouts of a division.
  bool for_each_layout_of(const Layout& division, LegalityCheck& legal, const Visit& visit) const;
  /// What is wrong with the plainest layout of a division that has no legal one.
  std::string refusal(const Layout& division, LegalityCheck& legal) const;

  /// What the user would write to run it.
  spec::Settings settings(const Candidate& candidate) const;
  /// The job of `settings(candidate)`, without reading anything anew.
  spec::Job job(const Candidate& candidate) const;
  /// The same in place: `job` holds any candidate of the same base and framework.
  void apply(const Candidate& candidate, spec::Job& job) const;

  /// A job for each GPU count, precision and clock, with and without FSDP.
  struct Base {
    spec::Settings settings;
    spec::Job megatron, fsdp;
  };
  const std::vector<Base>& bases() const { return bases_; }
  /// Whether the settings say how layers are divided, so that nothing else is tried.
  bool splits_are_given() const { return splits_given_; }
  const SpaceOptions& asked_options() const { return choice_; }
  const std::vector<RecomputeChoice>& recomputations() const { return recomputations_; }
  /// Whether any of the clusters has unlike nodes.
  bool has_unlike_nodes() const;
  /// Whether a setting is given, by its full name.
  bool gives(std::string_view setting) const { return asked_.find(setting) != nullptr; }
  const Base& base_of(const Layout& layout) const {
    return bases_[static_cast<size_t>(layout.base)];
  }

 private:
  using Fixed = std::map<std::string, std::string, std::less<>>;
  std::optional<int64_t> fixed_number(std::string_view name) const;
  std::optional<bool> fixed_switch(std::string_view name) const;
  bool allows(std::string_view name, int64_t value) const;
  bool allows_switch(std::string_view name, bool value) const;
  void find_recomputations();
  void keep_accepted(const Layout& layout, LegalityCheck& legal, Options& options) const;
  void add_recomputations(const Layout& layout, LegalityCheck& legal, Options& options) const;
  void add_overlaps(const Layout& layout, LegalityCheck& legal, Options& options) const;
  void add_data(const Layout& layout, LegalityCheck& legal, Options& options) const;
  bool visit_divisions(const Visit& visit) const;
  bool visit_experts(Layout layout, const Visit& visit) const;
  bool visit_chunks(Layout layout, LegalityCheck& legal, const Visit& visit) const;
  bool visit_batches(Layout layout, LegalityCheck& legal, const Visit& visit) const;

  spec::Settings asked_;
  SpaceOptions choice_;
  std::vector<Base> bases_;
  std::vector<RecomputeChoice> recomputations_;
  Fixed fixed_;  ///< axes that the settings fix
  bool splits_given_ = false;
  bool scatters_ = false;  ///< scatter_gather_tensors_in_pipeline is asked for
};

}  // namespace ergometer::search
