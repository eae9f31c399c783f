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

void tell_other_optimizer(FlatReader& read, std::string_view key) {
  read.not_modelled(key, "memory and time: another optimizer's states; predicted as Adam's");
}

void tell_lengths_of_data(FlatReader& read, std::string_view key) {
  read.not_modelled(key,
                    "time and memory: sequences are as long as the data's; predicted at the "
                    "longest");
}

void tell_states_on_drive(FlatReader& read, std::string_view key) {
  read.not_modelled(key,
                    "time: the optimizer's states travel from and to an NVMe drive; they are "
                    "predicted in the host's memory");
}

void tell_parameters_on_host(FlatReader& read, std::string_view key) {
  read.not_modelled(key,
                    "memory and time: parameters wait on the host and travel for every layer; "
                    "they are predicted on the GPU");
}

void set_fsdp_on_host(FlatReader& read, std::string_view key) {
  read.set("optimizer_cpu_offload", "true", key);
  read.not_modelled(key,
                    "memory and time: parameters and gradients are on the host as well; predicted "
                    "on the GPU");
}

void tell_magnitudes(FlatReader& read, std::string_view key) {
  read.not_modelled(key, "time and memory: magnitudes beside the adapters");
}

}  // namespace ergometer::intake
