#pragma once

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// The same job said in full: with what its software sets where nobody says anything, and with the
/// length of its sequences, so that under another software it stays the job that it was. Who is
/// the software is added only where it was said: naming one that was inferred would make the
/// prediction surer than it is. What follows from the software alone (`framework`) is left out.
Result<Settings> in_full(const Settings& settings);

}  // namespace ergometer::spec
