#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// A word behind nanoGPT's train.py: a file of assignments, or "--batch_size=8".
struct NanoGptWord {
  std::string text;
  std::string where;  ///< "train.sh:4"
};

/// nanoGPT's train.py, which lets files and words assign over its own names (configurator.py).
bool is_nanogpt_program(const std::string& text);
/// A file of such assignments alone: config/train_gpt2.py.
bool is_nanogpt_config(const std::string& text);

/// A word that only nanoGPT has: "--n_embd=768".
bool is_nanogpt_word(std::string_view word);

/// The job of nanoGPT's train.py. `program`: its text, of which the names before configurator.py
/// count; empty where it is not here, and the published one's hold. The last word of a name counts.
/// `read` gives the text of a path; of `start` the environment counts.
Result<Reading> read_nanogpt(
    const std::string& program, const std::string& file, const std::vector<NanoGptWord>& words,
    const std::function<Result<std::string>(const std::string& path)>& read,
    const PythonStart& start = {});

}  // namespace ergometer::intake
