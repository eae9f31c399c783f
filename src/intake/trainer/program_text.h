#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "intake/reader/python_program.h"
#include "intake/trainer/trainer_program.h"

namespace ergometer::intake {

/// A Python program that trains, and what was read of it so far.
struct ProgramText : PythonProgram {
  using PythonProgram::PythonProgram;

  TrainerProgram program;
};

/// A class or function that a library has in a module: "AdamW" of torch's torch.optim.
struct LibraryName {
  std::string_view name, library, module;
};

/// What reads one part of a program: its arguments, its model, its loop.
class ProgramPart : protected PythonReader {
 protected:
  explicit ProgramPart(ProgramText& from) : PythonReader(from), program_(from.program) {}

  /// Whether it is where a class or a function is defined, or a part of another name.
  bool is_definition(size_t at) const;
  /// What is said where only the run decides whether it counts.
  Result<void> in_branch(int line, std::string_view what, int branch) const;
  /// Whether a name at a place is the library's: written out, imported, or a part of what is
  /// imported from it. Others, and programs, have classes and functions of the same name.
  bool is_of_library(const LibraryName& what, size_t at) const;
  bool is_method(size_t at) const { return at > 0 && text_[at - 1] == '.'; }
  /// Of a call's argument that is none of those it is `read` by, and nearly one of them.
  void tell_misspelt(std::string_view name, int line, std::span<const std::string_view> read);
  /// What is known only when the script runs, so that it is to be given beside it.
  void leave_open(const char* setting, int line, const std::string& what, const char* option);

  TrainerProgram& program_;

 private:
  std::string_view owner(size_t at) const;
  bool is_bound_here(std::string_view name) const;
  bool is_imported(std::string_view name, std::string_view module) const;
};

}  // namespace ergometer::intake
