#pragma once

#include "base/result.h"

namespace ergometer::base {

/// A function of a part of this program that is a file of its own, `lib/ergometer/PART.so` beside
/// the program or its folder: what few commands need, and whose libraries take longer to load than
/// most commands run. Loaded when it is first asked for. An error of kind kMissing says where the
/// file was looked for.
Result<void*> find_in_part(const char* part, const char* function);

/// The same as a pointer to a function.
template <class Function>
Result<Function*> load_from_part(const char* part, const char* function) {
  ERGOMETER_ASSIGN(void* const found, find_in_part(part, function));
  return reinterpret_cast<Function*>(found);
}

/// What such a function, called with `arguments` and a place for the result, makes.
template <class Made, class... Arguments>
Result<Made> make_in_part(const char* part, const char* function, const Arguments&... arguments) {
  using Make = void(const Arguments&..., Result<Made>&);
  ERGOMETER_ASSIGN(Make* const make, load_from_part<Make>(part, function));
  Result<Made> made;
  make(arguments..., made);
  return made;
}

}  // namespace ergometer::base
