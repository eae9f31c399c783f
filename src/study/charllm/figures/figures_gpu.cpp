// GPU by GPU: figures 5 and 17, and the chassis of figure 16.
#include <fmt/format.h>

#include <functional>

#include "base/collection.h"
#include "study/charllm/figures/figures.h"
#include "study/charllm/ranked.h"

namespace ergometer::study::charllm {
namespace {

struct Row {
  std::string label;
  Seen seen;
  Ranked run;
};

std::vector<Row> base_rows(Basis& basis) {
  std::vector<Row> rows;
  for (const std::string& layout : layouts_of("h200")) {
    const Seen seen = basis.sweep("h200", layout, "00000");
    if (!seen.fits()) continue;
    if (auto run = ranked(seen.point))
      rows.push_back({model_name(model_of(layout)) + " " + seen.layout(), seen, *std::move(run)});
  }
  return rows;
}

using Value = std::function<double(const Ranked&, const run::Rank&)>;

/// Panels of the same quantity share their colours.
run::Figure heat_map(run::Figure figure, const std::vector<Row>& rows, const char* quantity,
                     const char* unit, const Value& value) {
  figure.kind = run::FigureKind::kHeatMap;
  figure.x.title = "GPU (8 a node)";
  figure.y.title = "layout";
  figure.y.unit = unit;  // of the cells
  run::FigureSeries series = labelled(quantity);
  for (size_t gpu = 0; !rows.empty() && gpu < rows.front().run.ranks.size(); ++gpu)
    figure.x.categories.push_back(fmt::format("{}", gpu));
  for (size_t r = 0; r < rows.size(); ++r) {
    figure.y.categories.push_back(rows[r].label);
    for (const run::Rank& rank : rows[r].run.ranks) {
      put(series, static_cast<double>(rank.rank), static_cast<double>(r), rows[r].seen);
      series.value.push_back(value(rows[r].run, rank));
    }
  }
  figure.series.push_back(std::move(series));
  return figure;
}

run::Figure told(const char* number, const char* title, const char* panel, const char* caption,
                 const char* reported) {
  run::Figure figure = titled(number, title, panel);
  figure.caption = caption;
  figure.reported = reported;
  return figure;
}

double of_stage(const std::vector<double>& bytes, const run::Rank& rank) {
  constexpr double kGiga = 1e9;
  const auto stage = static_cast<size_t>(rank.stage);
  return stage < bytes.size() ? bytes[stage] / kGiga : 0;
}

void traffic(Figures& figures, const std::vector<Row>& rows) {
  constexpr const char* kTitle = "What every GPU of 32 H200 sends in a step";
  figures.add(heat_map(
      told("5", kTitle, "NVLink",
           "Tensor parallelism fills NVLink, by orders of magnitude more than anything else. All "
           "18 links are counted; the study's counter reads link 0 only, about an 18th. Next: "
           "look for layouts whose neighbours in the pipeline share a node.",
           "TP-heavy layouts load NVLink, PP-heavy ones the network at stage borders"),
      rows, "sent by NVLink", "GB",
      [](const Ranked& run, const run::Rank& rank) { return of_stage(run.intra_bytes, rank); }));
  figures.add(heat_map(
      told("5", kTitle, "PCIe to the network port",
           "Only the last stage of a node sends forward to the next one and only its first sends "
           "back; experts that span nodes send from every GPU. All GPUs of a stage send the "
           "same. Pale cells send nothing. Next: where every GPU sends, one port for eight is "
           "what to widen.",
           "sparse traffic at stage borders, dense traffic where experts span nodes"),
      rows, "sent by PCIe", "GB",
      [](const Ranked& run, const run::Rank& rank) { return of_stage(run.nic_bytes, rank); }));
}

void temperatures(Figures& figures, const std::vector<Row>& rows) {
  constexpr const char* kTitle = "Temperature and clock of every GPU of 32 H200";
  figures.add(heat_map(
      told("17", kTitle, "Mean temperature",
           "In every node GPUs 4 to 7, behind the others in the air, are hotter. Next: put work "
           "that waits on them, or ask optimize for a map.",
           "rear GPUs up to 27 % hotter than front GPUs"),
      rows, "GPU temperature", "C",
      [](const Ranked&, const run::Rank& rank) { return rank.mean_gpu_c; }));
  figures.add(heat_map(told("17", kTitle, "Peak temperature",
                            "The hottest moment of a step in the steady state. Next: "
                            "compare it with the 87 C at which an H200 slows down.",
                            "no clear cool-down of rear GPUs"),
                       rows, "GPU temperature", "C",
                       [](const Ranked&, const run::Rank& rank) { return rank.max_gpu_c; }));
  figures.add(heat_map(
      told("17", kTitle, "Mean SM clock",
           "Hot rows lose clock to leakage under the power cap. The slowest GPU of a stage sets "
           "its pace. Next: look for the lowest number in the row of your layout.",
           "clocks of hot GPUs fall from 1980 to about 1700 MHz or lower"),
      rows, "SM clock", "MHz",
      [](const Ranked&, const run::Rank& rank) { return rank.mean_clock_mhz; }));
}

/// Slots from above: rows from the inlet to the rear, lanes side by side.
void chassis(Figures& figures, const std::vector<Row>& rows) {
  constexpr int kLanes = 4;
  for (const Row& row : rows) {
    if (row.label != "GPT3-175B TP2-PP16") continue;
    run::Figure figure = told(
        "16", "Air through the chassis, seen from above", "",
        "The original is a photograph of the airflow. Means over the four nodes: air enters at the "
        "front row and reaches the rear row warmed. Next: check inlet and fans if your rear row is "
        "more than 18 C above the front one.",
        "front to back air, GPUs 4 to 7 in the air of 0 to 3");
    figure.kind = run::FigureKind::kHeatMap;
    figure.x = {.title = "side by side",
                .unit = "",
                .logarithmic = false,
                .categories = {"0", "1", "2", "3"}};
    figure.y = {.title = "row",
                .unit = "C",
                .logarithmic = false,
                .categories = {"front (air in)", "rear"}};
    run::FigureSeries series = labelled(row.label + ", mean temperature");
    for (int slot = 0; slot < 2 * kLanes; ++slot) {
      std::vector<double> of_nodes;
      for (const run::Rank& rank : row.run.ranks)
        if (rank.slot == slot) of_nodes.push_back(rank.mean_gpu_c);
      put(series, slot % kLanes, slot / kLanes, row.seen);
      series.value.push_back(base::mean(of_nodes));
    }
    figure.series.push_back(std::move(series));
    figures.add(std::move(figure));
  }
}

}  // namespace

void gpu_figures(Figures& figures) {
  Basis basis = figures.basis();
  const std::vector<Row> rows = base_rows(basis);
  traffic(figures, rows);
  chassis(figures, rows);
  temperatures(figures, rows);
}

}  // namespace ergometer::study::charllm
