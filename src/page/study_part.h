#pragma once

#include "base/json_writer.h"
#include "run/study.h"

namespace ergometer::page {

/// The member `study`: a StudyDocument of web/src/document.ts. Points keep their whole summary but
/// for the cluster's power over time and tables of ranks, which no view of a point shows.
void write_study(base::JsonWriter& json, const run::Study& study);

}  // namespace ergometer::page
