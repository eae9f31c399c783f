#include "intake/trainer/model_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/model_python.h"
#include "intake/reader/python_changes.h"
#include "intake/reader/python_names.h"
#include "intake/reader/python_objects.h"

namespace ergometer::intake {
namespace {

class ModelChanges : ProgramPart {
 public:
  explicit ModelChanges(ProgramText& from) : ProgramPart(from) {}

  /// model.gradient_checkpointing_enable(), which holds whatever the arguments say.
  Result<void> read_checkpointing() {
    for (const char* name : {"gradient_checkpointing_disable", "gradient_checkpointing_enable"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at)) continue;
        const int line = line_at(text_, at);
        const auto reached = values_.reached(at, true);
        if (reached && !*reached) continue;
        const int branch = reached ? 0 : statements_.branch(at, behind_bracket(text_, open));
        if (branch != 0) return in_branch(line, fmt::format("{}()", name), branch);
        const bool on = std::string_view(name).ends_with("enable");
        if (on)
          program_.values["gradient_checkpointing"] = {"true", line};
        else
          program_.values.try_emplace("gradient_checkpointing", spec::FlatValue{"false", line});
      }
    return {};
  }

  /// What makes a model ready for adapters computes layers again as well: PEFT's by default, and
  /// Unsloth's with checkpoints on the host.
  Result<void> read_preparation() {
    for (const char* name :
         {"prepare_model_for_kbit_training", "prepare_model_for_int8_training", "get_peft_model"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        if (is_definition(at)) continue;
        // FastLanguageModel.get_peft_model
        const size_t owner = statements_.start(at) + statements_.statement(at).find("Fast");
        const bool of_unsloth = owner < at && text_.substr(owner, at - owner).ends_with("Model.");
        const bool prepares = std::string_view(name).starts_with("prepare");
        std::string way = prepares ? "True" : of_unsloth ? "\"unsloth\"" : "False";
        for (const PythonArgument& it : arguments_of_call(text_, open))
          if (it.name == "use_gradient_checkpointing") way = it.value;
        const auto reached = values_.reached(at, true);
        if (reached && !*reached) continue;
        const int line = line_at(text_, at);
        if (way == "False") continue;
        if (!reached)
          return in_branch(line, fmt::format("{}()", name),
                           statements_.branch(at, behind_bracket(text_, open)));
        const auto word = values_.text(way, at);
        if (!word)
          return input_error(
              "{}:{}: use_gradient_checkpointing: found {}, which is known only when the script "
              "runs; a literal can be read",
              file_, line, way.substr(0, 60));
        if (*word != "false") program_.values["gradient_checkpointing"] = {*word, line};
      }
    return {};
  }

  /// A model made narrow: model.half(), .bfloat16(), .to(torch.bfloat16), set_default_dtype(...).
  Result<void> read_casts() {
    const std::set<std::string> all = models();
    for (const char* name : {"half", "bfloat16", "to", "set_default_dtype"})
      for (const auto& [at, open] : calls_of(text_, name)) {
        const bool global = name == std::string_view("set_default_dtype");
        if (!global && !is_of_model(at, all)) continue;
        std::string type = name == std::string_view("half") ? "float16" : name;
        for (const PythonArgument& it : arguments_of_call(text_, open))
          if (it.name.empty() || it.name == "dtype" || it.name == "d")
            if (const auto said = values_.text(it.value, at);
                said && base::contains(*said, "float"))
              type = *said;
        if (!type.ends_with("float16")) continue;
        const auto reached = values_.reached(at, true);
        if (reached && !*reached) continue;
        const int line = line_at(text_, at);
        if (!reached)
          return in_branch(line, fmt::format("{}()", name),
                           statements_.branch(at, behind_bracket(text_, open)));
        program_.values["torch_dtype"] = {type, line};
      }
    return {};
  }

  /// A model whose sizes the program says itself.
  void read_model() {
    constexpr const char* kModel = "model_name_or_path";
    const auto model = python_model(python_);
    if (model && *model) program_.values[kModel] = **model;
    if (model) return;
    program_.values.erase(kModel);
    program_.open["model"] = model.error().message;
  }

  /// Whether a program loads several models, of which it trains one.
  std::optional<int> second_model() {
    std::set<std::string> names, models;
    for (const auto& [at, open] : calls_of(text_, "from_pretrained")) {
      if (is_definition(at) || values_.reached(at, true) == false || !is_method(at)) continue;
      size_t begin = at - 1;
      while (begin > 0 && is_word(text_[begin - 1])) --begin;
      const std::string owner = text_.substr(begin, at - 1 - begin);
      const bool loads = base::contains(owner, "Model") || base::contains(owner, "ForCausalLM");
      if (!loads || base::contains(owner, "Peft")) continue;
      names.insert(statements_.assigned(at));
      if (const auto given = arguments_of_call(text_, open); !given.empty())
        models.insert(given[0].value);
      if (names.size() > 1 || models.size() > 1) return line_at(text_, at);
    }
    return std::nullopt;
  }

  /// Products of 32 bit numbers in TF32: torch.backends.cuda.matmul.allow_tf32 = True,
  /// torch.set_float32_matmul_precision("high").
  void read_matrix_formats() {
    std::vector<std::pair<size_t, std::string>> said;
    for (const size_t at : words_of(text_, "allow_tf32")) {
      const std::string_view statement = statements_.statement(at);
      const size_t equals = assignment_in(statement);
      if (equals < statement.size() && base::contains(statement.substr(0, equals), "matmul"))
        said.emplace_back(at, trimmed(statement.substr(equals + 1)));
    }
    for (const auto& [at, open] : calls_of(text_, "set_float32_matmul_precision"))
      if (const auto given = arguments_of_call(text_, open); !given.empty() && !is_definition(at))
        said.emplace_back(at, given[0].value);
    for (const auto& [at, value] : said) {
      const auto word = values_.text(value, at);
      if (!word || values_.reached(at, true) != true) continue;
      const bool on = *word == "true" || *word == "high" || *word == "medium";
      program_.values.try_emplace("tf32",
                                  spec::FlatValue{on ? "true" : "false", line_at(text_, at)});
    }
  }

  /// Which of a model's parts a loop leaves untrained is not followed, but that it does.
  void read_frozen() {
    for (const char* words :
         {"requires_grad = False", "requires_grad=False", "requires_grad_(False)"})
      if (const size_t at = text_.find(words); at != text_.npos)
        program_.values.try_emplace("requires_grad", spec::FlatValue{"False", line_at(text_, at)});
  }

 private:
  /// Names that models are given to, by from_pretrained(...) and its relatives.
  std::set<std::string> models() const {
    std::set<std::string> names = {"model"};
    for (const char* call : {"from_pretrained", "from_config", "get_peft_model"})
      for (const auto& [at, open] : calls_of(text_, call)) {
        const size_t start = statements_.start(at),
                     equals = assignment_in(statements_.statement(at));
        if (is_definition(at) || equals >= at - start) continue;
        for (std::string& name : python_targets(text_.substr(start, equals)))
          names.insert(std::move(name));
      }
    return names;
  }
  /// Whether a method's call at a place is a model's: `model.half()`,
  /// `X.from_pretrained(...).half()`.
  bool is_of_model(size_t at, const std::set<std::string>& models) const {
    std::string before =
        trimmed(std::string_view(text_).substr(statements_.start(at), at - statements_.start(at)));
    if (!before.ends_with('.')) return false;
    if (base::contains(before, "Model") && base::contains(before, ".from_")) return true;
    before.pop_back();
    const size_t begin =
        before.size() -
        static_cast<size_t>(std::find_if_not(before.rbegin(), before.rend(), is_word) -
                            before.rbegin());
    return models.contains(before.substr(begin));
  }
};

}  // namespace

Result<void> read_model_changes(ProgramText& program) {
  ModelChanges model(program);
  ERGOMETER_TRY(model.read_checkpointing());
  ERGOMETER_TRY(model.read_preparation());
  return model.read_casts();
}

void read_own_model(ProgramText& program, bool alone) {
  ModelChanges model(program);
  model.read_model();
  const auto second = alone ? model.second_model() : std::nullopt;
  if (!second) return;
  program.program.values.erase("model_name_or_path");
  program.program.open["model"] = fmt::format(
      "{}:{}: a second model is loaded, and which is trained is not followed; give --model, where "
      "the others stay outside of the GPUs",
      program.file, *second);
}

void read_weights(ProgramText& program) {
  ModelChanges model(program);
  model.read_matrix_formats();
  model.read_frozen();
}

}  // namespace ergometer::intake
