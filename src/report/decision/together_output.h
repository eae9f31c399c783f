#pragma once

#include <string>

#include "together/together.h"

namespace ergometer::report {

/// What `ergometer together` answers: what every job loses beside the others and by which links,
/// what they draw together, and whether a feed holds.
std::string together_text(const together::Together& of);
std::string together_json(const together::Together& of);

}  // namespace ergometer::report
