#pragma once

#include "study/file/definition.h"

namespace ergometer::study {

/// What can be said once all points are there: notes on those that are the same job, and on
/// settings that change nothing; figures and findings, those made by code behind the file's.
void finish(const Definition& definition, run::Study& study);

/// The notes alone. A point whose every number equals an earlier one's bit for bit is the same job
/// when its settings are the same, else the settings that differ have no effect there.
void note_equals(run::Study& study);

}  // namespace ergometer::study
