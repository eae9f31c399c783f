#include "intake/research/llm_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/flat_reader.h"

namespace ergometer::intake {
namespace {

/// GPT-2 by depth, as gpt2_set_hyperparameters() makes it, and the file of OpenAI's weights.
struct DepthOfGpt2 {
  int64_t layers, channels, heads;
  std::string_view weights;
};
constexpr std::array kDepths = std::to_array<DepthOfGpt2>({{6, 384, 6, ""},
                                                           {12, 768, 12, "gpt2_124M"},
                                                           {24, 1024, 16, "gpt2_355M"},
                                                           {36, 1280, 20, "gpt2_774M"},
                                                           {48, 1600, 25, "gpt2_1558M"},
                                                           {60, 1920, 30, ""},
                                                           {72, 2880, 30, ""},
                                                           {84, 3456, 36, ""}});

class LlmCReader {
 public:
  LlmCReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "llm-c") {}

  Result<Reading> read() {
    read_model();
    read_batch();
    constexpr const char *kZero = "-z", *kMaster = "-w", *kAgain = "-r";
    read_.set_count("zero", number(kZero, 0, 1), kZero);
    read_.set_flag("master_weights", number(kMaster, 1, 1) == 1, kMaster);
    if (number(kAgain, 1, 2) > 0)
      read_.not_modelled(kAgain,
                         "memory and time: GeLU, and with 2 norms, are computed again; "
                         "predicted as kept");
    read_.set_default("recompute_granularity", "none", "llm.c keeps what layers make");
    read_.set_default("precision", "bf16", "llm.c as make builds it, PRECISION=BF16");
    read_.note(
        "attention is taken to be cuDNN's (make USE_CUDNN=1); without it, llm.c's own is slower");
    if (const int64_t processes = number("-pn", 1, 1'000'000); processes > 1)
      read_.set_count("gpus", processes, "-pn");
    read_.set_framework("llm-c");
    return read_.finish("llm.c's words");
  }

 private:
  int64_t number(const char* key, int64_t fallback, int64_t most, int64_t least = 0) {
    const auto said = read_.has(key) ? read_.integer(key, least) : std::optional(fallback);
    if (!said || *said > most) read_.refuse(key, "a whole number of at most {}", most);
    return said.value_or(fallback);
  }

  /// "d48", "gpt2:d48", "gpt2_124M_bf16.bin"
  void read_model() {
    constexpr const char* kModel = "-e";
    std::string name = read_.text(kModel, "gpt2_124M_bf16.bin");
    name.erase(0, name.rfind('/') + 1);
    if (name.starts_with("gpt2:")) name.erase(0, 5);
    const auto known = std::ranges::find_if(kDepths, [&](const DepthOfGpt2& it) {
      return name == fmt::format("d{}", it.layers) ||
             (!it.weights.empty() && name.ends_with(".bin") && name.starts_with(it.weights));
    });
    if (known == kDepths.end())
      return read_.refuse(
          kModel,
          "d6, d12, d24, d36, d48, d60, d72, d84, or OpenAI's gpt2_124M.bin to gpt2_1558M.bin");
    constexpr int64_t kPositions = 1024, kWords = 50257;
    read_.set("model",
              nlohmann::json{{"model_type", "gpt2"},
                             {"n_layer", known->layers},
                             {"n_head", known->heads},
                             {"n_embd", known->channels},
                             {"n_positions", kPositions},
                             {"vocab_size", kWords}}
                  .dump(),
              kModel);
    read_.set_default("dropout", "0", "llm.c has no dropout");
  }

  /// -d counts the tokens of a step on all GPUs.
  void read_batch() {
    constexpr const char *kBatch = "-b", *kLength = "-t", *kTokens = "-d";
    constexpr int64_t kMost = 1'000'000'000;
    const int64_t batch = number(kBatch, 4, kMost, 1), length = number(kLength, 1024, 1024, 1);
    read_.set_count("micro_batch_size", batch, kBatch);
    read_.set_count("seq_length", length, kLength);
    const auto tokens =
        read_.has(kTokens) ? read_.integer(kTokens, -1) : std::optional<int64_t>(-1);
    if (!tokens) return read_.refuse(kTokens, "a whole number of tokens");
    if (*tokens <= 0)
      return read_.set_default("gradient_accumulation_steps", "1", "llm.c's default");
    if (length == 0 || *tokens % length != 0)
      return read_.refuse(kTokens, "a multiple of {}, the tokens of a sequence", length);
    read_.set_count("global_batch_size", *tokens / length, kTokens);
  }

  FlatReader read_;
};

}  // namespace

bool is_llm_c(std::string_view program) { return base::last_part(program, '/') == "train_gpt2cu"; }

Result<Reading> read_llm_c(const std::vector<LlmCWord>& words, const std::string& file) {
  spec::FlatYaml values;
  for (size_t i = 0; i < words.size(); i += 2) {
    const std::string& name = words[i].text;
    if (!name.starts_with('-') || name.size() > 3 || i + 1 == words.size())
      return input_error("{}: {}: found \"{}\"; allowed: pairs of an option and its value, as -b 4",
                         words[i].where, "train_gpt2cu", name);
    values[name] = {words[i + 1].text, -1, words[i].where};
  }
  return LlmCReader(values, file).read();
}

}  // namespace ergometer::intake
