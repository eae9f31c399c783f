// torchtitan's registries of configurations in Python: `--module llama3 --config llama3_8b`.

#include <algorithm>

#include "base/text.h"
#include "intake/config/torchtitan.h"
#include "intake/reader/python_objects.h"

namespace ergometer::intake {
namespace {

bool takes_all(std::string_view) { return true; }

class Registry : PythonReader {
 public:
  explicit Registry(PythonProgram& program) : PythonReader(program) {}

  Result<void> add(const std::string& function, spec::FlatYaml& into, int depth = 0) {
    constexpr int kDeepest = 8;
    const size_t at = values_.names().definition("def", function);
    if (at == PythonNames::kModule || depth > kDeepest)
      return input_error("{}: has no function {} that is written once", file_, function);
    for (const size_t child : statements_.children(at)) {
      const std::string whole = trimmed(statements_.statement(child));
      const bool returns = whole.starts_with("return ");
      const std::string made =
          returns ? trimmed(std::string_view(whole).substr(7)) : assigned_call(whole);
      if (made.find('(') != made.npos) ERGOMETER_TRY(add_made(made, child, into, depth));
      if (is_block(whole))
        return input_error(
            "{}:{}: what {} decides is not followed; give its TOML or "
            "the sizes as options",
            file_, line_at(text_, child), whole.substr(0, 40));
    }
    add_python_assignments(python_, at, end_of(at), takes_all, into);
    return {};
  }

 private:
  static bool is_block(std::string_view statement) {
    for (const char* head : {"if ", "for ", "while ", "match "})
      if (statement.starts_with(head)) return true;
    return false;
  }
  /// `config = llama3_8b()`
  static std::string assigned_call(const std::string& whole) {
    size_t end = 0;
    while (end < whole.size() && is_word(whole[end])) ++end;
    const std::string rest = trimmed(std::string_view(whole).substr(end));
    return end > 0 && rest.starts_with('=') ? trimmed(std::string_view(rest).substr(1)) : "";
  }
  Result<void> add_made(const std::string& made, size_t at, spec::FlatYaml& into, int depth) {
    const std::string callee = trimmed(std::string_view(made).substr(0, made.find('(')));
    if (values_.names().definition("def", callee) != PythonNames::kModule)
      return add(callee, into, depth + 1);
    add_python_call(python_, made, at, "", into);
    return {};
  }
  size_t end_of(size_t at) const { return at + values_.names().body(at).size(); }
};

}  // namespace

Result<spec::FlatYaml> torchtitan_registry(const std::string& text, const std::string& file,
                                           const std::string& module, const std::string& config) {
  spec::FlatYaml values;
  PythonProgram program(without_comments(text), file, {});
  ERGOMETER_TRY(Registry(program).add(config, values));
  // model_spec=model_registry("8B", ...)
  const auto spec = values.find("model_spec");
  if (spec != values.end()) {
    const spec::FlatValue said = spec->second;
    values.erase(spec);
    const size_t quote = said.text.find('"');
    const size_t end = said.text.find('"', quote + 1);
    if (quote != said.text.npos && end != said.text.npos) {
      values["model.name"] = {module, said.line, said.from};
      values["model.flavor"] = {said.text.substr(quote + 1, end - quote - 1), said.line, said.from};
    }
  }
  if (const auto assets = values.find("hf_assets_path"); assets != values.end()) {
    values["model.hf_assets_path"] = assets->second;
    values.erase("hf_assets_path");
  }
  for (const char* key : {"model_converters", "model_converters.converters"})
    if (const auto it = values.find(key); it != values.end()) {
      values["model.converters"] = {base::lower(it->second.text), it->second.line, it->second.from};
      values.erase(it);
    }
  // What parts are made of, and what the trainer is not told, changes nothing.
  std::erase_if(values, [](const auto& item) {
    const std::string& key = item.first;
    return key.ends_with("._target_");
  });
  return values;
}

}  // namespace ergometer::intake
