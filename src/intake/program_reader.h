#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "intake/config/hydra_defaults.h"
#include "intake/config/published_files.h"
#include "intake/config/trainer_arguments.h"
#include "intake/read_user_file.h"
#include "intake/reader/reading.h"
#include "intake/script/argument.h"
#include "intake/script/shell_launch.h"
#include "intake/trainer/trainer_program.h"

namespace ergometer::intake {

/// Whether an argument of the Trainer makes another job; the reader knows more, which change less.
bool trainer_reads(std::string_view name);

/// Of programs whose words are all settings of theirs.
constexpr ArgumentKnowledge kAllCount = {[](std::string_view) { return true; },
                                         [](std::string_view) { return false; }};

/// Whether a word is Hydra's `model.micro_batch_size=4`.
bool is_override(const std::string& word);

/// What read_program() reads a program with. Its parts: which framework's it is, and by which file
/// (started_program.cpp), Megatron-LM's (program_megatron.cpp), NeMo's (program_nemo.cpp), those on
/// PyTorch's own parallelism (program_torch.cpp), programs on the Trainer with their launcher and
/// front ends (program_trainer.cpp), ms-swift's (program_swift.cpp), GPT-NeoX's (program_neox.cpp),
/// those of research (program_research.cpp), those with a dozen words of their own
/// (program_fine_tuning.cpp).
class ProgramReader {
 public:
  ProgramReader(const Launch& launch, const ShellRun& run);
  Result<Reading> read();
  /// Of files that are not here: what was taken in their place.
  const std::set<std::string>& published() const { return published_; }
  /// Refused: what counts and is not known in a file that the script wrote.
  static Result<void> check_read(const Reading& reading);

 private:
  /// A program that its name, its launcher or its words tell apart; else nothing.
  Result<std::optional<Reading>> by_name();
  /// One whose own text says the job; else nothing.
  Result<std::optional<Reading>> by_own_text() const;
  bool has(std::string_view name) const { return base::contains(names_, name); }
  /// Hydra's --config-name has a dash; with an underscore it is the Trainer's word for a model.
  bool names_hydra_file() const {
    return std::ranges::any_of(launch_.arguments, [](const ShellText& word) {
      return word.text.starts_with("--config-name");
    });
  }
  bool has_any(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(names, [&](std::string_view name) { return has(name); });
  }
  /// Whether the program takes Megatron-LM's arguments: by its name, or by arguments that others do
  /// not have, spelled with dashes as there.
  bool is_megatron() const;
  /// A file that the script wrote, or one that is here. What is not known in it is a number that
  /// nobody writes, which `check_read` looks for in what counts.
  Result<std::string> text_of(const std::string& path, int line, std::string_view what) const;
  /// Whether a path that is not here is the file that a framework's repository has there.
  bool takes_published(const PublishedFile& file, const std::string& path) const;
  bool may_be_made(const std::string& path) const;
  bool is_program_of(std::string_view publisher) const;
  int line_of(std::string_view name) const;
  Result<void> check_known(const Argument& argument) const;
  Result<Reading> torchtitan();
  /// `--module llama3 --config llama3_8b`: a function of the module's registry in Python.
  Result<Reading> torchtitan_function(const std::string& module, const std::string& config,
                                      const spec::FlatYaml& overrides) const;
  /// NeMo 2's `nemo llm pretrain --factory llama3_8b trainer.devices=4`.
  Result<Reading> nemo_recipe() const;
  /// Hydra: a file of --config-path and --config-name, and words like model.micro_batch_size=4.
  struct HydraWords {
    std::string folder, name;
    int line = 0;  ///< of the name, else the launch's
    spec::FlatYaml overrides;
    HydraChoices choices;
  };
  HydraWords hydra_words() const;
  /// Leaves out what is not known and changes nothing of the job. Refused: what does and is not
  /// known.
  Result<void> settle_overrides(spec::FlatYaml& overrides) const;
  Result<Reading> nemo();
  /// What accelerate is told: by its words before its file, by that before its environment.
  Result<Reading> accelerate() const;
  /// The program's words for the Trainer. Files that they name join `files`, and what the script
  /// wrote of DeepSpeed `written`; `beside_file`: another framework's file says the rest.
  /// `program`: what its own text says, or null.
  Result<std::vector<TrainerArgument>> trainer_words(const std::vector<Argument>& arguments,
                                                     TrainerProgram* program, bool beside_file,
                                                     Reading& files, spec::Settings& written) const;
  /// The launcher's file, the program's own (`configuration`), then its arguments.
  Result<Reading> trainer(std::optional<Reading> file, FileForm form,
                          std::optional<TrainerProgram> program);
  /// The program's own text, of a module as well, and what it is started with.
  std::string own_path() const;
  Result<std::string> own_text() const;
  PythonStart own_start() const;
  /// The values of a file of arguments, with where they stand; files that it names by their paths.
  static Result<spec::FlatYaml> values_of_file(const std::string& text, const std::string& path);
  /// Whether a word, the first or --config's, is a file of arguments, and its path.
  bool names_file(size_t word) const;
  std::string value_of_file(size_t word) const;
  /// Where the program's own text is known: what it tells the Trainer.
  Result<std::optional<TrainerProgram>> own_program() const;
  /// The front end of the Trainer that the program is.
  TrainerKind trainer_kind() const;
  Result<void> add_deepspeed(const Argument& config, Reading& files) const;
  /// --deepspeed_config without --deepspeed: whether its file was read. Refused: what the program's
  /// parser refuses.
  Result<bool> read_lone_deepspeed(const std::vector<Argument>& arguments,
                                   const TrainerProgram* program, Reading& files) const;
  /// A bare --deepspeed is DeepSpeed's own switch: the program makes its configuration, as
  /// DeepSpeed-Chat does of --zero_stage and --offload.
  Result<void> read_own_deepspeed(const std::vector<Argument>& arguments, Reading& files) const;
  /// `llamafactory-cli train job.yaml`, `python -m axolotl.cli.train job.yml`, `sft.py --config
  /// recipe.yaml`; nothing where no file says how a model is trained.
  Result<std::optional<Reading>> configuration(FileForm& form);
  /// The files behind GPT-NeoX's program, from the folder of deepy.py's -d; it needs no ".yml".
  std::vector<ShellText> neox_files() const;
  /// The GPUs of the hosts that its launcher is told of; 0: not known.
  int64_t neox_gpus() const;
  /// GPT-NeoX takes all files behind its program as one.
  Result<Reading> neox() const;
  /// Refused: a word key=value of which the value is not known, unless the key changes nothing.
  Result<void> check_word(const ShellText& word, std::string_view framework) const;
  /// `composer train.py FILE key=value ...`; nothing where no file is LLM Foundry's.
  Result<std::optional<Reading>> foundry() const;
  /// The framework of intake/config/fine_tuning.h that the program is of; empty: none.
  bool learns_from_its_answers() const;
  /// Whether an option has this value.
  bool gives(std::string_view name, std::string_view value) const;
  /// slime on given answers: its loop of generation stands still.
  bool is_slime_fine_tuning() const;
  void read_slime(Reading& reading) const;
  std::string_view fine_tuning_program() const;
  Result<spec::FlatYaml> fine_tuning_words() const;
  Result<Reading> fine_tuning(std::string_view framework) const;
  /// nanoGPT's train.py, by its own text or a file of assignments behind it.
  bool is_nanogpt() const;
  Result<Reading> nanogpt() const;
  /// Words `--model.n_layers=16` and `key=value` by their names.
  Result<spec::FlatYaml> dotted_words(std::string_view framework) const;
  Result<Reading> olmo(const std::string& text, const std::string& path) const;
  Result<Reading> maxtext() const;
  Result<Reading> xtuner() const;
  /// `train.py --config configs/7B_sft.py`; nothing where that is no configuration of InternEvo.
  Result<std::optional<Reading>> internevo() const;
  Result<Reading> llm_c() const;
  /// `tune run RECIPE --config FILE key=value ...`
  Result<Reading> torchtune() const;
  /// What a file finds in its program's environment.
  ScriptContext context() const;
  /// Axolotl's file with the options behind it, which are named as its keys.
  Result<Reading> parse_axolotl_program(const std::string& text, const std::string& path) const;
  /// LightningCLI's file with the words behind it: `fit --config x.yaml --trainer.devices 8`.
  Result<Reading> lightning(const std::string& text, const std::string& path) const;
  /// LLaMA-Factory's file with the words behind it: `llamafactory-cli train x.yaml
  /// cutoff_len=1024`.
  Result<Reading> parse_llama_factory(const std::string& text, const std::string& path) const;
  /// A DeepSpeed file that the script wrote, in place of its name in LLaMA-Factory's or Axolotl's.
  Result<void> add_written_deepspeed(const std::string& text, const std::string& path,
                                     spec::FlatYaml& overrides) const;
  /// Primus' file with Megatron-LM's words behind it, which go before.
  Result<Reading> primus(Reading file) const;
  /// Refused: words that make another job beside a file that is not known to give way to them.
  Result<void> check_beside_file(FileForm form) const;
  Result<Reading> megatron();
  /// The words of ms-swift, and those of its --config file that they leave open.
  Result<std::vector<Argument>> swift_arguments() const;
  /// ms-swift's `swift sft`, which is the Trainer under other words.
  Result<Reading> swift() const;
  /// Its `megatron sft`, which is Megatron-LM with true and false.
  Result<Reading> megatron_swift() const;
  /// How many GPUs it takes where no launcher says it.
  void count_alone(const OwnProcesses& own, bool of_trainer, Reading& reading) const;
  /// --zero-stage 0 beside bf16's own optimizer, which shards states all the same.
  void note_own_words(const TrainerProgram& program, Reading& reading) const;
  void choose_attention(spec::Settings& settings) const;
  static bool shards_without_zero(const spec::Settings::Value& value, const Reading& reading);

  /// What a word says of its name: what stands behind its '=', or the next word.
  std::string value_of(size_t word) const;
  /// An error that begins with where the program is started, and its name.
  template <class... Parts>
  tl::unexpected<base::Error> refuse(fmt::format_string<Parts...> says, Parts&&... parts) const {
    return input_error("{}: {} {}", run_.session.where(launch_.line), launch_.name,
                       fmt::format(says, std::forward<Parts>(parts)...));
  }

  /// What a file of the Trainer's arguments says where no word does, by `configuration`.
  spec::FlatYaml file_values_;

  mutable std::set<std::string> published_;
  const Launch& launch_;
  const ShellRun& run_;
  std::vector<std::string> names_;
};

}  // namespace ergometer::intake
