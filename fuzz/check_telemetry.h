#pragma once

#include <cmath>
#include <cstdlib>

#include "analysis/telemetry/anomalies.h"
#include "analysis/telemetry/heat_cost.h"
#include "analysis/telemetry/telemetry.h"
#include "run/device_log.h"

inline void check(double value) {
  if (!std::isfinite(value)) std::abort();
}

inline void check(const ergometer::analysis::TelemetryReport& report) {
  for (const ergometer::analysis::DeviceReport& device : report.devices) {
    for (const double value : {device.mean_w, device.p95_w, device.peak_w, device.energy_j,
                               device.disagreement_pct, device.updates.period_s})
      check(value);
    for (const ergometer::analysis::EnergyWay& way : device.energies) check(way.energy_j);
    for (const ergometer::analysis::ChangePoint& change : device.changes)
      check(change.before + change.after);
  }
  for (const ergometer::analysis::TrainingReport& training : report.training)
    check(training.node_energy_j + training.energy_per_sample_j + training.disagreement_pct +
          training.logged.median_s + training.logged.high_s);
  for (const ergometer::analysis::GaugeReport& gauge : report.gauges) check(gauge.mean);
  for (const ergometer::analysis::CollectiveSize& size : report.collectives.sizes)
    check(size.median_s + size.bus_gb_per_s);
  for (const ergometer::analysis::CommunicatorRank& rank : report.collectives.ranks)
    check(rank.others_waited_s);
  check(report.power.mean_w_per_gpu + report.cluster.mean_w + report.thermal.mean_gpu_c);
}

/// What is told of GPUs beside each other and over time.
inline void check_changes(const ergometer::run::DeviceLog& log) {
  for (const ergometer::analysis::LevelShift& shift :
       ergometer::analysis::find_anomalies({}, log).shifts)
    check(shift.before + shift.after);
  for (const ergometer::analysis::HeatCost& cost : ergometer::analysis::heat_costs(log))
    check(cost.lost_fraction);
}
