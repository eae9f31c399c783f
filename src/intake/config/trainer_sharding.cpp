#include <algorithm>

#include "base/text.h"
#include "intake/config/trainer_arguments.h"

// PyTorch's words for how FSDP shards.

namespace ergometer::intake {

void read_backward_prefetch(FlatReader& read, std::string_view key) {
  const std::string word = base::lower(read.text(key, "backward_pre"));
  if (word != "backward_pre")
    read.not_modelled(key,
                      "time: when the next parameters are gathered; predicted as BACKWARD_PRE");
}

void read_hybrid_shards(FlatReader& read, int64_t shards, std::string_view key) {
  int64_t together = 1;
  const auto* context = read.said().find("context_parallel_size");
  if (context != nullptr) together = base::parse_integer(context->text).value_or(1);
  read.set("fsdp_shard_size",
           std::to_string(std::min(shards, spec::kMostRanks) *
                          std::clamp(together, int64_t{1}, spec::kMostRanks)),
           key);
}

void settle_shard_size(FlatReader& read) {
  const auto* shards = read.said().find("fsdp_shard_size");
  const auto* zero = read.said().find("zero");
  if (shards == nullptr || zero == nullptr || zero->text == "3") return;
  const std::string key = shards->origin.key;
  read.reading().settings.erase("fsdp_shard_size");
  read.not_modelled(key,
                    "memory and time: copies are sharded over a part of the ranks each, which is "
                    "modelled only where parameters are freed behind their forward; predicted as "
                    "sharded over all");
}

bool read_sharding_strategy(FlatReader& read, std::string_view strategy, std::string_view key,
                            int64_t node_gpus) {
  const std::string word = base::lower(strategy);
  const bool hybrid = word == "hybrid_shard" || word == "4" || word == "hybrid_shard_zero2" ||
                      word == "_hybrid_shard_zero2" || word == "5";
  if (word == "full_shard" || word == "1" || word == "hybrid_shard" || word == "4") {
    read.set("fsdp", "true", key);
    read.set("zero", "3", key);
  } else if (word == "shard_grad_op" || word == "2" || hybrid) {
    read.set("zero", "2", key);
    read.set("fsdp", "false", key);
    read.set("framework", "fsdp", key);
    read.set("overlap_grad_reduce", "true", key);
  } else if (word == "no_shard" || word == "3") {
    read.set("zero", "0", key);
    read.set("overlap_grad_reduce", "true", key);
  } else {
    return false;
  }
  const bool whole =
      read.said().find("fsdp") != nullptr && read.said().find("fsdp")->text == "true";
  // PyTorch's default process groups: those of a node.
  if (hybrid && whole)
    read.set("fsdp_shard_size", node_gpus > 0 ? std::to_string(node_gpus) : "node", key);
  else if (hybrid)
    read.not_modelled(key,
                      "memory and time: a copy is sharded over one node alone, which is modelled "
                      "only where parameters are freed behind their forward; predicted as sharded "
                      "over all");
  return true;
}

}  // namespace ergometer::intake
