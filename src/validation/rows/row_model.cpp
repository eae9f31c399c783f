// Which model a row ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/text.h"

#include "spec/catalog/read.h"
#include "spec/model/model_names.h"
#include "validation/rows/job_draft.h"
#include "validation/rows/model_table.h"

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

/// Heads that divide the hidden size and that tensor parallelism divides, of nearly 128.
int64_t heads_for(int64_t hidden, int64_t tp) {
  int64_t best = 0;
  double best_ratio = 0;
  constexpr int64_t kMostHeads = 4096;
  for (int64_t heads = tp; heads <= std::min(hidden, kMostHeads); heads += tp) {
    if (hidden % heads != 0) continue;
    const double size = static_cast<double>(hidden / heads);
    const double ratio = size > 128 ? 128 / size : size / 128;
    if (ratio <= best_ratio) continue;
    best = heads;
    best_ratio = ratio;
  }
  return best;
}

/// Billions of parameters: the column, else what the name ends in.
double parameters_of(const JobDraft& draft) {
  if (const auto said = base::parse_number(draft.cell("params_b"));
      said && *said > 0 && *said < 1e5)
    return *said;
  const std::string& key = draft.name.key;
  if (key.empty() || (key.back() != 'b' && key.back() != 'm')) return 0;
  const size_t digits = key.find_last_not_of("0123456789.", key.size() - 2);
  const size_t begin = digits == key.npos ? 0 : digits + 1;
  const auto number =
      base::parse_number(std::string_view(key).substr(begin, key.size() - 1 - begin));
  return number && *number < 1e5 ? *number / (key.back() == 'm' ? 1000 : 1) : 0;
}

/// Depth and width of a GPT of which only the number of parameters, 12 l h^2 + V h, is known. The
/// widths are those of the SC21 paper's family; the first that needs a depth near a multiple of the
/// pipeline's stages is taken, else the nearest of all.
void guess_shape(JobDraft& draft, ModelSizes& sizes) {
  constexpr int64_t kMegatron[] = {768,  1024, 1536,  2048,  2304,  3072,  4096,
                                   6144, 8192, 10240, 12288, 16384, 20480, 25600};
  constexpr double kTolerance = 0.02;
  const double parameters = parameters_of(draft) * 1e9;
  std::span<const int64_t> widths = kMegatron;
  const int64_t given[] = {sizes.hidden};
  if (sizes.hidden > 0) widths = given;
  const double stages = static_cast<double>(std::max<int64_t>(draft.whole("pp").value_or(1), 1));
  double best = 1e9;
  for (const int64_t hidden : widths) {
    const double width = static_cast<double>(hidden);
    const double depth =
        (parameters - static_cast<double>(sizes.vocab) * width) / (12 * width * width);
    // The SC21 family is about 128 times as wide as deep.
    const bool slim = sizes.hidden == 0 && (depth * 70 > width * 1.4 || depth * 260 < width);
    if (depth < 1 || slim || depth > 1000) continue;
    const double whole = std::max(1.0, std::round(depth / stages)) * stages;
    const double error = std::fabs(whole - depth) / depth;
    if (error >= best) continue;
    best = error;
    sizes.hidden = hidden;
    sizes.layers = static_cast<int64_t>(error <= kTolerance ? whole : std::round(depth));
    if (error <= kTolerance) break;
  }
}

/// A number in a column; 0 if it is blank or none.
double number_in(const JobDraft& draft, std::string_view column) {
  return std::max(0.0, base::parse_number(draft.cell(column)).value_or(0));
}

/// The depth that N parameters of this width are, by BigScience's count of them.
struct BigScienceCount {
  double parameters = 0;  ///< N
  double attention = 0;   ///< s/6: what attention adds to the width; 0: not counted
  double head = 0;        ///< of the vocabulary, by width

  /// How far the depth is from a whole number, as a share of it; `layers` is that number.
  double error(int64_t hidden, int64_t& layers) const {
    const auto width = static_cast<double>(hidden);
    const double depth = (parameters - head * width) / (12 * width * (width + attention));
    const double whole = std::max(1.0, std::round(depth));
    layers = static_cast<int64_t>(whole);
    return std::fabs(whole - depth) / whole;
  }
};

/// A model of BigScience's logs, which name widths of few runs. Their TFLOP/s times their seconds
/// are a count of FLOPs, 8 N a token, whatever the speed: up to 20 Feb 2022 N is 12 l h^2, since
/// then 12 l h^2 (1 + s/6h + V/16lh). Where that count makes the depth whole for the width usual
/// then, to the logs' digits, or even closer for another width of theirs, and has the size of the
/// run's name, that shape is taken; else the usual width with the N of the name.
void find_bigscience_shape(JobDraft& draft, ModelSizes& sizes) {
  constexpr int64_t kLogged[] = {12288, 13312, 13824, 14336, 14400};
  constexpr double kUsual = 5e-4, kOther = 1.5e-4, kNamed = 0.025;
  const bool earlier = contains(draft.cell("flops_kind"), "earlier estimator");
  const auto seq = static_cast<double>(sizes.positions), vocab = static_cast<double>(sizes.vocab);
  const double named = parameters_of(draft) * 1e9;
  const bool given = sizes.hidden > 0;
  if (!given) sizes.hidden = earlier ? 14400 : 14336;
  BigScienceCount count{.parameters = named, .attention = 0, .head = earlier ? 0 : vocab};
  count.error(sizes.hidden, sizes.layers);

  const double tokens = 8 * number_in(draft, "gbs") * seq;
  if (tokens <= 0) return;
  count = {.parameters = 1e12 * number_in(draft, "tflops_per_gpu") * number_in(draft, "gpus") *
                         number_in(draft, "step_time_s") / tokens,
           .attention = earlier ? 0 : seq / 6,
           .head = earlier ? 0 : vocab * 12 / 16};
  const auto take = [&](int64_t hidden, double tolerance) {
    int64_t layers = 0;
    const auto width = static_cast<double>(hidden);
    const bool whole = count.error(hidden, layers) < tolerance;
    const double size = 12 * static_cast<double>(layers) * width * width + vocab * width;
    if (!whole || std::fabs(size / named - 1) > kNamed) return false;
    sizes.hidden = hidden;
    sizes.layers = layers;
    return true;
  };
  if (take(sizes.hidden, kUsual) || given) return;
  for (const int64_t hidden : kLogged)
    if (take(hidden, kOther)) return;
}

/// A row that names a GPT by its size alone.
void complete_shape(JobDraft& draft, ModelSizes& sizes) {
  if (sizes.layers > 0 && sizes.hidden > 0) return;
  if (!draft.name.key.starts_with("gpt") && !draft.name.key.starts_with("megatron")) return;
  if (parameters_of(draft) <= 0) return;
  if (sizes.layers > 0) {
    // The width from the depth: 12 l h^2 + V h is the number of parameters.
    const double depth = 12 * static_cast<double>(sizes.layers),
                 rows = static_cast<double>(sizes.vocab);
    const double width =
        (std::sqrt(rows * rows + 4 * depth * parameters_of(draft) * 1e9) - rows) / (2 * depth);
    sizes.hidden = std::max<int64_t>(1, std::llround(width / 256)) * 256;
  } else if (draft.source_has("BigScience")) {
    find_bigscience_shape(draft, sizes);
  } else {
    guess_shape(draft, sizes);
  }
  draft.fills().push_back({"model", fmt::format("{} layers of {}", sizes.layers, sizes.hidden),
                           fmt::format("a GPT of {} B parameters", parameters_of(draft))});
}

/// Widths that a row of sizes leaves out.
void complete(JobDraft& draft, ModelSizes& sizes, bool llama) {
  const auto note = [&](const char* what, int64_t value, std::string_view reason) {
    draft.fills().push_back(
        {fmt::format("model.{}", what), fmt::format("{}", value), std::string(reason)});
  };
  // BigScience's logs name heads only where they vary them; runs that they repeat there (12288,
  // 13312 and 13824 wide, to the second) have 64. For 14400 it is assumed: no run of that width
  // names them, and only heads that are not a multiple of 8 wide explain its rates.
  constexpr int64_t kBigScienceHeads = 64;
  if (sizes.heads == 0 && draft.source_has("BigScience") && sizes.hidden % kBigScienceHeads == 0) {
    sizes.heads = kBigScienceHeads;
    note("heads", sizes.heads, "BigScience's runs without a word on heads");
  }
  if (sizes.heads == 0) {
    sizes.heads = heads_for(sizes.hidden, std::max<int64_t>(draft.whole("tp").value_or(1), 1));
    note("heads", sizes.heads, "as near to 128 wide as divides");
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
    return draft.refuse("heads: blank, and no number of heads divides the hidden size and by tp");
  const bool tied = contains(draft.cell("notes"), "tie_embeddings=True") ||
                    contains(draft.cell("notes"), "tie_word_embeddings=True");
  draft.say("model", llama ? llama_config(sizes, tied, false, false) : gpt_config(sizes), "model");
}

/// Fine-tuning packs short documents, question and context of SQuAD, into every sequence, each
/// attending to itself alone. GovReport's, which MLPerf trains on, fill a sequence of 8192;
/// AutoModel takes mock sequences.
void take_packing(JobDraft& draft) {
  if (draft.source_has("MLPerf") || draft.source_has("AutoModel")) return;
  draft.fill("packed_mean_length", "256",
             "fine-tuning packs SQuAD, documents of 200 to 400 tokens");
}

void take_task(JobDraft& draft) {
  const std::string task = base::squashed(draft.cell("task"));
  const bool lora = task == "lora" || task == "peft" || draft.name.lora;
  if (lora || task == "sft" || draft.name.fine_tuning) take_packing(draft);
  if (!lora) return;
  // The rank is that of NeMo's recipes and of MLPerf's reference.
  const bool mlperf = draft.source_has("MLPerf");
  draft.fill("lora", mlperf ? "16" : "8",
             mlperf ? "MLPerf's reference: rank 16" : "NeMo's recipes");
}

}  // namespace

void take_model(JobDraft& draft) {
  ModelSizes row = sizes_in(draft);
  if (draft.error()) return;
  // BLOOM's vocabulary: with it the sizes that the logs give make the parameters that they give.
  if (row.vocab == 0 && draft.source_has("BigScience")) row.vocab = 250880;
  if (draft.cell("model").empty()) return draft.refuse("model: blank");
  const auto found = find_model(draft.name.key);
  const auto model = found ? spec::read_model(found->text) : Result<spec::Model>(input_error(""));
  if (!model || draft.source_has("BigScience")) complete_shape(draft, row);
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
    const auto near = spec::nearest_model(draft.name.key);
    return draft.refuse(
        fmt::format("model: found \"{}\", which neither the catalog nor the model table knows, and "
                    "the row does not give its layers, hidden size and heads{}",
                    draft.cell("model"), near ? fmt::format("; is it {}?", *near) : ""));
  }
  if (draft.name.mtp == false) draft.say("mtp_num_layers", "0", "model");
  if (draft.source_has("SimuMax"))
    draft.fill("mtp_num_layers", "0", "the suite does not train them");
  take_task(draft);
}

}  // namespace ergometer::validation
