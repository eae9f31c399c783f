#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "intake/reader/python_program.h"
#include "spec/yaml/yaml_flat.h"

/// Configurations that a Python text builds of objects, as dotted paths and values.
namespace ergometer::intake {

/// `Config(a=1, b=Part(c=2))` as "a": 1, "b.c": 2 under a prefix; of Fiddle's `run.Config(Part,
/// c=2)` as well. What a part is made by stands at "b._target_". A value that is not known stands
/// as it is written, which no reader takes for a number or a yes or no. `from` of all is the file.
void add_python_call(PythonProgram& program, const std::string& expression, size_t at,
                     const std::string& prefix, spec::FlatYaml& into);
/// The same of any expression at a path.
void add_python_value(PythonProgram& program, const std::string& expression, size_t at,
                      const std::string& path, spec::FlatYaml& into);
/// What statements like `recipe.trainer.devices = 4` assign to attributes of an object, in the
/// order of the text: those within `begin` and `end` whose path has a first part that `takes`.
/// Nothing of what is surely not reached.
void add_python_assignments(PythonProgram& program, size_t begin, size_t end,
                            bool (*takes)(std::string_view first), spec::FlatYaml& into);

/// What a text of assignments gives to names of its module, `a = dict(b=1)` as "a.b": what stands
/// in functions and classes, or is surely not reached, is left out. Refused: what changes such a
/// dictionary otherwise than `a["b"] = 1`.
Result<void> add_python_globals(const std::string& text, const std::string& file, PythonStart start,
                                spec::FlatYaml& into);

}  // namespace ergometer::intake
