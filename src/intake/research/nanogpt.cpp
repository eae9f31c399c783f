#include "intake/research/nanogpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/shared_words.h"

namespace ergometer::intake {
namespace {

constexpr std::string_view kConfigurator = "configurator.py";

/// What train.py assigns before it reads words. Numbers of line 0 are defaults.
spec::FlatYaml published_values() {
  spec::FlatYaml values;
  for (const auto& [name, value] : {std::pair("gradient_accumulation_steps", "40"),
                                    {"batch_size", "12"},
                                    {"block_size", "1024"},
                                    {"n_layer", "12"},
                                    {"n_head", "12"},
                                    {"n_embd", "768"},
                                    {"dropout", "0.0"},
                                    {"bias", "False"},
                                    {"init_from", "scratch"},
                                    {"dataset", "openwebtext"},
                                    {"device", "cuda"},
                                    {"compile", "True"}})
    values[name] = {value, 0};
  return values;
}

class NanoGptReader {
 public:
  /// `is_shared`: steps of accumulation are those of all GPUs together, which train.py divides.
  NanoGptReader(const spec::FlatYaml& values, const std::string& file, bool is_shared)
      : read_(values, file, "nanogpt"), is_shared_(is_shared) {}

  Result<Reading> read() {
    const std::string device = read_.text("device", "cuda");
    if (!device.starts_with("cuda")) read_.refuse("device", "cuda");
    read_model();
    read_batch();
    read_number_format();
    read_.reading().settings.set("zero", "0", {read_.file() + ", PyTorch DDP alone", ""});
    read_.reading().settings.set("overlap_grad_reduce", "true",
                                 {read_.file() + ", PyTorch DDP's way", ""});
    read_.set_default("recompute_granularity", "none", "nanoGPT computes nothing again");
    const bool compiles = read_.flag("compile", true);
    read_.set_framework(compiles ? "nanogpt" : "nanogpt-eager");
    return read_.finish("a configuration of nanoGPT");
  }

 private:
  void read_model() {
    const std::string from = read_.text("init_from", "scratch");
    if (from.starts_with("gpt2")) return read_published(from);
    if (from != "scratch" && from != "resume")
      return read_.refuse("init_from", "scratch, resume, gpt2, gpt2-medium, gpt2-large, gpt2-xl");
    if (from == "resume")
      read_.note(
          "{}: resumed: the model is taken to have the sizes that are said here, and has "
          "those of its checkpoint",
          read_.origin("init_from").text);
    const bool bias = read_.flag("bias", false);
    const int64_t layers = read_.size("n_layer"), heads = read_.size("n_head"),
                  hidden = read_.size("n_embd"), words = vocabulary(),
                  positions = read_.size("block_size");
    // MPT without ALiBi is GPT-2 whose biases can be left out.
    const nlohmann::json model =
        bias ? nlohmann::json{{"model_type", "gpt2"},     {"n_layer", layers},
                              {"n_head", heads},          {"n_embd", hidden},
                              {"n_positions", positions}, {"vocab_size", words}}
             : nlohmann::json{{"model_type", "mpt"},
                              {"n_layers", layers},
                              {"n_heads", heads},
                              {"d_model", hidden},
                              {"max_seq_len", positions},
                              {"vocab_size", words},
                              {"expansion_ratio", 4},
                              {"no_bias", true},
                              {"attn_config", {{"alibi", false}}},
                              {"tie_word_embeddings", true}};
    read_.set("model", model.dump(), "n_embd");
    read_dropout();
  }
  /// GPT-2 as OpenAI published it: sizes that are said beside it do not count.
  void read_published(const std::string& name) {
    constexpr std::array kModels =
        std::to_array<std::string_view>({"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"});
    if (!base::contains(kModels, name))
      return read_.refuse("init_from", "gpt2, gpt2-medium, gpt2-large, gpt2-xl");
    read_.set("model", name, "init_from");
    for (const char* key : {"n_layer", "n_head", "n_embd", "bias", "dataset"}) read_.find(key);
    if (read_.integer("block_size", 1).value_or(1) > 1024)
      read_.refuse("block_size", "at most 1024, GPT-2's");
    read_dropout();
  }
  void read_dropout() {
    const auto share = base::parse_number(read_.text("dropout", "0"));
    if (!share || *share < 0 || *share >= 1) return read_.refuse("dropout", "0 to 1");
    read_.set("dropout", read_.text("dropout", "0"), "dropout");
  }
  /// GPT-2's padded to a multiple of 64, unless the data's meta.pkl says another.
  int64_t vocabulary() {
    constexpr int64_t kPadded = 50304, kCharactersOfShakespeare = 65;
    const std::string data = read_.text("dataset", "openwebtext");
    if (data == "shakespeare_char") return kCharactersOfShakespeare;
    if (data != "openwebtext" && data != "shakespeare")
      read_.note(
          "the vocabulary of data/{} is taken to be GPT-2's, {} words; a meta.pkl beside "
          "its data says another",
          data, kPadded);
    return kPadded;
  }

  void read_batch() {
    constexpr const char *kBatch = "batch_size", *kSteps = "gradient_accumulation_steps";
    const int64_t batch = read_.size(kBatch), steps = read_.has(kSteps) ? read_.size(kSteps) : 1;
    read_.set_count("micro_batch_size", batch, kBatch);
    read_.set_count("seq_length", read_.size("block_size"), "block_size");
    if (is_shared_)
      read_.set_count("global_batch_size", batch * steps, kSteps);
    else
      read_.set_count("gradient_accumulation_steps", steps, kSteps);
  }

  /// Without a word bfloat16 where the GPU has it.
  void read_number_format() {
    const std::string type = read_.text("dtype");
    if (type.empty() || base::contains(type, "torch.cuda.is_")) {
      read_.set_default("precision", "bf16", "nanoGPT's default where a GPU has bfloat16");
      return;
    }
    const std::string_view format = format_of_type(type);
    if (format.empty()) return read_.refuse("dtype", "bfloat16, float16, float32");
    read_.set("precision", std::string(format), "dtype");
    if (type == "float32")
      read_.reading().settings.set(
          "tf32", "true", {read_.file() + ", nanoGPT's torch.backends.cuda.matmul.allow_tf32", ""});
  }

  FlatReader read_;
  const bool is_shared_;
};

/// Its own names, before it reads words.
std::string before_words(const std::string& program) {
  const size_t at = program.find(kConfigurator);
  return program.substr(0, at == program.npos ? at : program.rfind('\n', at) + 1);
}

/// Names by which its words and files are known; others have batches and iterations as well.
constexpr std::array kNames = std::to_array<std::string_view>(
    {"block_size", "n_layer", "n_head", "n_embd", "init_from", "eval_iters", "lr_decay_iters",
     "eval_only", "always_save_checkpoint"});

}  // namespace

bool is_nanogpt_program(const std::string& text) {
  const std::string code = without_comments(text);
  return base::contains(code, kConfigurator) && base::contains(code, "block_size");
}

bool is_nanogpt_config(const std::string& written) {
  const std::string text = "\n" + without_comments(written);
  for (const char* other : {"\ndef ", "\nclass ", "\nfrom ", "torch", "lightning"})
    if (base::contains(text, other)) return false;
  const auto assigns = [&](std::string_view name) {
    return std::ranges::any_of(words_of(text, name), [&](size_t at) {
      const size_t next = text.find_first_not_of(" \t", at + name.size());
      return text[at - 1] == '\n' && next != text.npos && text[next] == '=';
    });
  };
  return std::ranges::count_if(kNames, assigns) > 1;
}

bool is_nanogpt_word(std::string_view word) {
  const size_t equals = word.find('=');
  return word.starts_with("--") && equals != word.npos &&
         base::contains(kNames, word.substr(2, equals - 2));
}

Result<Reading> read_nanogpt(
    const std::string& program, const std::string& file, const std::vector<NanoGptWord>& words,
    const std::function<Result<std::string>(const std::string& path)>& read,
    const PythonStart& start) {
  const std::string code = without_comments(program), own = before_words(code);
  const PythonStart environment = {start.environment, {}};
  const bool is_shared = code.empty() || base::contains(code, "gradient_accumulation_steps //=");
  spec::FlatYaml values = code.empty() ? published_values() : spec::FlatYaml();
  if (!code.empty()) ERGOMETER_TRY(add_python_globals(own, file, environment, values));
  if (!code.empty() && !values.contains("compile"))
    values["compile"] = {base::contains(code, "torch.compile(") ? "True" : "False", 0};
  // configurator.py refuses others as well.
  const auto is_own = [&](const std::string& name) {
    if (!code.empty()) return !words_of(own, name).empty();
    return values.contains(name) || name == "dtype" ||
           classify("nanogpt", name, "").kind == Leftover::Kind::kNoEffect;
  };
  for (const NanoGptWord& word : words) {
    const size_t equals = word.text.find('=');
    if (equals == word.text.npos && word.text.starts_with("--"))
      return input_error("{}: {}: nanoGPT takes --name=value in one word, and files", word.where,
                         word.text);
    if (equals == word.text.npos) {
      ERGOMETER_ASSIGN(const std::string text, read(word.text));
      ERGOMETER_TRY(add_python_globals(text, word.text, environment, values));
      continue;
    }
    const std::string name = word.text.substr(0, equals);
    if (!name.starts_with("--"))
      return input_error("{}: {}: allowed: --{}", word.where, word.text, word.text);
    if (!is_own(name.substr(2)))
      return input_error("{}: {}: no name of nanoGPT's train.py, which takes no others", word.where,
                         name);
    const std::string said = word.text.substr(equals + 1);
    values[name.substr(2)] = {literal(said).value_or(said), -1, word.where};
  }
  ERGOMETER_ASSIGN(Reading reading, NanoGptReader(values, file, is_shared).read());
  if (program.empty())
    reading.notes.push_back(
        "what neither words nor files say is taken as nanoGPT's published train.py says it");
  return reading;
}

}  // namespace ergometer::intake
