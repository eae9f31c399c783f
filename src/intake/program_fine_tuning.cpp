#include <algorithm>

#include "intake/config/fine_tuning.h"
#include "intake/program_reader.h"

// Programs of intake/config/fine_tuning.h: by their words, over a file where they name one.

namespace ergometer::intake {
namespace {

constexpr ArgumentKnowledge kArguments = {fine_tuning_reads, fine_tuning_switch};

bool is_recipe(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

}  // namespace

std::string_view ProgramReader::fine_tuning_program() const {
  const auto own = fine_tuning_framework(launch_.foreign, launch_.program);
  // Its programs are called finetuning.py as many others are.
  return own.empty() && has("batch_size_training") ? "llama-recipes" : own;
}

Result<spec::FlatYaml> ProgramReader::fine_tuning_words() const {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kArguments));
  spec::FlatYaml words;
  for (const Argument& argument : arguments) {
    if (fine_tuning_reads(argument.name)) ERGOMETER_TRY(check_known(argument));
    if (!argument.unknown.empty() || argument.name == "config") continue;
    words[argument.name] = {argument.list.empty() ? "true" : argument.list, -1, argument.where};
  }
  // Hydra's: data.max_length=1024, with a plus where the file has none.
  for (const ShellText& word : launch_.arguments) {
    const size_t equals = word.text.find('='), begin = word.text.find_first_not_of('+');
    if (word.text.starts_with('-') || equals == word.text.npos || begin > equals) continue;
    const std::string key = word.text.substr(begin, equals - begin);
    if (fine_tuning_reads(key)) ERGOMETER_TRY(check_word(word, "trainer"));
    if (!ShellUnknowns::in(word.text))
      words[key] = {word.text.substr(equals + 1), -1, run_.session.where(word.line)};
  }
  return words;
}

Result<Reading> ProgramReader::fine_tuning(std::string_view framework) const {
  ERGOMETER_ASSIGN(spec::FlatYaml words, fine_tuning_words());
  const bool litgpt = framework == "LitGPT" && !launch_.arguments.empty();
  const std::string command = litgpt ? launch_.arguments.front().text : "";
  // Behind LitGPT's command stands the folder of the model, or its name.
  if (litgpt && launch_.arguments.size() > 1 && !launch_.arguments[1].text.starts_with('-')) {
    const ShellText& model = launch_.arguments[1];
    words[command == "pretrain" ? "model_name" : "checkpoint_dir"] = {
        model.text, -1, run_.session.where(model.line)};
  }
  const auto file = std::ranges::find_if(
      launch_.arguments, [](const ShellText& word) { return is_recipe(word.text); });
  if (file == launch_.arguments.end())
    return read_fine_tuning(framework, words, run_.session.name, command);
  const std::string path =
      file->text.substr(file->text.starts_with("--") ? file->text.find('=') + 1 : 0);
  ERGOMETER_ASSIGN(const std::string text, text_of(path, file->line, "--config"));
  return parse_fine_tuning(framework, text, path, words, command);
}

}  // namespace ergometer::intake
