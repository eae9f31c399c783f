#include <algorithm>
#include <filesystem>

#include "intake/program_reader.h"
#include "intake/reader/framework_options.h"
#include "intake/research/internevo.h"
#include "intake/research/llm_c.h"
#include "intake/research/maxtext.h"
#include "intake/research/nanogpt.h"
#include "intake/research/olmo.h"
#include "intake/research/xtuner.h"

// Programs of intake/research, by the files and words that stand behind them.

namespace ergometer::intake {

bool ProgramReader::is_nanogpt() const {
  if (const auto text = own_text()) return is_nanogpt_program(*text);
  const auto is_word = [](const ShellText& word) { return is_nanogpt_word(word.text); };
  if (std::ranges::count_if(launch_.arguments, is_word) > 1) return true;
  return std::ranges::any_of(launch_.arguments, [&](const ShellText& word) {
    if (!word.text.ends_with(".py") || ShellUnknowns::in(word.text)) return false;
    const auto text = text_of(word.text, word.line, launch_.name);
    return text && is_nanogpt_config(*text);
  });
}

Result<Reading> ProgramReader::nanogpt() const {
  std::vector<NanoGptWord> words;
  for (const ShellText& word : launch_.arguments) {
    ERGOMETER_TRY(check_word(word, "nanogpt"));
    if (!ShellUnknowns::in(word.text)) words.push_back({word.text, run_.session.where(word.line)});
  }
  const auto program = own_text();
  ERGOMETER_ASSIGN(
      Reading reading,
      read_nanogpt(
          program && is_nanogpt_program(*program) ? *program : "", own_path(), words,
          [&](const std::string& path) { return text_of(path, launch_.line, launch_.name); },
          own_start()));
  count_alone({}, false, reading);
  return reading;
}

Result<spec::FlatYaml> ProgramReader::dotted_words(std::string_view framework) const {
  spec::FlatYaml words;
  for (const ShellText& word : launch_.arguments) {
    std::string text = word.text;
    const size_t begin = text.find_first_not_of("-+");
    if (begin == text.npos) continue;
    // OLMo's clean_opt: a name alone is on, and dashes are underscores.
    const bool of_olmo = framework == "olmo";
    if (of_olmo && begin > 0 && text.find('=') == text.npos) text += "=true";
    const size_t equals = text.find('=');
    if (equals == text.npos || begin >= equals) continue;
    if (of_olmo) std::replace(text.begin(), text.begin() + static_cast<int64_t>(equals), '-', '_');
    ERGOMETER_TRY(check_word({text.substr(begin), word.line}, framework));
    if (!ShellUnknowns::in(text))
      words[text.substr(begin, equals - begin)] = {text.substr(equals + 1), -1,
                                                   run_.session.where(word.line)};
  }
  return words;
}

Result<Reading> ProgramReader::olmo(const std::string& text, const std::string& path) const {
  ERGOMETER_ASSIGN(const spec::FlatYaml words, dotted_words("olmo"));
  ERGOMETER_ASSIGN(Reading reading, parse_olmo(text, path, words));
  count_alone({}, false, reading);
  return reading;
}

/// A process of JAX drives all GPUs of its node: launchers count nodes.
Result<Reading> ProgramReader::maxtext() const {
  ERGOMETER_ASSIGN(const spec::FlatYaml words, dotted_words("maxtext"));
  const auto file = std::ranges::find_if(launch_.arguments, [](const ShellText& word) {
    return word.text.ends_with(".yml") || word.text.ends_with(".yaml");
  });
  if (file == launch_.arguments.end()) return refuse("names no file: MaxText takes base.yml first");
  const auto text = text_of(file->text, file->line, launch_.name);
  // What it says is known where it is not here.
  const bool base = std::filesystem::path(file->text).filename() == "base.yml";
  if (!text && !base) return tl::unexpected(text.error());
  ERGOMETER_ASSIGN(Reading reading, parse_maxtext(text ? *text : "run_name: \"\"\n",
                                                  text ? file->text : run_.session.name, words));
  // JAX makes its mesh of all GPUs, and stops where the axes take others.
  if (const auto* axes = reading.settings.find("gpus");
      axes != nullptr && launch_.gpus > 0 && axes->text != std::to_string(launch_.gpus))
    return input_error("{}: {}: its axes take {} GPUs, found {} by {}", axes->origin.text,
                       axes->origin.key, axes->text, launch_.gpus, launch_.gpus_from);
  return reading;
}

/// `xtuner train CONFIG.py --deepspeed deepspeed_zero2`
Result<Reading> ProgramReader::xtuner() const {
  spec::FlatYaml words;
  std::string path;
  int line = launch_.line;
  for (size_t i = 0; i < launch_.arguments.size(); ++i) {
    const ShellText& word = launch_.arguments[i];
    if (word.text.ends_with(".py") && path.empty()) {
      path = word.text;
      line = word.line;
    }
    if (names_[i] == "cfg_options")
      return refuse(
          "changes its configuration by --cfg-options, which is not read; write it there");
    if (names_[i] != "deepspeed") continue;
    ERGOMETER_TRY(check_word(word, "xtuner"));
    words["deepspeed"] = {value_of(i), -1, run_.session.where(word.line)};
  }
  if (path.empty())
    return refuse(
        "takes a configuration by its name, which is not known here; `xtuner copy-cfg NAME .` "
        "writes it");
  ERGOMETER_ASSIGN(const std::string text, text_of(path, line, launch_.name));
  return parse_xtuner(text, path, words);
}

Result<std::optional<Reading>> ProgramReader::internevo() const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] != "config" || !value_of(i).ends_with(".py")) continue;
    const auto text = text_of(value_of(i), launch_.arguments[i].line, launch_.name);
    if (text && is_internevo_config(*text)) {
      ERGOMETER_ASSIGN(Reading reading, parse_internevo(*text, value_of(i)));
      return reading;
    }
    if (!text && has("launcher")) return tl::unexpected(text.error());
  }
  return std::optional<Reading>();
}

Result<Reading> ProgramReader::llm_c() const {
  std::vector<LlmCWord> words;
  for (const ShellText& word : launch_.arguments)
    words.push_back({word.text, run_.session.where(word.line)});
  // What is not known may stand in a path.
  for (size_t i = 1; i < words.size(); i += 2)
    if (ShellUnknowns::in(words[i].text) &&
        classify("llm-c", words[i - 1].text, "").kind != Leftover::Kind::kNoEffect)
      return input_error("{}: {} depends on {}", words[i].where, words[i - 1].text,
                         run_.session.unknowns.reason(words[i].text));
  ERGOMETER_ASSIGN(Reading reading, read_llm_c(words, run_.session.name));
  // Its number format is settled when it is built: `make train_gpt2cu PRECISION=FP32`.
  for (const ShellCommand& command : run_.commands)
    for (const ShellText& word : command.words) {
      if (!word.text.starts_with("PRECISION=") || word.text == "PRECISION=BF16") continue;
      reading.defaults.erase("precision");
      reading.open["precision"] =
          fmt::format("{}: it is built with {}; give --precision (and --tf32, if its products are)",
                      run_.session.where(word.line), word.text);
    }
  if (reading.settings.find("gpus") == nullptr) count_alone({}, false, reading);
  return reading;
}

}  // namespace ergometer::intake
