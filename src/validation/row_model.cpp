// Which model a row ran.
#include <fmt/format.h>

#include "spec/read.h"
#include "validation/job_draft.h"
#include "validation/model_table.h"

namespace ergometer::validation {
namespace {

/// The sizes that the row itself gives.
ModelSizes sizes_in(JobDraft& draft) {
  const auto size = [&](std::string_view column) { return draft.whole(column).value_or(0); };
  ModelSizes sizes{size("layers"),
                   size("hidden"),
                   size("ffn"),
                   size("heads"),
                   size("kv_heads"),
                   0,
                   size("vocab"),
                   size("experts"),
                   size("topk"),
                   0,
                   0,
                   0,
                   size("seq")};
  if (draft.name.layers) sizes.layers = *draft.name.layers;
  return sizes;
}

bool differs(int64_t given, int64_t known) { return given > 0 && given != known; }

/// Whether the row contradicts the published model in more than its depth.
bool is_another(const ModelSizes& row, const spec::Model& model) {
  return differs(row.hidden, model.hidden) || differs(row.ffn, model.ffn) ||
         differs(row.heads, model.heads) || differs(row.kv_heads, model.kv_heads) ||
         differs(row.experts, model.experts.count);
}

bool is_llama_like(const std::string& key) {
  for (const std::string_view family :
       {"llama", "qwen", "mistral", "mixtral", "deepseek", "gemma", "yi", "internlm", "baichuan",
        "phi", "kimi", "glm", "smollm", "olmo", "aquila", "dbrx", "command"})
    if (key.starts_with(family) || contains(key, "llama")) return true;
  return false;
}

/// Widths that a row of sizes leaves out.
void complete(JobDraft& draft, ModelSizes& sizes, bool llama) {
  const auto note = [&](const char* what, int64_t value, std::string_view reason) {
    draft.fills().push_back(
        {fmt::format("model.{}", what), fmt::format("{}", value), std::string(reason)});
  };
  if (sizes.heads == 0 && sizes.hidden % 128 == 0) {
    sizes.heads = sizes.hidden / 128;
    note("heads", sizes.heads, "heads of 128");
  }
  if (sizes.ffn == 0) {
    sizes.ffn = llama ? sizes.hidden * 8 / 3 / 256 * 256 : 4 * sizes.hidden;
    note("ffn", sizes.ffn, llama ? "8/3 of the hidden size" : "4 times the hidden size");
  }
  if (sizes.vocab == 0) {
    sizes.vocab = llama ? 32000 : 50257;
    note("vocab", sizes.vocab, llama ? "Llama's" : "GPT-2's");
  }
  if (sizes.experts > 0 && sizes.top_k == 0) {
    sizes.top_k = 2;
    note("topk", 2, "Megatron-LM's");
  }
}

/// A model that no table knows, from the sizes that the row gives.
void take_sizes_as_model(JobDraft& draft, ModelSizes sizes) {
  const bool llama = is_llama_like(draft.name.key);
  complete(draft, sizes, llama);
  sizes.expert_ffn = sizes.experts > 0 ? sizes.ffn : 0;
  if (sizes.heads == 0)
    return draft.refuse("heads: blank, and the hidden size is no multiple of 128");
  const bool tied = contains(draft.cell("notes"), "tie_embeddings=True") ||
                    contains(draft.cell("notes"), "tie_word_embeddings=True");
  draft.say("model", llama ? llama_config(sizes, tied, false, false) : gpt_config(sizes), "model");
}

/// Fine-tuning packs short documents, question and context of SQuAD, into every sequence, each
/// attending to itself alone. GovReport's, which MLPerf trains on, fill a sequence of 8192; AutoModel
/// takes mock sequences.
void take_packing(JobDraft& draft) {
  if (draft.source_has("MLPerf") || draft.source_has("AutoModel")) return;
  draft.fill("packed_mean_length", "256", "fine-tuning packs SQuAD, documents of 200 to 400 tokens");
}

void take_task(JobDraft& draft) {
  const std::string task = squashed(draft.cell("task"));
  const bool lora = task == "lora" || task == "peft" || draft.name.lora;
  if (lora || task == "sft" || draft.name.fine_tuning) take_packing(draft);
  if (!lora) return;
  // Rank and targets are those of the recipes: NeMo's LoRA scheme and MLPerf's reference.
  const bool mlperf = draft.source_has("MLPerf");
  draft.fill("lora", mlperf ? "16" : "8", mlperf ? "MLPerf's reference: rank 16" : "NeMo's recipes");
  draft.fill(
      "lora_targets", mlperf ? "qkv,proj" : "qkv",
      mlperf ? "MLPerf's reference: attention's matrices" : "NeMo's performance recipes");
}

}  // namespace

void take_model(JobDraft& draft) {
  const ModelSizes row = sizes_in(draft);
  if (draft.error()) return;
  if (draft.cell("model").empty()) return draft.refuse("model: blank");
  const auto found = find_model(draft.name.key);
  const auto model =
      found ? spec::read_model(found->text) : base::Result<spec::Model>(base::input_error(""));
  const bool has_sizes = row.layers > 0 && row.hidden > 0;
  if (model && !(has_sizes && is_another(row, *model))) {
    draft.say("model", found->text, "model");
    draft.fills().push_back({"model", found->in_catalog ? found->text : "inline", found->where});
    if (differs(row.layers, model->layer_count()))
      draft.say("num_layers", fmt::format("{}", row.layers), "layers");
  } else if (has_sizes) {
    take_sizes_as_model(draft, row);
  } else if (found) {
    return draft.refuse(fmt::format("model: {}: {}", draft.cell("model"), model.error().message));
  } else {
    const auto near = nearest_model(draft.name.key);
    return draft.refuse(
        fmt::format("model: found \"{}\", which neither the catalog nor the model table knows, and "
                    "the row does not give its layers, hidden size and heads{}",
                    draft.cell("model"), near ? fmt::format("; is it {}?", *near) : ""));
  }
  take_task(draft);
}

}  // namespace ergometer::validation
