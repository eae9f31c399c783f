#pragma once

#include <string>
#include <vector>

#include "intake/reader/python_values.h"

/// What a program does to its objects once they are made.
namespace ergometer::intake {

struct PythonAssignment {
  std::string target;      ///< "args.bf16"; "args." where which attribute is not known
  std::string expression;  ///< empty: not told apart, as of `args.bf16 |= 1`
};

/// What the statement that begins at a place assigns: `a.x = b.y = 1`, `a.x, a.y = 1, 2`,
/// `setattr(a, "x", 1)`, and that in a loop over the items of a dictionary that is known.
std::vector<PythonAssignment> python_assignments(PythonValues& values,
                                                 const PythonStatements& statements, size_t at);

/// "a" and "b" of `(a, b)`, `a, b`.
std::vector<std::string> python_targets(std::string_view list);

/// What becomes of an attribute of an object.
struct PythonChange {
  size_t at = 0;           ///< the statement's place
  std::string attribute;   ///< empty: not known which
  std::string expression;  ///< empty: not told apart
};

/// Changes of the object that is given to `name` by the statement at `made`, as the program makes
/// them one after the other: under other names, by dataclasses.replace, within functions that it is
/// handed to. Without a name the statement returns it to its function's callers; the `name` of a
/// `def` is one of its parameters.
std::vector<PythonChange> python_changes(PythonValues& values, const PythonStatements& statements,
                                         const std::string& text, const std::string& name,
                                         size_t made);

}  // namespace ergometer::intake
