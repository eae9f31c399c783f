#pragma once

#include <string>

#include "campaign/loop.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What `ergometer loop` answers: how long an iteration takes, who waits for whom, and whether what
/// stays resident leaves room.
std::string loop_text(const campaign::Loop& loop, const TextStyle& style);
std::string loop_json(const campaign::Loop& loop);

}  // namespace ergometer::report
