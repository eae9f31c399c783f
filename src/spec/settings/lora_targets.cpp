#include "spec/settings/lora_targets.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::spec {
namespace {

struct TargetWord {
  std::string_view word, setting;
};
constexpr std::array kTargetWords = std::to_array<TargetWord>({
    {"qkv", "qkv"},
    {"q", "q"},
    {"k", "k"},
    {"v", "v"},
    {"q_proj", "q"},
    {"k_proj", "k"},
    {"v_proj", "v"},
    {"qkv_proj", "qkv"},
    {"query_key_value", "qkv"},
    {"c_attn", "qkv"},
    {"w_pack", "qkv"},
    {"wqkv", "qkv"},
    {"linear_qkv", "qkv"},
    {"attention_qkv", "qkv"},
    {"wq", "q"},
    {"wk", "k"},
    {"wv", "v"},
    {"q_a_proj", "q"},
    {"q_b_proj", "q"},
    {"kv_a_proj_with_mqa", "k"},
    {"kv_b_proj", "k"},
    {"query", "q"},
    {"key", "k"},
    {"value", "v"},
    {"linear_q", "q"},
    {"linear_k", "k"},
    {"linear_v", "v"},
    {"o_proj", "proj"},
    {"out_proj", "proj"},
    {"output_proj", "proj"},
    {"dense", "proj"},
    {"wo", "proj"},
    {"linear_proj", "proj"},
    {"attention_dense", "proj"},
    {"proj", "proj"},
    {"gate_proj", "fc1"},
    {"up_proj", "fc1"},
    {"gate_up_proj", "fc1"},
    {"dense_h_to_4h", "fc1"},
    {"c_fc", "fc1"},
    {"fc1", "fc1"},
    {"w1", "fc1"},
    {"w3", "fc1"},
    {"linear_fc1", "fc1"},
    {"mlp_fc1", "fc1"},
    {"fc_in", "fc1"},
    {"down_proj", "fc2"},
    {"dense_4h_to_h", "fc2"},
    {"fc2", "fc2"},
    {"w2", "fc2"},
    {"linear_fc2", "fc2"},
    {"mlp_fc2", "fc2"},
    {"fc_out", "fc2"},
});

constexpr std::array<std::string_view, 7> kOrder = {"qkv", "q", "k", "v", "proj", "fc1", "fc2"};
enum Target { kQkv, kQ, kK, kV, kProj, kFc1, kFc2 };

}  // namespace

std::optional<std::string> lora_targets(std::string_view targets, std::string& unknown) {
  std::array<bool, kOrder.size()> chosen = {};
  for (std::string word : base::split(targets, ',')) {
    std::erase_if(word, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
    word = base::lower(word);
    if (word == "all-linear" || word == "all" || word == "all_linear") return "";
    const std::string last(base::last_part(word, '.'));
    // GPT-2 and the first Qwen call both projections back by one name.
    if (last == "c_proj") {
      chosen[kProj] = chosen[kFc2] = true;
      continue;
    }
    const auto* it = std::ranges::find(kTargetWords, last, &TargetWord::word);
    if (it == kTargetWords.end()) {
      unknown = word;
      return std::nullopt;
    }
    chosen[static_cast<size_t>(std::ranges::find(kOrder, it->setting) - kOrder.begin())] = true;
  }
  chosen[kQkv] |= chosen[kQ] && chosen[kK] && chosen[kV];
  if (chosen[kQkv]) chosen[kQ] = chosen[kK] = chosen[kV] = false;
  std::string text;
  for (size_t i = 0; i < kOrder.size(); ++i)
    if (chosen[i]) text += (text.empty() ? "" : ",") + std::string(kOrder[i]);
  return text;
}

}  // namespace ergometer::spec
