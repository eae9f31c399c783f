#include "report/measured/job_report_json.h"
#include "report/measured/energy_error_output.h"
#include "report/measured/pipeline_output.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using base::kOneLine;

void write_clocks(JsonWriter& json, const analysis::ClockTable& table) {
  if (table.ranks.size() < 2) return;
  json.key("clock_offsets").begin_object();
  json.member("reference_rank", table.reference);
  json.rows("ranks", table.ranks, [&](const analysis::RankClock& clock) {
    json.member("rank", clock.rank).member("known", clock.known);
    json.member("applied", clock.applied);
    if (clock.known) {
      json.member("offset_ns", clock.model.offset_ns).member("drift_ppm", clock.model.drift_ppm);
      json.member("uncertainty_ns", clock.model.uncertainty_ns);
      json.member("samples", clock.model.samples);
    }
  });
  json.end_object();
}

void write_segments(JsonWriter& json, const std::vector<analysis::PathSegment>& segments) {
  // The longest tell most; a path of a whole job has hundreds of thousands.
  constexpr size_t kMost = 10'000;
  if (segments.size() > kMost) return;
  json.rows("segments", segments, [&](const analysis::PathSegment& s) {
    json.member("rank", s.rank).member("kind", s.kind);
    json.member("start_ns", s.start_ns).member("end_ns", s.end_ns);
  });
}

void write_path(JsonWriter& json, const analysis::CriticalPath& path, PathSegments segments) {
  if (path.segments.empty()) return;
  json.key("critical_path").begin_object();
  json.member("span_ns", path.span_ns).member("inferred_waits", path.inferred_waits);
  json.rows("kinds", path.kinds, [&](const analysis::PathShare& kind) {
    json.member("kind", kind.kind).member("on_path_ns", kind.on_path_ns);
    if (kind.saved_if_free_ns >= 0) json.member("saved_if_free_ns", kind.saved_if_free_ns);
  });
  json.rows("ranks", path.ranks, [&](const analysis::PathRank& rank) {
    json.member("rank", rank.rank);
    json.member("on_path_ns", rank.on_path_ns);
  });
  json.member("segment_count", path.segments.size());
  if (segments == PathSegments::kWrite) write_segments(json, path.segments);
  json.end_object();
}

void write_replayed_taxes(JsonWriter& json, const analysis::ReplayedTaxes& taxes) {
  if (taxes.gap_ns() <= 0) return;
  const auto write = [&](const char* name, const analysis::ReplayedTax& tax) {
    json.key(name).begin_object(kOneLine);
    json.member("share_ns", tax.share_ns).member("span_without_ns", tax.without_ns).end_object();
  };
  json.key("replayed_taxes").begin_object();
  json.member("span_ns", taxes.span_ns).member("untaxed_span_ns", taxes.untaxed_ns);
  write("bulk_synchrony", taxes.bulk_synchrony);
  write("collective_waiting", taxes.collective_waiting);
  write("host_sync", taxes.host_sync);
  write("memory_round_trips", taxes.memory_round_trips);
  write("launch", taxes.launch);
  json.rows("waiting_at", taxes.sites, [&](const auto& site) {
    json.member("kind", site.first).member("share_ns", site.second);
  });
  json.end_object();
}

void write_exchanges(JsonWriter& json, const analysis::ExchangeLoads& loads) {
  if (loads.even()) return;
  json.key("exchange_loads").begin_object().member("exchanges", loads.exchanges);
  json.member("mean_fullest", loads.mean_fullest).member("most", loads.most);
  json.rows("ranks", loads.ranks, [&](const analysis::ExchangeLoads::OfRank& rank) {
    json.member("rank", rank.rank).member("load", rank.load);
  });
  json.end_object();
}

void write_row(JsonWriter& json, const analysis::GroupRow& row) {
  json.member("parallelism", row.parallelism.name).member("stated", row.parallelism.stated);
  json.member("group_size", row.group_size).member("ranks", row.ranks);
  json.member("events", row.events).member("total_ns", row.total_ns);
  json.member("hidden_ns", row.hidden_ns).member("exposed_ns", row.exposed_ns);
  json.member("matched", row.matched).member("waiting_ns", row.waiting_ns);
  json.member("transfer_ns", row.transfer_ns).member("bytes", row.bytes);
  json.member("bus_bytes", row.bus_bytes);
}

void write_condition(JsonWriter& json, const analysis::GpuCondition& condition) {
  json.key("gpu").begin_object();
  json.known("sm_clock_mhz", condition.sm_clock_mhz);
  json.known("others_clock_mhz", condition.others_clock_mhz);
  json.known("gpu_c", condition.gpu_c).known("others_gpu_c", condition.others_gpu_c);
  json.known("throttled_fraction", condition.throttled_fraction);
  json.known("reason", condition.reason).end_object();
}

void write_straggler(JsonWriter& json, const analysis::GroupSkew& skew) {
  json.key("straggler").begin_object(kOneLine);
  json.member("rank", skew.rank).member("persistent", skew.persistent);
  json.member("last_share", skew.last_share);
  json.member("caused_waiting_ns", skew.caused_waiting_ns);
  json.member("cause", to_word(skew.cause)).member("more_compute_ns", skew.more_compute_ns);
  json.member("more_idle_ns", skew.more_idle_ns).member("inherited_ns", skew.inherited_ns);
  if (skew.saved_if_equal_ns >= 0) json.member("saved_if_equal_ns", skew.saved_if_equal_ns);
  if (skew.condition) write_condition(json, *skew.condition);
  json.end_object();
}

void write_skew(JsonWriter& json, const analysis::GroupSkew& skew) {
  json.list("members", skew.members, kOneLine)
      .member("verdict", to_word(skew.verdict))
      .member("skewed", skew.skewed);
  json.member("first_end_transfer_ns", skew.transfer_ns).member("slowdown", skew.slowdown);
  if (skew.mean_bus_gb_per_s > 0) {
    json.member("mean_bus_gb_per_s", skew.mean_bus_gb_per_s);
    json.member("best_bus_gb_per_s", skew.best_bus_gb_per_s);
  }
  if (skew.verdict == analysis::GroupVerdict::kStraggler) write_straggler(json, skew);
}

void write_groups(JsonWriter& json, const analysis::JobReport& report) {
  if (report.groups.groups.empty()) return;
  json.rows("parallelisms", report.groups.parallelisms,
            [&](const analysis::GroupRow& row) { write_row(json, row); });
  json.objects("process_groups", report.groups.groups, [&](const analysis::GroupRow& row) {
    json.member("group", row.group).member("description", row.description);
    write_row(json, row);
    for (const analysis::GroupSkew& skew : report.skews)
      if (skew.group == row.group && skew.description == row.description) write_skew(json, skew);
  });
}

void write_links(JsonWriter& json, const std::vector<analysis::LinkUse>& links) {
  if (links.empty()) return;
  json.rows("links", links, [&](const analysis::LinkUse& link) {
    json.member("kind", link.kind).member("direction", link.direction);
    json.member("devices", link.devices).member("bytes", link.bytes);
    json.member("mean_gb_per_s", link.mean_gb_per_s).member("peak_gb_per_s", link.peak_gb_per_s);
    json.member("busiest", link.busiest).member("busiest_host", link.busiest_host);
    json.member("partial", link.partial).known("utilization", link.utilization);
    json.known("saturated_fraction", link.saturated_fraction);
  });
}

void write_swings(JsonWriter& json, const std::vector<analysis::PowerSwings>& all) {
  if (all.empty()) return;
  json.rows("power_swings", all, [&](const analysis::PowerSwings& s) {
    json.member("kind", run::kind_name(s.kind)).member("rank", s.rank);
    json.member("host", s.host).member("name", s.name).member("mean_w", s.mean_w);
    json.member("peak_w", s.peak_w).member("deviation_w", s.deviation_w);
    json.member("resolution_s", s.resolution_s);
    json.objects("swings", s.swings, [&](const analysis::Swing& swing) {
      json.member("over_s", swing.over_s).member("rise_w", swing.rise_w);
      json.member("fall_w", swing.fall_w);
      if (swing.rise_w > 0) json.member("rise_at_ns", swing.rise_at_ns);
      if (swing.fall_w > 0) json.member("fall_at_ns", swing.fall_at_ns);
    });
  });
}

void write_step_energy(JsonWriter& json, const std::vector<analysis::StepEnergy>& all) {
  if (all.empty()) return;
  json.rows("step_energy", all, [&](const analysis::StepEnergy& energy) {
    json.member("rank", energy.rank).member("steps", energy.steps);
    json.member("mean_j", energy.mean_j).member("lowest_j", energy.lowest_j);
    json.member("highest_j", energy.highest_j);
    write_error(json, "mean_j_error_pct", energy.error);
  });
}

void write_heat(JsonWriter& json, const std::vector<analysis::HeatCost>& heat) {
  if (heat.empty()) return;
  json.rows("throttling", heat, [&](const analysis::HeatCost& cost) {
    json.member("rank", cost.rank).member("host", cost.host);
    json.member("gpu", cost.gpu);
    json.member("throttled_fraction", cost.throttled_fraction).member("reason", cost.reason);
    json.member("throttled_clock_mhz", cost.throttled_clock_mhz);
    json.member("free_clock_mhz", cost.free_clock_mhz);
    json.member("free_clock_is_peers", cost.free_clock_is_peers);
    json.member("free_clock_is_capped", cost.free_clock_is_capped);
    json.member("lost_fraction_at_most", cost.lost_fraction);
  });
}

void write_shifts(JsonWriter& json, const std::vector<analysis::LevelShift>& shifts) {
  json.rows("shifts", shifts, [&](const analysis::LevelShift& shift) {
    json.member("what", shift.what).member("rank", shift.rank);
    json.known("host", shift.host).known("gpu", shift.gpu);
    if (shift.step >= 0) json.member("step", shift.step);
    if (shift.step < 0) json.member("time_ns", shift.time_ns);
    json.member("before", shift.before).member("after", shift.after);
  });
}

void write_anomalies(JsonWriter& json, const analysis::Anomalies& anomalies) {
  if (anomalies.series == 0) return;
  json.key("anomalies").begin_object().member("series", anomalies.series);
  write_shifts(json, anomalies.shifts);
  json.rows("slow_steps", anomalies.spikes, [&](const analysis::StepSpikes& s) {
    json.member("rank", s.rank).member("count", s.count);
    json.member("steps", s.steps).member("every_steps", s.every_steps);
    json.member("extra_s", s.extra_s);
  });
  json.rows("deviations", anomalies.deviations, [&](const analysis::PeerDeviation& d) {
    const bool drift = d.kind == analysis::PeerDeviation::Kind::kDrift;
    json.member("kind", drift ? "drift" : "outlier").member("what", d.what);
    json.member("rank", d.rank).known("host", d.host).member("gpu", d.gpu);
    json.member("own", d.own).member("peers", d.peers);
    if (drift) json.member("moved", d.moved).member("time_ns", d.time_ns);
  });
  json.end_object();
}

}  // namespace

void write_job_report(JsonWriter& json, const analysis::JobReport& report, PathSegments segments) {
  write_clocks(json, report.clocks);
  write_path(json, report.path, segments);
  write_replayed_taxes(json, report.taxes);
  write_groups(json, report);
  write_exchanges(json, report.exchanges);
  if (report.pipeline) write_pipeline(json, *report.pipeline);
  write_links(json, report.links);
  write_swings(json, report.swings);
  write_step_energy(json, report.step_energies);
  write_heat(json, report.heat);
  write_anomalies(json, report.anomalies);
}

}  // namespace ergometer::report
