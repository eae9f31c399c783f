#include "study/charllm/figures/figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ergometer::study::charllm {

void Figures::add(run::Figure figure) {
  const auto known = [](const run::FigureSeries& series) {
    const std::vector<double>& numbers = series.value.empty() ? series.y : series.value;
    return std::any_of(numbers.begin(), numbers.end(), [](double y) { return !std::isnan(y); });
  };
  if (std::any_of(figure.series.begin(), figure.series.end(), known))
    list_.push_back(std::move(figure));
}

run::Figure titled(const std::string& number, std::string title, std::string panel,
                   run::FigureKind kind) {
  run::Figure figure;
  figure.id = "figure-" + number;
  figure.label = "Figure " + number;
  figure.title = std::move(title);
  figure.panel = std::move(panel);
  figure.kind = kind;
  return figure;
}

run::FigureAxis axis(std::string title, std::string unit) {
  return {std::move(title), std::move(unit), /*logarithmic=*/false, {}};
}

run::FigureAxis log_axis(std::string title, std::string unit) {
  return {std::move(title), std::move(unit), /*logarithmic=*/true, {}};
}

run::FigureSeries labelled(std::string label) {
  run::FigureSeries series;
  series.label = std::move(label);
  return series;
}

void put(run::FigureSeries& series, double x, double y, const Seen& seen) {
  series.x.push_back(x);
  series.y.push_back(y);
  series.point.push_back(seen.index);
}

std::string model_name(const std::string& model) {
  if (model == "gpt3-175b") return "GPT3-175B";
  if (model == "llama3-70b") return "Llama3-70B";
  if (model == "gpt3-30b") return "GPT3-30B";
  if (model == "llama3-30b") return "Llama3-30B";
  if (model == "mixtral-8x22b") return "Mixtral-8x22B";
  if (model == "mixtral-8x7b") return "Mixtral-8x7B";
  return model;
}

}  // namespace ergometer::study::charllm
