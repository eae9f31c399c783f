#include "calibration/output.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "base/collection.h"
#include "base/csv.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "calibration/catalog_writer.h"
#include "spec/catalog/read.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::calibration {
namespace {

using validation::ErrorStatistics;

double value_of(const Target& target, const FittedValue& fitted) {
  return target.prior * std::exp(fitted.x);
}

std::string shown(double value, const FittedParameter& parameter) {
  const spec::ParameterInfo* info =
      spec::find_parameter(parameter.targets.front().owner, parameter.name);
  if (info->unit.empty()) return four_digits(value);
  if (info->unit == "s") return base::format_seconds(value);
  if (info->unit == "B") return base::format_binary_bytes(value);
  return base::format_si(value, info->unit);
}

/// What there is to say against a value; empty: nothing.
std::string warning(const FittedValue& fitted) {
  if (fitted.held)
    return fmt::format("moves {} group{}: keeps its prior", fitted.groups,
                       fitted.groups == 1 ? "" : "s");
  if (fitted.at_bound) return "at its bound: the data would have it beyond";
  if (fitted.determined > kUndetermined) return "the data does not determine it";
  return {};
}

std::string errors_text(const char* what, const ErrorStatistics& e) {
  return fmt::format(
      "{:<16} group mean {:6.2f} %   group median {:6.2f} %   mean {:6.2f} %   median {:6.2f} %   "
      "within 15 % {:5.1f} %   bias {:+6.2f} %\n",
      what, e.group_mean_pct, e.group_median_pct, e.mean_pct, e.median_pct,
      100 * e.within_15_fraction, e.group_bias_pct);
}

/// One line's worth of a title: "software/automodel and 14 more p2p.fixed".
std::string short_title(const FittedParameter& it) {
  if (it.targets.size() <= 2) return it.title();
  return fmt::format("{} and {} more {}", it.targets.front().file, it.targets.size() - 1, it.name);
}

std::string parameters_text(const ParameterList& list, const Calibration& calibration) {
  const size_t width = base::largest(
      list.parameters, size_t{9}, [](const FittedParameter& it) { return short_title(it).size(); });
  std::string out =
      fmt::format("{:<{}}  {:>12}  {:>12}  {:>7}  {:>7}  {:>10}  {:>5}  {:>6}\n", "parameter",
                  width, "prior", "value", "change", "error", "determined", "rows", "groups");
  for (size_t j = 0; j < list.parameters.size(); ++j) {
    const FittedParameter& it = list.parameters[j];
    const FittedValue& fitted = calibration.values[j];
    const std::string note = warning(fitted);
    out += fmt::format("{:<{}}  {:>12}  {:>12}  {:>+5.1f} %  {:>5.1f} %  {:>10.2f}  {:>5}  {:>6}",
                       short_title(it), width, shown(it.targets.front().prior, it),
                       shown(value_of(it.targets.front(), fitted), it), 100 * std::expm1(fitted.x),
                       100 * fitted.standard_error, fitted.determined, fitted.rows, fitted.groups);
    out += note.empty() ? "\n" : "  " + note + "\n";
  }
  return out;
}

void write_errors(base::JsonWriter& json, std::string_view name, const ErrorStatistics& e) {
  json.key(name).begin_object(base::JsonWriter::Layout::kOneLine);
  json.member("rows", e.rows).member("groups", e.groups);
  json.member("group_mean_pct", e.group_mean_pct).member("group_median_pct", e.group_median_pct);
  json.member("mean_pct", e.mean_pct).member("median_pct", e.median_pct);
  json.member("within_15_fraction", e.within_15_fraction);
  json.member("group_bias_pct", e.group_bias_pct).end_object();
}

void write_parameter(base::JsonWriter& json, const FittedParameter& parameter,
                     const FittedValue& fitted) {
  json.begin_object().member("name", parameter.name);
  json.rows("targets", parameter.targets, [&](const Target& target) {
    json.member("file", target.file).member("prior", target.prior);
    json.member("value", value_of(target, fitted));
  });
  json.member("log_change", fitted.x).member("standard_error", fitted.standard_error);
  json.member("prior_sigma", parameter.sigma).member("determined", fitted.determined);
  json.member("rows", fitted.rows).member("groups", fitted.groups).member("held", fitted.held);
  json.member("at_bound", fitted.at_bound).member("warning", warning(fitted)).end_object();
}

std::string source_of(const FittedParameter& parameter, const Target& target,
                      const FittedValue& fitted, const std::string& truth) {
  return fmt::format("fitted to {} rows of {} groups of {}, +-{:.1f} %, prior {}", fitted.rows,
                     fitted.groups, truth, 100 * fitted.standard_error,
                     shown(target.prior, parameter));
}

/// What becomes of a target's line. A parameter that keeps its prior keeps its line too, unless an
/// earlier fit has changed it.
std::optional<Replacement> replacement(const FittedParameter& parameter, const Target& target,
                                       const FittedValue& fitted, const std::string& truth,
                                       double in_catalog) {
  if (!fitted.held)
    return Replacement{parameter.name, value_of(target, fitted),
                       source_of(parameter, target, fitted, truth)};
  if (std::abs(in_catalog - target.prior) <= 1e-9 * target.prior) return {};
  return Replacement{parameter.name, target.prior,
                     fmt::format("prior of calibration.yaml: moves {} groups of {}, too few to fit",
                                 fitted.groups, truth),
                     "assumed"};
}

/// The parameter as the catalog file has it.
Result<double> value_in(const std::string& text, const std::string& path,
                        const FittedParameter& parameter, const Target& target) {
  ERGOMETER_ASSIGN(spec::YamlMap file, spec::YamlMap::parse(text, path));
  const spec::ParameterInfo* info = spec::find_parameter(target.owner, parameter.name);
  auto parameters = file.map("parameters");
  if (!parameters) return input_error(path + ": has no parameters");
  const double value =
      parameters->parameter(parameter.name, info->unit, info->min, info->max).value;
  if (file.error()) return tl::unexpected(*file.error());
  return value;
}

std::string six_digits(double seconds) { return fmt::format("{:.6g}", seconds); }

}  // namespace

std::string to_text(const ParameterList& list, const Calibration& calibration) {
  const Samples& samples = calibration.samples;
  std::string out = parameters_text(list, calibration);
  out += fmt::format("\n{} parameters, {} rows of {} groups\n", list.parameters.size(),
                     samples.rows.size(), calibration.fitted.groups);
  out += fmt::format(
      "left out: {} of tier C, {} of sources that measure something else, {} that make no job, {} "
      "without a step time, {} of large groups\n",
      samples.tier_c, samples.source, samples.refused, samples.without_time, samples.thinned);
  out += fmt::format("{} after {} rounds\n\n", calibration.converged ? "settled" : "not settled",
                     calibration.iterations);
  out += errors_text("priors", calibration.prior);
  out += errors_text("fitted", calibration.fitted);
  out += errors_text("cross-validated", calibration.cross_validated);
  if (!calibration.left_out.empty()) {
    out += errors_text("source left out", calibration.all_left_out);
    out += "\ngroup mean error by source, in the fit and left out\n";
  }
  for (const LeftOutSource& it : calibration.left_out)
    out += fmt::format("{:6.2f} %  {:6.2f} %  {}\n", it.with.group_mean_pct,
                       it.without.group_mean_pct, it.source);
  return out;
}

std::string to_json(const ParameterList& list, const Calibration& calibration) {
  base::JsonWriter json;
  const Samples& samples = calibration.samples;
  json.begin_object().member("schema_version", 1);
  json.member("rows", samples.rows.size()).member("groups", calibration.fitted.groups);
  json.key("left_out_rows").begin_object();
  json.member("tier_c", samples.tier_c).member("source", samples.source);
  json.member("no_job", samples.refused);
  json.member("no_step_time", samples.without_time).member("thinned", samples.thinned).end_object();
  json.member("settled", calibration.converged).member("rounds", calibration.iterations);
  write_errors(json, "prior", calibration.prior);
  write_errors(json, "fitted", calibration.fitted);
  write_errors(json, "cross_validated", calibration.cross_validated);
  if (!calibration.left_out.empty())
    write_errors(json, "source_left_out", calibration.all_left_out);
  json.key("parameters").begin_array();
  for (size_t j = 0; j < list.parameters.size(); ++j)
    write_parameter(json, list.parameters[j], calibration.values[j]);
  json.end_array();
  json.objects("left_out", calibration.left_out, [&](const LeftOutSource& it) {
    json.member("source", it.source);
    write_errors(json, "with", it.with);
    write_errors(json, "without", it.without);
  });
  json.end_object();
  return json.take();
}

std::string cross_validation_csv(const Calibration& calibration) {
  std::string out = "id,group,source,fold,measured,predicted_fit,predicted_cv\n";
  for (size_t i = 0; i < calibration.rows.size(); ++i) {
    const Sample& sample = calibration.samples.rows[i];
    const RowResult& row = calibration.rows[i];
    out += base::csv_line({sample.id, sample.group, sample.source, std::to_string(row.fold),
                           six_digits(sample.measured_s), six_digits(row.fitted_s),
                           six_digits(row.cross_validated_s)});
  }
  return out;
}

std::string left_out_csv(const Calibration& calibration) {
  std::string out = "id,group,source,software,measured,predicted,low,high\n";
  for (size_t i = 0; i < calibration.rows.size(); ++i) {
    const Sample& sample = calibration.samples.rows[i];
    const std::optional<LeftOutRow>& row = calibration.rows[i].left_out;
    if (!row) continue;
    out += base::csv_line({sample.id, sample.group, sample.source, sample.job.software.name,
                           six_digits(sample.measured_s), six_digits(row->predicted_s),
                           six_digits(row->low_s), six_digits(row->high_s)});
  }
  return out;
}

Result<std::vector<ChangedFile>> changed_files(const ParameterList& list,
                                               const Calibration& calibration,
                                               const std::string& truth) {
  std::map<std::string, std::string> texts;  // by path
  for (const spec::CatalogEntry& entry : spec::catalog()) texts.emplace(entry.path, entry.text);
  std::map<std::string, std::string> changed;
  for (size_t j = 0; j < list.parameters.size(); ++j) {
    const FittedParameter& parameter = list.parameters[j];
    const FittedValue& fitted = calibration.values[j];
    for (const Target& target : parameter.targets) {
      const std::string path = "catalog/" + target.file + ".yaml";
      std::string& text = changed.emplace(target.file + ".yaml", texts[path]).first->second;
      ERGOMETER_ASSIGN(const double value, value_in(text, path, parameter, target));
      if (const auto change = replacement(parameter, target, fitted, truth, value)) {
        ERGOMETER_ASSIGN(text, replace_parameter(text, path, *change));
      }
    }
  }
  std::vector<ChangedFile> files;
  for (auto& [path, text] : changed) files.push_back({path, std::move(text)});
  return files;
}

}  // namespace ergometer::calibration
