#pragma once

#include <string>

#include "report/summary/summary_text.h"

namespace ergometer::report {

/// The summary's table of documents of unlike length; empty where they are alike.
std::string documents_text(const run::Run& run, const TextStyle& style);

}  // namespace ergometer::report
