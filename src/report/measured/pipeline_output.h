#pragma once

#include <string>

#include "analysis/ranks/pipeline.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// The pipeline for a terminal: its bubble beside the schedule's own, and a line a stage.
std::string pipeline_text(const analysis::PipelineReport& pipeline, const TextStyle& style);

/// The member "pipeline" of a document.
void write_pipeline(base::JsonWriter& json, const analysis::PipelineReport& pipeline);

}  // namespace ergometer::report
