#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A launch script, followed as bash would (intake/script/shell_run.h), to the training program
/// that it starts; or a file of arguments alone, or one of Megatron-LM's test files. Refused,
/// naming the line: what cannot be told without the cluster and counts, several different jobs,
/// none.
Result<Reading> parse_launch_script(const std::string& text, const std::string& file,
                                    const ScriptContext& context = {});

/// A program as somebody started it.
struct StartedProgram {
  std::vector<std::string> words;
  std::map<std::string, std::string, std::less<>> environment;
  std::set<std::string> unknown{};                ///< variables whose values somebody else keeps
  std::map<size_t, std::string> unknown_words{};  ///< by their places: what they are
  /// Texts within words that stand for what is not known, "${GPUS}": what they are.
  std::map<std::string, std::string> unknown_parts{};
  std::map<std::string, std::string, std::less<>> files{};  ///< that it finds, path to text
  /// Of the words in the file that they stand in; behind its end the last one holds. Empty: they
  /// stand in none.
  std::vector<int> lines{};
};
/// The job of programs that a script really started; inner shells (`srun bash -c ...`) are
/// followed. `name` is what messages call the script.
Result<Reading> read_started_programs(const std::vector<StartedProgram>& programs,
                                      const std::string& name, const ScriptContext& context);

/// A text parted into words as bash does, nothing expanded but quotes.
Result<std::vector<std::string>> shell_words_of(const std::string& text);

/// The same from text for Megatron-LM's arguments; leftovers by name.
Result<spec::Settings> parse_megatron_arguments(const std::string& text, const std::string& file,
                                                std::vector<std::string>& ignored);

}  // namespace ergometer::intake
