#include "campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "campaign/keeping.h"

namespace ergometer::campaign {
namespace {

constexpr double kJoulesPerMwh = 3.6e9;

/// Energy, or the power that it is drawn at, in three places.
struct Everywhere {
  double chip = 0, plug = 0, meter = 0;
};

/// What the run's work consists of, seconds, and what is drawn in it, J.
struct Work {
  double training_s = 0, evaluation_s = 0, stalled_s = 0;
  Draw training_j, evaluation_j;
  double total_s() const { return training_s + evaluation_s + stalled_s; }
};

void add(const Draw& draw, double seconds, Draw& joules) {
  joules.gpus_w += draw.gpus_w * seconds;
  joules.cluster_w += draw.cluster_w * seconds;
}

Work work_of(const Training& training, const Ask& ask) {
  Work work;
  for (const PlayedPhase& phase : training.phases) {
    const double evaluation_s = phase.evaluations * phase.evaluation_s;
    work.training_s += phase.training_s();
    work.evaluation_s += evaluation_s;
    work.stalled_s += ask.stalled_share * phase.training_s();
    add(phase.draw, phase.training_s(), work.training_j);
    add(phase.evaluation_draw, evaluation_s, work.evaluation_j);
  }
  return work;
}

double unlimited_s(const Training& training, const Ask& ask) {
  double seconds = 0;
  for (const PlayedPhase& phase : training.phases)
    seconds += phase.steps * phase.unlimited_step_s * (1 + ask.stalled_share) +
               phase.evaluations * phase.unlimited_evaluation_s;
  return seconds;
}

/// How many nodes stand by, and what one of them draws.
double spare_nodes(const Ask& ask) { return static_cast<double>(ask.spares.value_or(0)); }

/// What a run of these times draws. Lost work is drawn as training; while training stands, and in
/// spare nodes all the time, GPUs idle at their highest clock.
Everywhere joules_of(const Times& times, const Work& work, const Training& training,
                     const Ask& ask) {
  const double stretch = times.work / work.total_s();
  const double as_training = stretch + times.lost / work.training_s;
  const double stands_s =
      times.total() - times.work - times.lost + work.stalled_s * stretch +
      times.total() * spare_nodes(ask) / static_cast<double>(training.job.nodes());
  const auto sum = [&](double Draw::* member) {
    return work.training_j.*member * as_training + work.evaluation_j.*member * stretch +
           training.standing.*member * stands_s;
  };
  const double plug_j = sum(&Draw::cluster_w);
  return {sum(&Draw::gpus_w), plug_j, plug_j * training.job.conditions.pue};
}

/// One number of every draw.
using Values = std::vector<double>;

/// Of sorted values, that below which such a share of them lies.
double value_at(double share, const Values& sorted) {
  return sorted[static_cast<size_t>(std::llround(share * static_cast<double>(sorted.size() - 1)))];
}

Estimate estimate_of(Values values) {
  std::ranges::sort(values);
  return {value_at(0.5, values), value_at(0.05, values), value_at(0.95, values)};
}

Values percentiles_of(Values values) {
  std::ranges::sort(values);
  Values percentiles;
  for (int percent = 0; percent <= 100; ++percent)
    percentiles.push_back(value_at(percent / 100.0, values));
  return percentiles;
}

/// What is told of every draw.
struct Drawn {
  Values days, goodput, failures, gpu_hours, chip_mwh, plug_mwh, meter_mwh, cost;
  Times sum;
};

double paid_gpus(const Training& training, const Ask& ask) {
  return static_cast<double>(training.job.gpus) +
         spare_nodes(ask) * static_cast<double>(training.job.cluster.node.gpus);
}

void note_draw(const Times& times, double power, const Work& work, const Training& training,
               const Ask& ask, Drawn& drawn) {
  const double wall_s = times.total();
  const double gpu_hours = wall_s / kHourS * paid_gpus(training, ask);
  const Everywhere joules = joules_of(times, work, training, ask);
  const double meter_mwh = power * joules.meter / kJoulesPerMwh;
  drawn.sum += times;
  drawn.days.push_back(wall_s / kDayS);
  drawn.goodput.push_back(times.work * work.training_s / work.total_s() / wall_s);
  drawn.failures.push_back(times.failures);
  drawn.gpu_hours.push_back(gpu_hours);
  drawn.chip_mwh.push_back(power * joules.chip / kJoulesPerMwh);
  drawn.plug_mwh.push_back(power * joules.plug / kJoulesPerMwh);
  drawn.meter_mwh.push_back(meter_mwh);
  drawn.cost.push_back(gpu_hours * ask.prices.gpu_hour.value_or(0) +
                       meter_mwh * 1000 * ask.prices.kwh.value_or(0));
}

Drawn draw_campaigns(const Training& training, const Ask& ask, const Work& work, const Kept& kept) {
  const auto count = static_cast<int64_t>(kept.count);
  const Outages outages = outages_of(training, ask);
  const double spread = ask.failures.spread;
  const Deviation rate_deviation = deviation_of(1, {1 / spread, spread});
  const uint64_t seed = training.job.conditions.seed;
  Drawn drawn;
  for (int64_t i = 0; i < ask.draws; ++i) {
    const base::Random truth(seed, static_cast<uint64_t>(i), "campaign");
    const base::Random luck(seed, static_cast<uint64_t>(i), "failures");
    Outages true_outages = outages;
    // Not beyond what was checked to come to an end.
    true_outages.per_s *= std::min(spread, factor(rate_deviation, truth.normal(1)));
    const double work_s = work.total_s() * factor(training.step_deviation, truth.normal(0));
    const Times times =
        play_campaign(rhythm_of(kept, work_s, count), count, true_outages, ask.spares, luck);
    const double power = factor(training.power_deviation, truth.normal(2));
    note_draw(times, power, work, training, ask, drawn);
  }
  return drawn;
}

std::vector<Part> parts_of(const Times& mean, const Work& work) {
  const double stretch = mean.work / work.total_s();
  return {{"training", work.training_s * stretch / kDayS},
          {"evaluation", work.evaluation_s * stretch / kDayS},
          {"data stalls", work.stalled_s * stretch / kDayS},
          {"checkpoints", mean.checkpoints / kDayS},
          {"lost work", mean.lost / kDayS},
          {"detection", mean.detection / kDayS},
          {"restart", mean.restart / kDayS},
          {"waiting for spares", mean.waiting / kDayS}};
}

Estimate scaled(const Estimate& estimate, double by) {
  return {estimate.median * by, estimate.low * by, estimate.high * by};
}

/// What the cluster draws in that hour of the run, as far as the building's limit moves it.
double hour_w(const Training& training, size_t hour) {
  double joules = 0, seconds = 0;
  for (const PlayedPhase& phase : training.phases) {
    const double drawn_w = phase.hourly_w.empty() ? phase.draw.cluster_w
                                                  : phase.hourly_w[hour % phase.hourly_w.size()];
    joules += phase.training_s() * drawn_w;
    seconds += phase.training_s();
  }
  return joules / seconds + training.spares_w;
}

/// The mean of a series by hour over the energy of the run, which repeats it: an hour weighs as
/// much as is drawn in it.
double mean_by_energy(const std::vector<double>& series, double days, const Training& training) {
  constexpr double kMostHours = 1e6;  // 114 years
  const auto hours = static_cast<size_t>(std::clamp(std::ceil(days * 24), 1.0, kMostHours));
  double sum = 0, weight = 0;
  for (size_t hour = 0; hour < hours; ++hour) {
    const double drawn_w = hour_w(training, hour);
    sum += drawn_w * series[hour % series.size()];
    weight += drawn_w;
  }
  return sum / weight;
}

double share_within(const Values& values, double limit) {
  const auto within = std::ranges::count_if(values, [&](double value) { return value <= limit; });
  return static_cast<double>(within) / static_cast<double>(values.size());
}

void add_energy(const Drawn& drawn, const Prices& prices, Campaign& campaign) {
  campaign.chip_mwh = estimate_of(drawn.chip_mwh);
  campaign.plug_mwh = estimate_of(drawn.plug_mwh);
  campaign.energy_mwh = estimate_of(drawn.meter_mwh);
  constexpr double kGramsPerTonne = 1e6, kKwhPerMwh = 1e3, kLitresPerM3 = 1e3;
  if (!prices.carbon_g_per_kwh.empty())
    campaign.co2_t = scaled(
        campaign.energy_mwh,
        kKwhPerMwh / kGramsPerTonne *
            mean_by_energy(prices.carbon_g_per_kwh, campaign.days.median, campaign.training));
  campaign.water_m3 =
      scaled(campaign.plug_mwh, prices.water_l_per_kwh.value_or(0) * kKwhPerMwh / kLitresPerM3);
}

void add_drawn(const Drawn& drawn, const Work& work, const Ask& ask, Campaign& campaign) {
  const Times mean = drawn.sum * (1 / static_cast<double>(ask.draws));
  campaign.mean_days = mean.total() / kDayS;
  campaign.parts = parts_of(mean, work);
  campaign.days = estimate_of(drawn.days);
  campaign.ready_days = percentiles_of(drawn.days);
  campaign.goodput = estimate_of(drawn.goodput);
  campaign.failures = estimate_of(drawn.failures);
  campaign.gpu_hours = estimate_of(drawn.gpu_hours);
  campaign.cost = estimate_of(drawn.cost);
  if (campaign.training.has_power) add_energy(drawn, ask.prices, campaign);
  campaign.deadline_share = share_within(drawn.days, ask.deadline_s / kDayS);
  campaign.budget_share = share_within(drawn.cost, ask.budget);
}

/// What the closed form expects.
void add_expected(const Work& work, const Ask& ask, Campaign& campaign) {
  const Kept& kept = campaign.kept;
  const Outages outages = outages_of(campaign.training, ask);
  const auto count = static_cast<int64_t>(kept.count);
  const auto expected_s = [&](double work_s) {
    return expected_times(rhythm_of(kept, work_s, count), kept.count, outages).total();
  };
  const double wall_s = expected_s(work.total_s());
  campaign.mtbf_s = outages.per_s > 0 ? 1 / outages.per_s : 0;
  campaign.closed_form_days = wall_s / kDayS;
  campaign.closed_form_goodput = work.training_s / wall_s;
  campaign.limit_days = (wall_s - expected_s(unlimited_s(campaign.training, ask))) / kDayS;
}

}  // namespace

std::string date_after(std::chrono::sys_days start, double days) {
  const std::chrono::year_month_day date(start +
                                         std::chrono::days(static_cast<int64_t>(std::floor(days))));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

double Campaign::tokens() const {
  return base::sum(training.phases, [&](const PlayedPhase& phase) { return phase.tokens; });
}

Result<Campaign> plan_campaign(const spec::Settings& settings, const Ask& ask) {
  Campaign campaign;
  ERGOMETER_ASSIGN(campaign.training, play_training(settings, ask));
  campaign.spare_nodes = spare_nodes(ask);
  const Work work = work_of(campaign.training, ask);
  ERGOMETER_ASSIGN(campaign.kept, keep_checkpoints(campaign.training, ask, work.total_s()));
  add_expected(work, ask, campaign);
  add_drawn(draw_campaigns(campaign.training, ask, work, campaign.kept), work, ask, campaign);
  return campaign;
}

}  // namespace ergometer::campaign
