#include "report/measured/energy_error_output.h"
#include "report/measured/work_report.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using base::kOneLine;

double fraction(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void write_classes(JsonWriter& json, const analysis::TraceSummary& summary) {
  json.member("class_scheme", summary.study_classes ? "study" : "name");
  json.rows("classes", summary.classes, [&](const analysis::KernelRow& row) {
    json.member("class", row.name).member("count", row.count);
    json.member("total_ns", row.total_ns);
  });
}

void write_phases(JsonWriter& json, const analysis::PhaseTable& table) {
  json.key("phases").begin_object();
  json.member("total_ns", table.total_ns);
  json.member("assigned_fraction", table.assigned_fraction());
  json.key("evidence_ns").begin_object(kOneLine);
  for (size_t i = 0; i < table.by_evidence_ns.size(); ++i)
    json.member(to_word(static_cast<analysis::Evidence>(i)), table.by_evidence_ns[i]);
  json.end_object();
  json.member("without_autograd", table.without_autograd);
  json.rows("rows", table.rows, [&](const analysis::PhaseRow& row) {
    json.member("phase", to_word(row.phase)).member("count", row.count);
    json.member("total_ns", row.total_ns).member("busy_ns", row.busy_ns);
    json.member("compute_ns", row.compute_ns).member("communication_ns", row.communication_ns);
    json.member("memory_ns", row.memory_ns);
  });
  json.end_object();
}

void write_row(JsonWriter& json, const analysis::ShapeRow& row, const analysis::DevicePeak* peak) {
  json.member("operator", row.name).known("shapes", row.shapes);
  json.known("dtypes", row.dtypes).known("values", row.values);
  json.member("calls", row.calls).member("kernels", row.kernels);
  json.member("total_ns", row.total_ns);
  if (row.work.flops) {
    json.member("flops_low", row.work.flops->low).member("flops_high", row.work.flops->high);
    json.member("tflops_low", row.tflops_low()).member("tflops_high", row.tflops_high());
  }
  if (row.work.bytes) json.member("bytes", *row.work.bytes).member("gb_per_s", row.gb_per_s());
  if (row.flops_per_byte() > 0) json.member("flops_per_byte", row.flops_per_byte());
  if (peak != nullptr && row.flops_fraction(*peak) > 0)
    json.member("flops_fraction", row.flops_fraction(*peak));
  if (peak != nullptr && row.bytes_fraction(*peak) > 0)
    json.member("bytes_fraction", row.bytes_fraction(*peak));
}

void write_operators(JsonWriter& json, const analysis::TraceSummary& summary) {
  const analysis::ShapeTable& table = summary.shapes;
  json.key("operators").begin_object();
  json.member("operator_fraction", fraction(table.operator_ns, table.total_ns));
  json.member("flops_fraction_of_time", fraction(table.flops_ns, table.total_ns));
  if (summary.peak) {
    const analysis::DevicePeak& peak = *summary.peak;
    json.key("peak").begin_object(kOneLine).member("gpu", peak.gpu);
    json.member("fp32_flops", peak.fp32_flops).member("fp16_flops", peak.fp16_flops);
    json.member("bf16_flops", peak.bf16_flops).member("fp8_flops", peak.fp8_flops);
    json.member("bytes_per_s", peak.bytes_per_s).end_object();
  }
  json.rows("rows", table.rows, [&](const analysis::ShapeRow& row) {
    write_row(json, row, summary.peak ? &*summary.peak : nullptr);
  });
  json.end_object();
}

void write_taxes(JsonWriter& json, const analysis::Taxes& taxes) {
  json.key("taxes").begin_object();
  json.member("span_ns", taxes.span_ns);
  json.key("bulk_synchrony").begin_object(kOneLine);
  json.key("collective_waiting_ns");
  taxes.ranks_compared ? json.value(taxes.collective_waiting_ns) : json.null();
  json.member("host_sync_ns", taxes.host_sync_ns).end_object();
  const analysis::RoundTrips& trips = taxes.round_trips;
  json.key("memory_round_trips").begin_object(kOneLine);
  json.member("upper_bound_ns", trips.saved_ns).member("pairs", trips.pairs);
  json.member("bytes", trips.bytes).member("memory_bound_ns", trips.memory_bound_ns);
  json.member("known_ns", trips.known_ns).end_object();
  json.key("launch").begin_object(kOneLine).member("idle_ns", taxes.launch_idle_ns);
  json.member("launching_ns", taxes.launching_ns).member("loading_ns", taxes.loading_ns);
  json.member("elsewhere_ns", taxes.elsewhere_ns).member("latency_ns", taxes.latency_ns);
  json.member("short_kernels", taxes.short_kernels).member("short_ns", taxes.short_ns);
  json.end_object().end_object();
}

void write_rows(JsonWriter& json, std::string_view key, const analysis::RankEnergy& energy,
                const std::vector<analysis::EnergyRow>& rows) {
  json.rows(key, rows, [&](const analysis::EnergyRow& row) {
    json.member("name", row.name).member("seconds", row.seconds);
    json.member("watts", row.watts).member("watts_error", row.watts_error);
    json.member("joules", row.joules).member("joules_error", row.joules_error);
    write_error(json, "joules_error_pct", error_by_fit(energy, row.joules, row.joules_error));
  });
}

void write_energy(JsonWriter& json, const analysis::RankEnergy& energy) {
  json.member("rank", energy.rank).known("device", energy.device);
  json.known("matched_by", energy.matched_by);
  if (!energy.metric.empty()) {
    json.member("metric", energy.metric).member("period_s", energy.period_s);
    json.member("window_s", energy.window_s).member("lag_s", energy.lag_s);
  }
  json.member("windows", energy.windows).member("covered_s", energy.covered_s);
  json.member("measured_j", energy.measured_j).member("mean_w", energy.mean_w);
  if (energy.windows > 0) write_error(json, "measured_error_pct", energy.error);
  if (energy.steps > 0) {
    json.member("steps", energy.steps).member("step_j", energy.step_j);
    write_error(json, "step_error_pct", energy.step_error);
  }
  if (energy.refused.empty() || !energy.shapes.empty())
    write_error(json, "gain_error_pct", energy.gain());
  if (!energy.refused.empty()) {
    json.member("refused", energy.refused);
  } else {
    json.member("residual_j", energy.residual_j).member("residual_rms_w", energy.residual_rms_w);
    write_rows(json, "classes", energy, energy.classes);
    write_rows(json, "phases", energy, energy.phases);
  }
  if (!energy.shapes.empty()) {
    json.rows("operators", energy.shapes, [&](const analysis::ShapePower& row) {
      json.member("operator", row.name).member("shapes", row.shapes);
      json.member("windows", row.windows).member("watts", row.watts);
      json.member("watts_error", row.watts_error);
      write_error(json, "watts_error_pct", error_by_fit(energy, row.watts, row.watts_error));
    });
  }
}

}  // namespace

void write_launches(JsonWriter& json, const analysis::RankSummary& rank) {
  const analysis::LaunchOverhead& launches = rank.launches;
  json.key("launch").begin_object(kOneLine);
  json.member("calls", launches.calls).member("call_ns", launches.call_ns);
  json.member("median_call_ns", launches.median_call_ns);
  json.member("median_delay_ns", launches.median_delay_ns);
  json.member("p95_delay_ns", launches.p95_delay_ns);
  json.member("late_events", rank.idle.late_events);
  json.member("late_fraction", fraction(rank.idle.late_events, rank.breakdown.gpu_events));
  json.member("late_after_sync_ns", rank.idle.synchronized_ns);
  json.member("late_launching_ns", rank.idle.launching_ns);
  json.member("late_loading_data_ns", rank.idle.loading_ns);
  json.member("late_elsewhere_ns", rank.idle.elsewhere_ns);
  if (!rank.idle.elsewhere.empty())
    json.member("late_elsewhere_in", rank.idle.elsewhere.front().first);
  json.member("short_kernels", launches.short_kernels).member("short_ns", launches.short_ns);
  json.member("graph_calls", launches.graph_calls).member("graph_call_ns", launches.graph_call_ns);
  json.member("graph_events", launches.graph_events).end_object();
}

void write_work(JsonWriter& json, const analysis::TraceSummary& summary) {
  write_classes(json, summary);
  write_phases(json, summary.phases);
  write_operators(json, summary);
  write_taxes(json, summary.taxes);
  if (summary.energy.empty()) return;
  json.objects("energy", summary.energy, write_energy);
}

}  // namespace ergometer::report
