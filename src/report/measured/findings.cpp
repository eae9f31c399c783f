#include "report/measured/findings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/format.h"
#include "report/measured/energy_error_output.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

std::string costs(const analysis::Finding& finding) {
  std::string text = base::format_seconds(*finding.step_s);
  if (finding.step_j)
    text += fmt::format(" and {}{}", format_quantity(*finding.step_j, "J"),
                        plus_minus(finding.watts_error));
  return text + " of a step";
}

}  // namespace

std::string findings_text(const std::vector<analysis::Finding>& findings, const TextStyle& style) {
  if (findings.empty()) return "";
  std::string out = heading(style, "Findings, the dearest first");
  int number = 0;
  for (const analysis::Finding& f : findings) {
    out += fmt::format("{:>2}  {}\n", ++number, wrap(f.what, 80, 4));
    const auto line = [&](std::string_view label, const std::string& text) {
      out += fmt::format("    {}\n", wrap(fmt::format("{}: {}", label, text), 80, 4));
    };
    if (f.step_s && *f.step_s > 0) line("Costs", costs(f));
    line("Try", f.try_next);
    line("Check", f.check);
    if (f.confidence != "measured") line("Rests on", f.confidence);
  }
  return out;
}

void write_findings(base::JsonWriter& json, const std::vector<analysis::Finding>& findings) {
  json.objects("findings", findings, [&](const analysis::Finding& f) {
    json.member("name", f.name).member("cost_s", f.cost_s).member("fraction", f.fraction);
    json.known("cost_per_step_s", f.step_s).known("cost_per_step_j", f.step_j);
    if (f.step_j) write_error(json, "cost_per_step_j_error_pct", f.watts_error);
    json.member("what", f.what).member("confidence", f.confidence);
    json.member("try", f.try_next).member("check", f.check);
  });
}

}  // namespace ergometer::report
