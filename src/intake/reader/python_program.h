#pragma once

#include <string>

#include "intake/reader/python_text.h"
#include "intake/reader/python_values.h"

namespace ergometer::intake {

/// A program in Python as it is read: its text, what its statements are, and what its expressions
/// come to. They refer to each other, so that it stays where it is.
struct PythonProgram {
  /// `code` is free of comments.
  PythonProgram(std::string code, std::string path, PythonStart start);
  PythonProgram(const PythonProgram&) = delete;
  PythonProgram& operator=(const PythonProgram&) = delete;

  const std::string text;
  const PythonStatements statements;
  PythonValues values;
  const std::string file;
};

/// What reads one part of a program.
class PythonReader {
 protected:
  explicit PythonReader(PythonProgram& program);

  PythonProgram& python_;
  const std::string& text_;
  const PythonStatements& statements_;
  PythonValues& values_;
  const std::string& file_;
};

}  // namespace ergometer::intake
