#include "campaign/failures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"
#include "base/collection.h"
#include "base/csv.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/job/measure_range.h"

namespace ergometer::campaign {
namespace {

constexpr std::string_view kAll = "all";
constexpr double kLongestS = 3.2e7, kMostPerHour = 1, kMostSpread = 100;

struct KindTerm {
  std::string_view name;
  spec::MeasureRange range;
  double FailureKind::* member;
};
constexpr std::array kKindTerms = std::to_array<KindTerm>({
    {"share", {"", 0, 1}, &FailureKind::share},
    {"detection", {"s", 0, kLongestS}, &FailureKind::detection_s},
    {"restart", {"s", 0, kLongestS}, &FailureKind::restart_s},
    {"repair", {"s", 0, kLongestS}, &FailureKind::repair_s},
});

/// A row of the table, with what to say of it.
struct Row {
  std::string place, kind, term, value;
};

Result<double> number(const Row& row, const spec::MeasureRange& range) {
  const auto value = range.read(row.value);
  if (value) return *value;
  return input_error("{}: {} of {}: {}", row.place, row.term, row.kind, value.error().message);
}

Result<void> add_rate(const Row& row, Failures& failures) {
  if (row.term == "per_gpu_hour") {
    ERGOMETER_ASSIGN(failures.per_gpu_hour, number(row, {"", 0, kMostPerHour}));
    return {};
  }
  if (row.term != "spread")
    return input_error("{}: '{}' is no term of all; it is per_gpu_hour or spread", row.place,
                       row.term);
  ERGOMETER_ASSIGN(failures.spread, number(row, {"", 1, kMostSpread}));
  return {};
}

FailureKind& kind_named(const std::string& name, std::vector<FailureKind>& kinds) {
  for (FailureKind& kind : kinds)
    if (kind.name == name) return kind;
  kinds.push_back({name});
  return kinds.back();
}

Result<void> add_term(const Row& row, Failures& failures) {
  if (row.kind.empty()) return input_error("{}: kind is empty", row.place);
  for (const KindTerm& term : kKindTerms) {
    if (term.name != row.term) continue;
    ERGOMETER_ASSIGN(kind_named(row.kind, failures.kinds).*term.member, number(row, term.range));
    return {};
  }
  return input_error("{}: '{}' is no term of a kind; it is share, detection, restart or repair",
                     row.place, row.term);
}

Result<base::Grade> grade_of(const std::string& word, const std::string& place) {
  using enum base::Grade;
  for (const base::Grade grade : {kDatasheet, kMeasured, kFitted, kAssumed})
    if (word == to_string(grade)) return grade;
  return input_error("{}: grade is '{}'; it is datasheet, measured, fitted or assumed", place,
                     word);
}

Result<void> check_shares(const Failures& failures, const std::string& file) {
  double sum = base::sum(failures.kinds, [&](const FailureKind& kind) { return kind.share; });
  if (std::abs(sum - 1) < 1e-6) return {};
  return input_error("{}: the kinds' shares add up to {:.4g}; they are to add up to 1", file, sum);
}

}  // namespace

Result<Failures> parse_failures(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"kind", "term", "value", "source", "grade"}));
  Failures failures;
  bool has_rate = false;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const auto cell = [&](std::string_view column) { return std::string(table.cell(i, column)); };
    const Row row{fmt::format("{}:{}", file, table.rows[i].line), cell("kind"), cell("term"),
                  cell("value")};
    ERGOMETER_ASSIGN(const base::Grade grade, grade_of(cell("grade"), row.place));
    ERGOMETER_TRY(row.kind == kAll ? add_rate(row, failures) : add_term(row, failures));
    if (row.kind != kAll || row.term != "per_gpu_hour") continue;
    has_rate = true;
    failures.grade = grade;
    failures.source = cell("source");
  }
  if (!has_rate)
    return input_error(
        "{}: lacks a row all,per_gpu_hour: how often a job is interrupted, over its GPUs and hours",
        file);
  ERGOMETER_TRY(check_shares(failures, file));
  return failures;
}

Failures catalog_failures() { return spec::catalog_table("failures", parse_failures); }

Failures with_mtbf(Failures failures, double mtbf_s) {
  failures.per_gpu_hour = 3600 / mtbf_s;
  failures.spread = 1;
  failures.grade = base::Grade::kAssumed;
  failures.source = "--mtbf";
  failures.given = true;
  return failures;
}

}  // namespace ergometer::campaign
