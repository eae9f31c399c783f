#pragma once

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// `job`, which was made from `settings`, said in full: with what its software sets where nobody
/// says anything, with the length of its sequences, and with whatever else `resolve` would decide
/// otherwise, so that it stays the job that it is. Who is the software is added only where it was
/// said: naming one that was inferred would make the prediction surer than it is. What follows from
/// the software alone (`framework`) is left out.
Result<Settings> in_full(const Settings& settings, const Job& job);

}  // namespace ergometer::spec
