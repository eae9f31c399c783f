#include "spec/model/tokenizers.h"

#include <array>

#include "spec/catalog/read.h"
#include "spec/model/model_names.h"

namespace ergometer::spec {
namespace {

struct Known {
  std::string_view name;
  int64_t vocabulary;
};
/// Vocabularies of the published tokenizer files.
constexpr std::array kKnown = std::to_array<Known>({
    {"GPT2BPETokenizer", 50257},
    {"gpt2", 50257},
    {"Llama2Tokenizer", 32000},
    {"Llama3Tokenizer", 128256},
    {"LLamaTokenizer", 32000},
    {"LlamaTokenizer", 32000},
    {"bigscience/tokenizer", 250680},
    {"EleutherAI/gpt-neox-20b", 50277},
    {"mistralai/Mixtral-8x7B-v0.1", 32000},
    {"mistralai/Mixtral-8x22B-v0.1", 32000},
    {"mistralai/Mistral-7B-v0.1", 32000},
});
constexpr std::array kFamilies = std::to_array<Known>({
    {"meta-llama/Llama-2-", 32000},
    {"meta-llama/Meta-Llama-3", 128256},
    {"meta-llama/Llama-3", 128256},
});

}  // namespace

int64_t tokenizer_vocabulary(std::string_view name) {
  for (const Known& known : kKnown)
    if (name == known.name) return known.vocabulary;
  for (const Known& family : kFamilies)
    if (name.starts_with(family.name)) return family.vocabulary;
  const size_t slash = name.rfind('/');
  const std::string_view last = slash == name.npos ? name : name.substr(slash + 1);
  for (const std::string_view word : {name, last}) {
    const CatalogEntry* entry = word.empty() ? nullptr : find_hub_model(word);
    if (entry == nullptr) continue;
    if (const auto model = read_model(std::string(entry->name))) return model->vocab;
  }
  return 0;
}

}  // namespace ergometer::spec
