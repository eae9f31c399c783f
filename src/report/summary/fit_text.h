#pragma once

#include <string>

#include "report/summary/summary_text.h"
#include "run/run.h"

namespace ergometer::report {

/// "Does not fit: needs 97.1 of 79.1 GiB on stage 3; ...; try --tp 4", "Probably does not fit:
/// ...", and that the times below are those of the job if it did. Empty where it more likely fits.
std::string unfit_text(const run::Memory& memory, const TextStyle& style);

/// "fits with 6.2 GiB to spare (97 %)", "at risk: ...", "does not fit: ..."; what is spare is left
/// when the allocator has its reserve.
std::string fit_line(const run::Memory& memory, const TextStyle& style);

}  // namespace ergometer::report
