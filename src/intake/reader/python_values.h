#pragma once

#include <array>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "intake/reader/python_names.h"
#include "intake/reader/python_text.h"

namespace ergometer::intake {

/// What a program in Python is started with.
struct PythonStart {
  std::map<std::string, std::string, std::less<>> environment;
  std::vector<std::string> words;               ///< behind the program
  std::string_view words_by = "--script-args";  ///< the option that says more of them
  /// Of a file of arguments among the words, which count over it.
  std::map<std::string, std::string, std::less<>> file_words{};
};

/// Methods of HfArgumentParser and TrlParser that make objects of its classes.
inline constexpr std::array<std::string_view, 4> kArgumentParsers = {
    "parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file"};

/// What expressions of a Python text come to without running it: literals, names that are bound
/// once on the way, arithmetic, f-strings, dictionaries, variables of the environment, arguments
/// of argparse, of dataclasses behind HfArgumentParser and of Fire. Whatever else is not known.
class PythonValues {
 public:
  using Value = std::optional<nlohmann::json>;

  /// Text and statements outlive this.
  PythonValues(const std::string& text, const PythonStatements& statements, PythonStart start);

  /// What an expression comes to at a place. Of a container, what is not known is discarded JSON.
  Value value(std::string_view expression, size_t at);
  /// The same as a YAML value; lists joined by commas.
  std::optional<std::string> text(std::string_view expression, size_t at);
  /// Whether the place is reached from the beginning of its function; nothing where not known.
  /// `in_loops`: a loop's body counts as reached.
  std::optional<bool> reached(size_t at, bool in_loops);
  /// Whether what stands before ` if CONDITION else ...` is taken; `behind`: where "if" begins.
  std::optional<bool> condition(std::string_view expression, size_t at);

  /// An argument of the program's own command line.
  Value said(std::string_view name) const;
  /// All words of its command line that are known: "lr", "1e-4".
  std::map<std::string, std::string> words() const;
  /// The classes that HfArgumentParser is given, by their names.
  std::vector<std::string> argument_classes() const;

  const PythonNames& names() const { return names_; }
  /// What stands for the value instead, of the last that was not known; empty: only itself.
  const std::string& why() const { return why_; }
  /// What was taken as the file says because nothing else does: "--batch 4", "BATCH = 4".
  const std::set<std::string>& taken() const { return taken_; }
  /// Back to what `taken` said before something was worked out that does not count.
  void set_taken(std::set<std::string> taken) { taken_ = std::move(taken); }
  /// A field of a class of HfArgumentParser: a word of the command line, else its default.
  Value argument_of(const std::string& class_name, const std::string& name);

 private:
  friend class PythonExpression;
  struct Source;

  Value named(const std::string& path, size_t at);
  Value environment(const std::string& name, const Value& fallback, bool has_fallback);
  std::optional<Source> find(const std::string& name, size_t at);
  std::optional<Source> find_in(const std::string& name, size_t at, size_t scope, bool inner);
  std::optional<Source> remaining_arguments(const std::string& name, size_t function,
                                            const std::vector<PythonField>& parameters);
  /// Whether a name stands for an object of a class, whatever is in it: `Config(...)`.
  bool is_made(const std::string& name, size_t at);
  std::optional<Source> parameter(const std::string& name, size_t function);
  std::optional<Source> handed_by_ray(const std::string& function) const;
  Value evaluated(const Source& source);
  Value attribute(const std::string& object, const std::string& name, size_t at);
  Value argument(const std::string& name);
  /// Of the arguments' class that a place lies in; nothing where it lies in none.
  std::optional<Value> own_field(const std::string& name, size_t at);
  Value field(const std::string& class_name, const std::string& name, bool is_argument);
  /// What the Trainer's own class says of a field by default, where a class derives from it.
  Value trainer_default(const std::string& class_name, std::string_view name) const;
  bool parses_arguments(const std::string& expression) const;
  std::optional<bool> taken_branch(size_t head);
  std::optional<bool> condition_of(size_t head);
  Value unknown(std::string why);
  void take(const std::string& name, const Value& value);

  const std::string& text_;
  const PythonStatements& statements_;
  const PythonNames names_;
  const PythonStart start_;
  std::string why_;
  std::set<std::string> taken_;
  int depth_ = 0, steps_left_;
};

/// As Python would write it.
std::string python_literal(const nlohmann::json& value);
/// As a YAML value: "true", "None", "1,2"; nothing for a dictionary, or where a part is not known.
std::optional<std::string> yaml_text(const nlohmann::json& value);

}  // namespace ergometer::intake
