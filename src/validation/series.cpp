#include "validation/series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/collection.h"
#include "validation/score.h"

namespace ergometer::validation {
namespace {

/// What rows of one job share.
constexpr std::array<std::string_view, 22> kJobColumns = {
    "source", "year", "release", "framework", "task",          "model",     "params_b", "layers",
    "hidden", "ffn",  "heads",   "kv_heads",  "vocab",         "seq",       "experts",  "topk",
    "gpu",    "gpus", "gbs",     "precision", "gpus_per_node", "flops_kind"};

struct Column {
  std::string_view name, word;
};
constexpr std::array<Column, 13> kLayoutColumns = {{{"tp", "tp "},
                                                    {"cp", "cp "},
                                                    {"pp", "pp "},
                                                    {"vpp", "vpp "},
                                                    {"dp", "dp "},
                                                    {"ep", "ep "},
                                                    {"etp", "etp "},
                                                    {"fsdp_zero", ""},
                                                    {"sp", "sp "},
                                                    {"mbs", "mbs "},
                                                    {"grad_accum", "accumulates "},
                                                    {"recompute", "recompute "},
                                                    {"overlap_notes", ""}}};

using Cells = std::vector<std::string>;
using Layouts = std::map<Cells, SeriesLayout>;

double kendall_tau_b(const std::vector<SeriesLayout>& layouts) {
  int64_t concordant = 0, untied_measured = 0, untied_predicted = 0;
  const auto sign = [](double x) {
    return static_cast<int64_t>(x > 0) - static_cast<int64_t>(x < 0);
  };
  for (size_t i = 0; i < layouts.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const int64_t measured = sign(layouts[i].measured_s - layouts[j].measured_s);
      const int64_t predicted = sign(layouts[i].predicted_s - layouts[j].predicted_s);
      concordant += measured * predicted;
      untied_measured += measured * measured;
      untied_predicted += predicted * predicted;
    }
  const double pairs =
      std::sqrt(static_cast<double>(untied_measured) * static_cast<double>(untied_predicted));
  return pairs > 0 ? static_cast<double>(concordant) / pairs : 0;
}

/// The layouts' words: columns in which they differ, those alone.
void name_layouts(const Layouts& found, std::map<Cells, std::string>& words) {
  for (size_t c = 0; c < kLayoutColumns.size(); ++c) {
    const std::string& first = found.begin()->first[c];
    const bool differs =
        std::ranges::any_of(found, [&](const auto& it) { return it.first[c] != first; });
    if (!differs) continue;
    for (const auto& [cells, layout] : found) {
      std::string& text = words[cells];
      const std::string value = cells[c].empty() ? "-" : cells[c];
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", kLayoutColumns[c].word, value);
    }
  }
}

void rank(Series& series) {
  std::vector<SeriesLayout>& all = series.layouts;
  std::ranges::stable_sort(all, [](const SeriesLayout& a, const SeriesLayout& b) {
    return a.predicted_s != b.predicted_s ? a.predicted_s < b.predicted_s
                                          : a.runs.front() < b.runs.front();
  });
  const auto fitting = std::ranges::find_if(all, [](const auto& it) { return it.fits; });
  const size_t chosen = (fitting == all.end() ? all.front() : *fitting).runs.front();
  for (size_t i = 0; i < all.size(); ++i) all[i].predicted_rank = static_cast<int64_t>(i) + 1;
  std::ranges::stable_sort(all, {}, &SeriesLayout::measured_s);
  const double least_s = all.front().measured_s;
  for (size_t i = 0; i < all.size(); ++i) {
    const double loss_pct = 100 * (all[i].measured_s / least_s - 1);
    if (all[i].runs.front() == chosen) {
      series.chosen = i;
      series.loss_pct = loss_pct;
    }
    series.blind_loss_pct += loss_pct / static_cast<double>(all.size());
  }
  series.order = kendall_tau_b(all);
}

Series make_series(const Layouts& found, const std::vector<Prediction>& predictions,
                   const MeasuredRun& any) {
  Series series;
  std::map<Cells, std::string> words;
  name_layouts(found, words);
  for (const auto& [cells, layout] : found) {
    SeriesLayout next = layout;
    next.words = words[cells];
    next.measured_s = base::upper_median(base::mapped(
        next.runs, [&](size_t run) { return *predictions[run].measured.step_time_s; }));
    next.predicted_s = predictions[next.runs.front()].performance.step_time_s;
    next.fits = predictions[next.runs.front()].memory.fits;
    series.layouts.push_back(std::move(next));
  }
  const std::string_view seq = any.cell("seq"), precision = any.cell("precision");
  series.name =
      fmt::format("{}, {} x {}, batch {}{}{}{}{}; {}", any.cell("model"), any.cell("gpus"),
                  any.cell("gpu"), any.cell("gbs"), seq.empty() ? "" : " of ", seq,
                  precision.empty() ? "" : ", ", precision, any.cell("source"));
  rank(series);
  return series;
}

Cells cells_of(const MeasuredRun& run, const auto& columns, const auto& name) {
  Cells cells;
  for (const auto& column : columns) cells.emplace_back(run.cell(name(column)));
  return cells;
}

}  // namespace

SeriesReport find_series(const std::vector<MeasuredRun>& runs,
                         const std::vector<Prediction>& predictions) {
  std::map<Cells, Layouts> jobs;
  std::vector<const Layouts*> order;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Prediction& prediction = predictions[i];
    if (!prediction.skipped_reason.empty() || !prediction.measured.step_time_s) continue;
    const auto [job, is_new] =
        jobs.try_emplace(cells_of(runs[i], kJobColumns, [](auto name) { return name; }));
    if (is_new) order.push_back(&job->second);
    const auto layout = cells_of(runs[i], kLayoutColumns, [](const Column& c) { return c.name; });
    job->second[layout].runs.push_back(i);
  }
  SeriesReport report;
  for (const Layouts* layouts : order)
    if (layouts->size() > 1)
      report.series.push_back(
          make_series(*layouts, predictions, runs[layouts->begin()->second.runs.front()]));
  std::ranges::stable_sort(report.series, std::ranges::greater{}, &Series::loss_pct);
  const auto count = static_cast<double>(report.series.size());
  for (const Series& series : report.series) {
    report.right += series.loss_pct <= kSeriesLossPct ? 1 : 0;
    report.mean_loss_pct += series.loss_pct / count;
    report.mean_blind_loss_pct += series.blind_loss_pct / count;
    report.mean_order += series.order / count;
  }
  return report;
}

}  // namespace ergometer::validation
