#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "report/decision/campaign_output.h"

namespace ergometer::report {
namespace {

using campaign::Campaign;
using campaign::Sizes;

/// Those sizes that are jobs.
std::vector<const Campaign*> planned(const Sizes& sizes) {
  std::vector<const Campaign*> jobs;
  for (const Campaign& it : sizes.campaigns)
    if (it.refusal.empty()) jobs.push_back(&it);
  return jobs;
}

std::string gpus_word(const Campaign& campaign) {
  return base::format_count(campaign.gpus()) + " GPUs";
}

std::string days_word(const campaign::Estimate& days) {
  return fmt::format("{:.1f} days ({:.1f} to {:.1f}, 90 %)", days.median, days.low, days.high);
}

std::string energy_word(const Campaign& campaign) {
  return base::format_si(campaign.energy_mwh.median * 1e6, "Wh") + " at the meter";
}

/// "33.3 days (25.9 to 43.4, 90 %), 38.0 MWh at the meter, 99.7 % of the time training that counts"
std::string answer_word(const Campaign& campaign) {
  return fmt::format("{}, {}{} of the time training that counts", days_word(campaign.days),
                     campaign.training.has_power ? energy_word(campaign) + ", " : "",
                     base::format_percent(campaign.goodput.median));
}

run::FigureAxis gpus_axis(const std::vector<const Campaign*>& jobs) {
  run::FigureAxis axis{.title = "GPUs", .unit = {}, .categories = {}};
  for (const Campaign* it : jobs) axis.categories.push_back(base::format_count(it->gpus()));
  return axis;
}

/// 0, 1, 2, ...: places on an axis of categories, or numbers of points.
template <class Number>
std::vector<Number> first_numbers(size_t count) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), Number{0});
  return numbers;
}

run::FigureSeries series_of(std::string label, std::vector<double> x) {
  run::FigureSeries series;
  series.label = std::move(label);
  series.x = std::move(x);
  return series;
}

run::Figure days_figure(const std::vector<const Campaign*>& jobs) {
  run::Figure figure;
  figure.id = "days";
  figure.title = "Where the days go";
  figure.caption = "Means over the draws of the whole run.";
  figure.kind = run::FigureKind::kStack;
  figure.x = gpus_axis(jobs);
  figure.y = {.title = "wall time", .unit = "days", .categories = {}};
  for (size_t part = 0; part < jobs.front()->parts.size(); ++part) {
    run::FigureSeries series =
        series_of(jobs.front()->parts[part].name, first_numbers<double>(jobs.size()));
    for (const Campaign* it : jobs) series.y.push_back(it->parts[part].days);
    series.point = first_numbers<int64_t>(jobs.size());
    if (base::sum(series.y) > 0) figure.series.push_back(std::move(series));
  }
  return figure;
}

run::Figure goodput_figure(const std::vector<const Campaign*>& jobs) {
  run::Figure figure;
  figure.id = "goodput";
  figure.title = "Goodput";
  figure.caption = "Training that counts, share of the wall time: median and 90 % interval.";
  figure.kind = run::FigureKind::kBar;
  figure.x = gpus_axis(jobs);
  figure.y = {.title = "goodput", .unit = "%", .categories = {}};
  run::FigureSeries series = series_of("goodput", first_numbers<double>(jobs.size()));
  for (const Campaign* it : jobs) {
    series.y.push_back(100 * it->goodput.median);
    series.low.push_back(100 * it->goodput.low);
    series.high.push_back(100 * it->goodput.high);
  }
  series.point = first_numbers<int64_t>(jobs.size());
  figure.series = {std::move(series)};
  return figure;
}

run::Figure ready_figure(const std::vector<const Campaign*>& jobs) {
  run::Figure figure;
  figure.id = "ready";
  figure.title = "When it is ready";
  figure.caption = "The share of the draws that have ended by a day.";
  figure.x = {.title = "days from the start", .unit = "days", .categories = {}};
  figure.y = {.title = "ready", .unit = "%", .categories = {}};
  for (size_t i = 0; i < jobs.size(); ++i) {
    run::FigureSeries series = series_of(gpus_word(*jobs[i]), jobs[i]->ready_days);
    series.y = first_numbers<double>(series.x.size());
    series.point.assign(series.x.size(), static_cast<int64_t>(i));
    figure.series.push_back(std::move(series));
  }
  return figure;
}

run::Figure marginal_figure(const Sizes& sizes) {
  run::Figure figure;
  figure.id = "next";
  figure.title = "What the next 1,000 GPUs bring";
  figure.caption =
      "Days that 1,000 more would save, if each brought as many tokens a second as those from the "
      "size before did.";
  figure.kind = run::FigureKind::kBar;
  figure.x = {.title = "GPUs", .unit = {}, .categories = {}};
  figure.y = {.title = "days saved", .unit = "days", .categories = {}};
  run::FigureSeries series = series_of("days saved", first_numbers<double>(sizes.marginals.size()));
  for (const campaign::Marginal& it : sizes.marginals) {
    figure.x.categories.push_back(
        fmt::format("{} to {}", base::format_count(it.from), base::format_count(it.to)));
    series.y.push_back(it.days_by_next_1000);
  }
  figure.series = {std::move(series)};
  return figure;
}

run::StudyPoint point_of(const Campaign& campaign, const campaign::Ask& ask, bool meets) {
  run::StudyPoint point;
  point.id = gpus_word(campaign);
  point.axes = {{"GPUs", base::format_count(campaign.gpus())}};
  const run::Memory& memory = campaign.training.memory;
  point.status = memory.fits ? run::PointStatus::kOk : run::PointStatus::kDoesNotFit;
  if (!memory.fits) point.reason = memory.advice;
  point.settings = {
      {"wall time", days_word(campaign.days)},
      {"goodput", fmt::format("{:.1f} % ({:.1f} % to {:.1f} %)", 100 * campaign.goodput.median,
                              100 * campaign.goodput.low, 100 * campaign.goodput.high)},
      {"failures", fmt::format("{:.0f}", campaign.failures.median)},
      {"GPU-hours", base::format_si(campaign.gpu_hours.median)}};
  if (ask.start)
    point.settings["ready on"] =
        fmt::format("{} ({} to {})", campaign::date_after(*ask.start, campaign.days.median),
                    campaign::date_after(*ask.start, campaign.days.low),
                    campaign::date_after(*ask.start, campaign.days.high));
  if (campaign.training.has_power) point.settings["energy"] = energy_word(campaign);
  if (!meets && (ask.deadline_s > 0 || ask.budget > 0))
    point.notes.emplace_back("misses what is asked in more than one of ten draws");
  return point;
}

}  // namespace

run::Study campaign_study(const Sizes& sizes, const campaign::Ask& ask) {
  const std::vector<const Campaign*> jobs = planned(sizes);
  const Campaign& chosen = sizes.campaigns[sizes.chosen];
  run::Study study;
  study.name = "campaign";
  study.title = fmt::format("{} for {} tokens", chosen.training.job.model.name,
                            base::format_si(chosen.tokens(), ""));
  study.question =
      fmt::format("How long does the whole run take, and what do more GPUs bring? On {} of {}: {}.",
                  gpus_word(chosen), chosen.training.job.cluster.name, answer_word(chosen));
  run::StudyAxis axis{"GPUs", {}};
  for (size_t i = 0; i < sizes.campaigns.size(); ++i) {
    const Campaign& it = sizes.campaigns[i];
    if (!it.refusal.empty()) continue;
    axis.labels.push_back(base::format_count(it.gpus()));
    study.points.push_back(point_of(it, ask, sizes.meets[i]));
  }
  study.axes = {std::move(axis)};
  study.figures = {days_figure(jobs), goodput_figure(jobs), ready_figure(jobs)};
  if (!sizes.marginals.empty()) study.figures.push_back(marginal_figure(sizes));
  return study;
}

}  // namespace ergometer::report
