#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "run/run.h"
#include "validation/score.h"
#include "validation/series.h"

namespace ergometer::validation {
namespace {

/// Layouts of one series that the text shows: the fastest ones, and the chosen one in any case.
constexpr size_t kMostShown = 8;

std::string layout_line(const Series& series, size_t i, const std::vector<MeasuredRun>& runs) {
  const SeriesLayout& layout = series.layouts[i];
  const size_t again = layout.runs.size() - 1;
  return fmt::format("  {} {:>9} {:>4}  {:>9} {:>4}  {}  {}{}{}\n", i == series.chosen ? '>' : ' ',
                     base::format_seconds(layout.measured_s), i + 1,
                     base::format_seconds(layout.predicted_s), layout.predicted_rank, layout.words,
                     id_of(runs[layout.runs.front()]),
                     again > 0 ? fmt::format(" and {} more", again) : "",
                     layout.fits ? "" : "; predicted not to fit");
}

std::string series_lines(const Series& series, const std::vector<MeasuredRun>& runs) {
  std::string text = fmt::format(
      "\n{}\n  {} layouts, loss {:.1f} % (blind {:.1f} %), order {:+.2f}\n", series.name,
      series.layouts.size(), series.loss_pct, series.blind_loss_pct, series.order);
  const size_t all = series.layouts.size(), shown = std::min(all, kMostShown);
  for (size_t i = 0; i < shown; ++i) text += layout_line(series, i, runs);
  if (series.chosen >= shown) text += layout_line(series, series.chosen, runs);
  const size_t more = all - shown - (series.chosen >= shown ? 1 : 0);
  if (more > 0) text += fmt::format("    and {} more, all in --json\n", more);
  return text;
}

}  // namespace

std::string series_text(const SeriesReport& report, const std::vector<MeasuredRun>& runs) {
  const size_t all = report.series.size();
  if (all == 0) return "No job of these rows was measured with several layouts.\n";
  std::string text = fmt::format(
      "{} jobs were measured with several layouts. In {} of them ({:.1f} %) the layout predicted\n"
      "fastest is the fastest measured or within {:.0f} % of it.\n"
      "Loss of choosing by prediction: {:.1f} % in the mean; of choosing blindly: {:.1f} %.\n"
      "Order of the layouts, measured against predicted (Kendall's tau): {:+.2f} in the mean.\n\n"
      "Each series, worst first: measured step time and its place, predicted step time and its "
      "place;\n> is chosen by prediction\n",
      all, report.right, 100 * static_cast<double>(report.right) / static_cast<double>(all),
      kSeriesLossPct, report.mean_loss_pct, report.mean_blind_loss_pct, report.mean_order);
  for (const Series& series : report.series) text += series_lines(series, runs);
  return text;
}

std::string series_json(const SeriesReport& report, const std::vector<MeasuredRun>& runs) {
  base::JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("series_count", static_cast<int64_t>(report.series.size()));
  json.member("right", report.right).member("within_pct", kSeriesLossPct);
  json.member("mean_loss_pct", report.mean_loss_pct);
  json.member("mean_blind_loss_pct", report.mean_blind_loss_pct);
  json.member("mean_order", report.mean_order);
  json.array("series", report.series, [&](const Series& series) {
    const MeasuredRun& any = runs[series.layouts.front().runs.front()];
    json.begin_object().member("name", series.name).member("source", any.cell("source"));
    json.member("loss_pct", series.loss_pct).member("blind_loss_pct", series.blind_loss_pct);
    json.member("order", series.order);
    json.member("chosen", id_of(runs[series.layouts[series.chosen].runs.front()]));
    json.rows("layouts", series.layouts, [&](const SeriesLayout& layout) {
      json.member("id", id_of(runs[layout.runs.front()])).member("layout", layout.words);
      json.member("measured_s", layout.measured_s).member("predicted_s", layout.predicted_s);
      json.member("predicted_rank", layout.predicted_rank).member("fits", layout.fits);
      json.member("rows", static_cast<int64_t>(layout.runs.size()));
    });
    json.end_object();
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::validation
