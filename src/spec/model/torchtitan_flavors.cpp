#include "spec/model/torchtitan_flavors.h"

#include <array>

namespace ergometer::spec {

std::span<const TorchtitanFlavor> torchtitan_flavors() {
  static constexpr std::array kFlavors = std::to_array<TorchtitanFlavor>({
      {"llama3-8b", "llama3", "8B"},
      {"llama3.1-8b", "llama3", "8B"},
      {"llama3-70b", "llama3", "70B"},
      {"llama3.1-70b", "llama3", "70B"},
      {"llama3.1-405b", "llama3", "405B"},
      {"llama4-scout", "llama4", "17bx16e"},
      {"llama4-maverick", "llama4", "17bx128e"},
      {"deepseek-v2-lite", "deepseek_v3", "16B"},
      {"deepseek-v2", "deepseek_v3", "236B"},
      {"deepseek-v3", "deepseek_v3", "671B"},
      {"qwen3-0.6b", "qwen3", "0.6B"},
      {"qwen3-1.7b", "qwen3", "1.7B"},
      {"qwen3-4b", "qwen3", "4B"},
      {"qwen3-8b", "qwen3", "8B"},
      {"qwen3-14b", "qwen3", "14B"},
      {"qwen3-32b", "qwen3", "32B"},
  });
  return kFlavors;
}

}  // namespace ergometer::spec
