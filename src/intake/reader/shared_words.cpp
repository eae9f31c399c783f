#include "intake/reader/shared_words.h"

#include <algorithm>

#include "spec/settings/settings.h"

namespace ergometer::intake {

std::string_view format_of_type(std::string_view type) {
  return type == "bfloat16" ? "bf16" : type == "float16" ? "fp16" : type == "float32" ? "fp32" : "";
}

std::string_view backend_of_attention(std::string_view word) {
  return word == "eager"               ? "unfused"
         : word == "sdpa"              ? "fused"
         : word == "flash_attention_2" ? "fa2"
         : word == "flash_attention_3" ? "fa3"
                                       : "";
}

void set_recomputation(FlatReader& read, bool again, std::string_view key) {
  read.set("recompute_granularity", again ? "full" : "none", key);
}

void set_replicated(FlatReader& read, std::string_view key) {
  read.set("zero", "0", key);
  read.set("overlap_grad_reduce", "true", key);
}

void set_ranks(FlatReader& read, std::string_view setting, int64_t some, int64_t times,
               std::string_view key) {
  read.set_count(setting, std::min(some, spec::kMostRanks) * std::min(times, spec::kMostRanks),
                 key);
}

void set_fsdp_on_host(FlatReader& read, std::string_view key) {
  read.set("optimizer_cpu_offload", "true", key);
  read.not_modelled(key, kFsdpOnHost);
}

}  // namespace ergometer::intake
