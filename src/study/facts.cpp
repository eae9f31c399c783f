#include "study/facts.h"

#include "base/text.h"

namespace ergometer::study {
namespace {

constexpr const char* kFingerprint = "study_fingerprint";
constexpr const char* kFile = "study_file";
constexpr const char* kText = "study_text";
constexpr const char* kShard = "study_shard";
constexpr const char* kPoints = "study_points";

}  // namespace

void write_facts(const Facts& facts, run::Run& run) {
  run.facts[kFingerprint] = facts.fingerprint;
  run.facts[kFile] = facts.file;
  run.facts[kText] = facts.text;
  run.facts[kPoints] = std::to_string(facts.points);
  if (facts.shard.count > 1) run.facts[kShard] = spread::to_text(facts.shard);
}

std::optional<Facts> read_facts(const run::Run& run) {
  const auto fact = [&](const char* name) {
    const auto found = run.facts.find(name);
    return found == run.facts.end() ? std::string() : found->second;
  };
  Facts facts{fact(kFingerprint), fact(kFile), fact(kText), {}, 0};
  if (!run.study || facts.fingerprint.empty()) return std::nullopt;
  const auto points = base::parse_integer(fact(kPoints));
  if (!points || *points < 0) return std::nullopt;
  facts.points = static_cast<size_t>(*points);
  if (const std::string shard = fact(kShard); !shard.empty()) {
    const auto parsed = spread::parse_shard(shard);
    if (!parsed) return std::nullopt;
    facts.shard = *parsed;
  }
  return facts;
}

}  // namespace ergometer::study
