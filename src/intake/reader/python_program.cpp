#include "intake/reader/python_program.h"

#include <utility>

namespace ergometer::intake {

PythonProgram::PythonProgram(std::string code, std::string path, PythonStart start)
    : text(std::move(code)),
      statements(text),
      values(text, statements, std::move(start)),
      file(std::move(path)) {}

PythonReader::PythonReader(PythonProgram& program)
    : python_(program),
      text_(program.text),
      statements_(program.statements),
      values_(program.values),
      file_(program.file) {}

}  // namespace ergometer::intake
