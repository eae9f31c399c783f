#pragma once

#include <cstdint>
#include <vector>

#include "base/json_writer.h"
#include "page/run_view.h"

namespace ergometer::page {

/// The members of a RunDocument of web/src/document.ts; `ranks`: whose timelines, empty: one rank a
/// stage.
void write_run(base::JsonWriter& json, const RunView& view, const std::vector<int64_t>& ranks);

/// `summary`: as `simulate --json` or `analyze --json` prints it, but for tables of ranks, devices
/// and kernels and for the cluster's power over time, which have columns of their own.
void write_summary_part(base::JsonWriter& json, const RunView& view);
/// `node` and `slot` of a simulated rank, where nodes are known.
void write_place(base::JsonWriter& json, const RunView& view, int64_t rank);
/// `findings`: the dearest first.
void write_findings_part(base::JsonWriter& json, const RunView& view);
/// `ranks` and `chassis`, where known.
void write_ranks_part(base::JsonWriter& json, const RunView& view);
/// `collectives`, where known.
void write_collectives_part(base::JsonWriter& json, const RunView& view);
/// `energy_stacks`: where a step's joules and seconds go, where known.
void write_energy_part(base::JsonWriter& json, const RunView& view);
/// `limits`: at what power and temperature GPUs are held back, and over how long a reading of power
/// is averaged; each where known.
void write_limits(base::JsonWriter& json, const RunView& view);
/// `recorded`, of what was recorded or imported: what `analyze --json` prints of traces, readings
/// and the job, long tables cut; and `marks`, the stretches of time that training logs name.
void write_recorded_part(base::JsonWriter& json, const RunView& view);
/// `series`, where there are any.
void write_series_part(base::JsonWriter& json, const RunView& view);

}  // namespace ergometer::page
