#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/study.h"
#include "study/charllm/evidence.h"

namespace ergometer::study::charllm {

/// Figures as they are put together.
class Figures {
 public:
  explicit Figures(const run::Study& study) : study_(study) {}
  Basis basis() const { return Basis(study_); }
  /// A figure without a single number is left out.
  void add(run::Figure figure);
  std::vector<run::Figure> take() { return std::move(list_); }

 private:
  const run::Study& study_;
  std::vector<run::Figure> list_;
};

/// Figures 3, 10, 15.
void breakdown_figures(Figures& figures);
/// Figures 4, 8, 9, 11 to 14, 18.
void panel_figures(Figures& figures);
/// Figures 5 and 17.
void gpu_figures(Figures& figures);
/// Figures 6, 7.
void timeline_figures(Figures& figures);
/// Figures 16, 19 to 22.
void thermal_figures(Figures& figures);
/// Ours, of what the paper left open.
void open_figures(Figures& figures);

/// Figure 5 of the paper, or one of its `panel`s, with nothing in it yet.
run::Figure titled(const std::string& number, std::string title, std::string panel = "",
                   run::FigureKind kind = run::FigureKind::kLine);
/// `axis("time", "s")`: numbers, or categories that are yet to be named.
run::FigureAxis axis(std::string title, std::string unit = "");
run::FigureAxis log_axis(std::string title, std::string unit = "");
/// A series without values yet.
run::FigureSeries labelled(std::string label);
/// Adds a value to a series: NaN where the point is not known.
void put(run::FigureSeries& series, double x, double y, const Seen& seen);
/// "GPT3-175B" for "gpt3-175b".
std::string model_name(const std::string& model);
inline constexpr const char* kNotKnown = "The original is not known in detail. ";

}  // namespace ergometer::study::charllm
