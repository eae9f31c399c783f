#include "calibration/twin/twin_output.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/json_writer.h"
#include "base/text.h"
#include "calibration/catalog_writer.h"
#include "calibration/twin/boards_output.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kPercent = 100;

std::string value_text(const Row& row, double value) {
  const std::string_view unit = row.quantity.unit;
  if (unit == "s") return base::format_seconds(value);
  return unit.empty() ? fmt::format("{:.1f} %", kPercent * value)
                      : fmt::format("{:.1f} {}", value, unit);
}

/// With one digit; what rounds to nothing has no sign of its own.
double tenths(double value) { return std::round(10 * value) / 10 + 0.0; }

/// "+3.1 %", of an absolute quantity the difference.
std::string off_text(const Row& row, double value) {
  const double off = row.quantity.absolute ? value - row.recorded : value / row.recorded - 1;
  const std::string_view unit = row.quantity.unit;
  if (row.quantity.absolute && !unit.empty()) return fmt::format("{:+.1f} {}", tenths(off), unit);
  return fmt::format("{:+.1f} %", tenths(kPercent * off));
}

std::string source_of(const FactorValue& value, const base::Parameter& before,
                      std::string_view from) {
  return fmt::format(
      "calibrate --from {}: {:.3f} times what was there, standard error {:.1f} %; {}", from,
      value.factor_of, kPercent * value.standard_error, before.source);
}

const FactorValue* factor_of(const Twin& twin, std::string_view parameter) {
  for (const FactorValue& value : twin.factors)
    if (spec::moves(*value.factor, parameter)) return &value;
  return nullptr;
}

/// One number of a file, indented, with `prefix` off its name.
void add_line(std::string& out, const Twin& twin, const std::string& name,
              const base::Parameter& parameter, size_t prefix, std::string_view from) {
  const std::string plain = name.substr(prefix);
  const FactorValue* value = factor_of(twin, plain);
  const bool fitted = value != nullptr && value->not_told.empty();
  const bool moved = value != nullptr && value->factor_of != 1;
  // Six digits: more would differ from machine to machine and mean nothing.
  const std::string number =
      moved ? fmt::format("{:.6g}", parameter.value) : base::shortest(parameter.value);
  const std::string unit = parameter.unit.empty() ? "" : ' ' + parameter.unit;
  fmt::format_to(std::back_inserter(out), "    {}: {{value: {}{}, source: {}, grade: {}}}\n", plain,
                 number, unit,
                 base::json_quote(fitted ? source_of(*value, parameter, from) : parameter.source),
                 to_string(fitted ? base::Grade::kFitted : parameter.grade));
}

/// A whole set, as files of collectives and cooling are; nothing where the cluster has none.
std::string set_of(const Twin& twin, const base::ParameterSet& set, std::string_view prefix,
                   std::string_view from) {
  std::string lines;
  for (const auto& [name, parameter] : set.all())
    if (name.starts_with(prefix)) add_line(lines, twin, name, parameter, prefix.size(), from);
  return lines;
}

void add_collectives(std::string& out, const char* key, const Twin& twin,
                     const base::ParameterSet& set, std::string_view from) {
  const std::string lines = set_of(twin, set, "collective.", from);
  if (!lines.empty()) out += fmt::format("{}:\n  name: twin\n  parameters:\n{}", key, lines);
}

void add_gpu(std::string& out, const Twin& twin, std::string_view from) {
  std::string lines;
  for (const auto& [name, parameter] : twin.cluster.node.gpu.parameters.all())
    if (factor_of(twin, name) != nullptr || name.starts_with("spread."))
      add_line(lines, twin, name, parameter, 0, from);
  if (!lines.empty()) out += "parameters:\n" + lines;
}

void add_coolings(std::string& out, const Twin& twin, std::string_view from) {
  const base::ParameterSet& set = twin.cluster.node.parameters;
  std::string ways;
  for (const char* way : {"air", "liquid", "immersion"}) {
    const std::string lines = set_of(twin, set, fmt::format("cooling.{}.", way), from);
    if (!lines.empty()) ways += fmt::format("  {}:\n   name: twin\n   parameters:\n{}", way, lines);
  }
  if (!ways.empty()) out += "coolings:\n" + ways;
}

void add_fans(const Twin& twin, std::string& told, std::string& untold) {
  if (!twin.fans.curve) {
    untold += fmt::format("  how fans follow the hottest GPU: {}\n", twin.fans.not_told);
    return;
  }
  const FanCurve& fans = *twin.fans.curve;
  told += fmt::format(
      "fans: {:.0f} % up to {:.1f} C (+-{:.1f} K), full from {:.1f} C (+-{:.1f} K)\n",
      kPercent * fans.lowest, fans.start_c, fans.start_error_k, fans.full_c, fans.full_error_k);
}

void add_spread(const Twin& twin, const char* what, BoardValue Boards::* which, std::string& told,
                std::string& untold) {
  const std::string name = fmt::format("from board to board: {}", what);
  if (!twin.boards) {
    untold += fmt::format("  {}: {}\n", name, twin.no_boards);
    return;
  }
  const BoardValue& spread = (*twin.boards).*which;
  if (spread.told)
    told += fmt::format("{:<34}{:>14.1f} %{:>8.1f} %\n", name, kPercent * spread.value,
                        kPercent * spread.error);
  else
    untold += fmt::format("  {}: {}\n", name, kAlike);
}

/// Members of the fans' curve and of what boards differ by.
void write_readings(base::JsonWriter& json, const Twin& twin) {
  if (twin.fans.curve) {
    const FanCurve& fans = *twin.fans.curve;
    json.key("fans").begin_object();
    json.member("lowest", fans.lowest).member("lowest_error", fans.lowest_error);
    json.member("start_c", fans.start_c).member("start_error_k", fans.start_error_k);
    json.member("full_c", fans.full_c).member("full_error_k", fans.full_error_k).end_object();
  }
  if (twin.boards) write_boards(json, *twin.boards);
}

void add_evidence(std::string& out, const spec::ClusterEvidence& evidence) {
  fmt::format_to(std::back_inserter(out),
                 "measured:\n  job: {}\n  software: {}\n  precision: {}\n  kind: {}\n  gpus: {}\n"
                 "  nodes: {}\n  form: {:.3g}\n  covariance:\n",
                 base::json_quote(evidence.job), base::json_quote(evidence.software),
                 evidence.precision, base::json_quote(evidence.kind), evidence.gpus, evidence.nodes,
                 evidence.form);
  for (size_t i = 0; i < evidence.factors.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "    {}: [", base::json_quote(evidence.factors[i]));
    for (size_t j = 0; j <= i; ++j)
      fmt::format_to(std::back_inserter(out), "{}{:.3g}", j > 0 ? ", " : "",
                     evidence.covariance[i][j]);
    out += "]\n";
  }
}

}  // namespace

std::string to_text(const Twin& twin) {
  std::string out = fmt::format("{:<16}{:>12}{:>12}{:>10}{:>12}{:>10}\n", "of the job", "recorded",
                                "predicted", "off", "with twin", "off");
  for (const Row& row : twin.rows)
    fmt::format_to(std::back_inserter(out), "{:<16}{:>12}{:>12}{:>10}{:>12}{:>10}\n",
                   row.quantity.name, value_text(row, row.recorded), value_text(row, row.before),
                   off_text(row, row.before), value_text(row, row.after), off_text(row, row.after));
  fmt::format_to(std::back_inserter(out), "\n{:<34}{:>16}{:>10}\n", "told", "times catalog's",
                 "error");
  for (const FactorValue& value : twin.factors)
    if (value.not_told.empty())
      fmt::format_to(std::back_inserter(out), "{:<34}{:>16.3f}{:>8.1f} %{}\n",
                     value.factor->meaning, value.factor_of, kPercent * value.standard_error,
                     value.at_bound ? "  at the end of its range" : "");
  fmt::format_to(std::back_inserter(out), "{:<34}{:>24.1f} %\n", "any other job, besides",
                 kPercent * twin.form);
  std::string untold;
  add_fans(twin, out, untold);
  add_spread(twin, "resistance", &Boards::resistance_spread, out, untold);
  add_spread(twin, "leakage", &Boards::leakage_spread, out, untold);
  out += "\nnot told\n";
  for (const FactorValue& value : twin.factors)
    if (!value.not_told.empty())
      fmt::format_to(std::back_inserter(out), "  {} (+-{:.0f} %): {}\n", value.factor->meaning,
                     kPercent * value.standard_error, value.not_told);
  out += untold + "  latencies, heat capacities: not fitted\n";
  for (const std::string& note : twin.notes) out += note + "\n";
  return out;
}

std::string to_json(const Twin& twin) {
  base::JsonWriter json;
  json.begin_object().member("schema", "ergometer.twin/1");
  json.rows("quantities", twin.rows, [&](const Row& row) {
    json.member("name", row.quantity.name);
    json.member("unit", row.quantity.unit).member("recorded", row.recorded);
    json.member("predicted", row.before).member("with_twin", row.after);
    json.member("noise", row.noise);
  });
  json.rows("factors", twin.factors, [&](const FactorValue& value) {
    json.member("name", value.factor->name);
    json.member("factor", value.factor_of).member("standard_error_log", value.standard_error);
    json.member("told", value.not_told.empty()).member("why_not", value.not_told);
    json.member("at_bound", value.at_bound);
  });
  json.member("form", twin.form).list("notes", twin.notes);
  write_readings(json, twin);
  json.end_object();
  return json.take();
}

std::string cluster_file(const Twin& twin, std::string_view extends, std::string_view from) {
  const spec::Node& node = twin.cluster.node;
  std::string out = fmt::format("# {} as a recording of {} tells it.\nextends: {}\nname: {}\n",
                                twin.cluster.name, twin.cluster.measured->job, extends,
                                base::json_quote(twin.cluster.name + " twin"));
  if (const base::Parameter* host = node.parameters.find("host.factor")) {
    std::string line;
    add_line(line, twin, "host.factor", *host, 0, from);
    out += "host_factor:" + line.substr(line.find(": ") + 1);
  }
  add_gpu(out, twin, from);
  add_collectives(out, "intra_collectives", twin, node.parameters, from);
  add_collectives(out, "collectives", twin, twin.cluster.fabric.parameters, from);
  add_coolings(out, twin, from);
  add_evidence(out, *twin.cluster.measured);
  return out;
}

}  // namespace ergometer::calibration::twin
