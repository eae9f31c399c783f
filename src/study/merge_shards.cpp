
#include "study/facts.h"
#include "study/finish.h"
#include "study/session.h"

namespace ergometer::study {
namespace {

struct Part {
  const std::string* file;
  Facts facts;
  run::Run run;
};

Result<std::vector<Part>> parts_of(std::vector<run::Run> runs,
                                   const std::vector<std::string>& files) {
  std::vector<Part> parts;
  for (size_t i = 0; i < runs.size(); ++i) {
    auto facts = read_facts(runs[i]);
    if (!facts)
      return input_error("{}: is not a study's Run, and {} is; merge one kind at a time", files[i],
                         files[i == 0 ? 1 : 0]);
    parts.push_back({&files[i], *std::move(facts), std::move(runs[i])});
  }
  return parts;
}

Result<void> check_same(const Part& first, const Part& part) {
  if (part.facts.fingerprint != first.facts.fingerprint)
    return input_error(
        "{} and {}: are of different studies ({} and {}), or of different versions of one or of "
        "the catalog",
        *first.file, *part.file, first.run.study->name, part.run.study->name);
  return {};
}

/// Every shard once, in order.
Result<std::vector<const Part*>> in_order(const std::vector<Part>& parts) {
  std::vector<spread::NamedShard> shards;
  for (const Part& part : parts) {
    ERGOMETER_TRY(check_same(parts.front(), part));
    shards.push_back({*part.file, part.facts.shard});
  }
  ERGOMETER_ASSIGN(const std::vector<size_t> order, spread::in_order(shards));
  std::vector<const Part*> ordered;
  for (const size_t i : order) ordered.push_back(&parts[i]);
  return ordered;
}

}  // namespace

Result<run::Run> merge_shards(std::vector<run::Run> shards, const std::vector<std::string>& files) {
  ERGOMETER_ASSIGN(const std::vector<Part> parts, parts_of(std::move(shards), files));
  ERGOMETER_ASSIGN(const std::vector<const Part*> order, in_order(parts));
  const Facts& facts = order.front()->facts;
  ERGOMETER_ASSIGN(const Definition definition, parse_definition(facts.text, facts.file));
  run::Run run;
  write_facts({facts.fingerprint, facts.file, facts.text, {}, facts.points}, run);
  run.study = *order.front()->run.study;
  std::vector<run::StudyPoint> points;
  for (size_t i = 0; i < facts.points; ++i) {
    const run::Study& part = *order[i % order.size()]->run.study;
    if (i / order.size() >= part.points.size())
      return input_error("{}: lacks points of its shard: the file is damaged",
                         *order[i % order.size()]->file);
    points.push_back(part.points[i / order.size()]);
  }
  run.study->points = std::move(points);
  finish(definition, *run.study);
  return run;
}

}  // namespace ergometer::study
