#include "engine/outcome/evidence_tables.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/csv.h"
#include "base/text.h"
#include "spec/catalog/read.h"

namespace ergometer::engine {
namespace {

struct Term {
  std::string_view name;
  double Uncertainty::* member;
};

constexpr std::array kTerms = std::to_array<Term>({
    {"base", &Uncertainty::base},
    {"gpu_unseen", &Uncertainty::gpu_unseen},
    {"gpu_few", &Uncertainty::gpu_few},
    {"nodes_unseen", &Uncertainty::nodes_unseen},
    {"precision_unseen", &Uncertainty::precision_unseen},
    {"software_unseen", &Uncertainty::software_unseen},
    {"software_unnamed", &Uncertainty::software_unnamed},
    {"kind_unseen", &Uncertainty::kind_unseen},
    {"micro_batch_unsaid", &Uncertainty::micro_batch_unsaid},
    {"per_doubling", &Uncertainty::per_doubling},
    {"host", &Uncertainty::host},
    {"communication", &Uncertainty::communication},
    {"measured_cluster", &Uncertainty::measured_cluster},
    {"power_work", &Uncertainty::power_work},
    {"power_work_seen", &Uncertainty::power_work_seen},
    {"power_beside", &Uncertainty::power_beside},
    {"power_board", &Uncertainty::power_board},
    {"power_step", &Uncertainty::power_step},
    {"memory_base", &Uncertainty::memory_base},
    {"memory_activations", &Uncertainty::memory_activations},
    {"memory_software_unseen", &Uncertainty::memory_software_unseen},
});

Result<int64_t> count_in(const base::CsvTable& table, size_t row, std::string_view column,
                         const std::string& file) {
  const std::string text(table.cell(row, column));
  const auto count = base::parse_integer(text);
  if (!count || *count < 1)
    return input_error("{}:{}: {} is '{}', not a number from 1", file, table.rows[row].line, column,
                       text);
  return *count;
}

Result<Evidence> read_evidence(const base::CsvTable& table, size_t row, const std::string& file) {
  const auto text = [&](std::string_view column) { return std::string(table.cell(row, column)); };
  Evidence e;
  e.key = {text("gpu"),       text("architecture"), text("software"),
           text("precision"), text("kind"),         text("nodes") == "several"};
  if (text("nodes") != "several" && text("nodes") != "one")
    return input_error("{}:{}: nodes is '{}'; it is one or several", file, table.rows[row].line,
                       text("nodes"));
  ERGOMETER_ASSIGN(e.groups, count_in(table, row, "groups", file));
  ERGOMETER_ASSIGN(e.rows, count_in(table, row, "rows", file));
  ERGOMETER_ASSIGN(e.most_gpus, count_in(table, row, "most_gpus", file));
  return e;
}

}  // namespace

Result<std::vector<Evidence>> parse_evidence(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file,
                                      {"gpu", "architecture", "software", "precision", "kind",
                                       "nodes", "groups", "rows", "most_gpus"}));
  std::vector<Evidence> evidence;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    ERGOMETER_ASSIGN(Evidence e, read_evidence(table, row, file));
    evidence.push_back(std::move(e));
  }
  return evidence;
}

std::string evidence_csv(const std::vector<Evidence>& evidence) {
  std::string out = "gpu,architecture,software,precision,kind,nodes,groups,rows,most_gpus\n";
  for (const Evidence& e : evidence)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", e.key.gpu, e.key.architecture,
                       e.key.software, e.key.precision, e.key.kind,
                       e.key.several_nodes ? "several" : "one", e.groups, e.rows, e.most_gpus);
  return out;
}

Result<Uncertainty> parse_uncertainty(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"term", "value", "source", "grade"}));
  Uncertainty u;
  for (const Term& term : kTerms) {
    const base::CsvRow* found = nullptr;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      if (table.cell(row, "term") != term.name) continue;
      if (found != nullptr)
        return input_error("{}:{}: {} stands twice", file, table.rows[row].line, term.name);
      found = &table.rows[row];
      const std::string text(table.cell(row, "value"));
      const auto value = base::parse_number(text);
      if (!value || *value < 0 || *value > 1)
        return input_error("{}:{}: {} is '{}', not a number from 0 to 1", file, found->line,
                           term.name, text);
      u.*term.member = *value;
    }
    if (found == nullptr) return input_error("{}: the term {} is missing", file, term.name);
  }
  if (table.rows.size() != kTerms.size())
    return input_error("{}: has {} terms; there are {}", file, table.rows.size(), kTerms.size());
  return u;
}

const std::vector<Evidence>& own_evidence() {
  static const std::vector<Evidence> table = spec::catalog_table("own_evidence", parse_evidence);
  return table;
}

const std::vector<Evidence>& catalog_evidence() {
  static const std::vector<Evidence> all = [] {
    std::vector<Evidence> table = spec::catalog_table("evidence", parse_evidence);
    table.insert(table.end(), own_evidence().begin(), own_evidence().end());
    return table;
  }();
  return all;
}

const Uncertainty& catalog_uncertainty() {
  static const Uncertainty table = spec::catalog_table("uncertainty", parse_uncertainty);
  return table;
}

}  // namespace ergometer::engine
