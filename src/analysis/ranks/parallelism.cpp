#include "analysis/ranks/parallelism.h"

#include <algorithm>
#include <set>

#include "analysis/ranks/collectives.h"
#include "analysis/work/collective_kind.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

/// What a group was seen to do.
struct GroupFacts {
  bool messages = false, all_to_all = false;
  int64_t size = -1;
  std::set<int64_t> members;
};

std::map<GroupKey, GroupFacts> gather(const std::vector<run::RankTrace>& ranks) {
  std::map<GroupKey, GroupFacts> groups;
  for (const run::RankTrace& trace : ranks) {
    for (const run::Collective& known : trace.collectives) {
      GroupFacts& facts = groups[{known.group, known.description}];
      const CollectiveKind kind = collective_kind(known.name);
      facts.messages = facts.messages || kind == CollectiveKind::kSendRecv;
      facts.all_to_all = facts.all_to_all || kind == CollectiveKind::kAllToAll;
      facts.size = std::max(facts.size, known.group_size);
      facts.members.insert(trace.rank);
    }
  }
  return groups;
}

bool are_neighbours(const std::set<int64_t>& members) {
  return *members.rbegin() - *members.begin() + 1 == static_cast<int64_t>(members.size());
}

bool is_default(const GroupKey& key) { return key.second == "default_pg"; }

std::string infer(const GroupFacts& facts, int64_t world) {
  constexpr int64_t kMostTensorParallel = 8;  // GPUs that one NVLink domain of a node holds
  if (facts.messages) return "pp";
  if (facts.all_to_all) return "ep";
  if (facts.size > 1 && facts.size == world) return "dp";
  if (facts.members.size() < 2) return "";
  if (!are_neighbours(facts.members)) return "dp";
  return facts.size > 1 && facts.size <= kMostTensorParallel ? "tp" : "";
}

}  // namespace

GroupLabels label_groups(const std::vector<run::RankTrace>& ranks) {
  const int64_t world =
      base::largest(ranks, static_cast<int64_t>(ranks.size()), &run::RankTrace::world_size);
  const std::map<GroupKey, GroupFacts> groups = gather(ranks);
  const bool any_stated = std::ranges::any_of(groups, [](const auto& group) {
    return !is_default(group.first) && !parallelism_of(group.first.second).empty();
  });
  GroupLabels labels;
  for (const auto& [key, facts] : groups) {
    const std::string stated = parallelism_of(key.second);
    // The default group is all that plain data parallelism uses; beside other groups it serves
    // none.
    if (!stated.empty() && (any_stated || !is_default(key))) {
      labels[key] = {stated, true};
    } else {
      labels[key] = {infer(facts, world), false};
    }
  }
  return labels;
}

std::string label_of(const GroupLabels& labels, const run::Collective& collective) {
  const auto found = labels.find({collective.group, collective.description});
  return found == labels.end() || found->second.name.empty() ? "?" : found->second.name;
}

}  // namespace ergometer::analysis
