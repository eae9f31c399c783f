#include "study/output/output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/test_support.h"
#include "base/text.h"
#include "run/file/sqlite.h"
#include "run/study_values.h"
#include "study/output/pick_columns.h"

namespace ergometer::study {
namespace {

using run::StudyColumn;

constexpr const char* kTwoRows = R"(
base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 8, seq: 2048}
axes: {tp: [3, 8], "say \"x\", y": [{label: "a,\"b\"", mbs: 1}]}
)";

/// A job that is refused, three being no divisor of 32 heads, and one that runs.
SessionResult two_rows() {
  const Definition definition = *parse_definition(kTwoRows, "s.yaml");
  return *run_study(definition, *expand(definition), {}, *spread::thread_crew());
}

/// What a document has under a value's name; nothing where it is not there.
std::optional<double> in_document(const nlohmann::json& row, const std::string& name) {
  nlohmann::json at = row.at("run");
  for (std::string part : base::split(name, '.')) {
    if (at.is_array()) {
      for (const auto& link : at)
        if (link.at("kind") == part) {
          at = nlohmann::json(link);
          part.clear();
          break;
        }
      if (part.empty()) continue;
    }
    if (!at.is_object() || !at.contains(part)) return std::nullopt;
    at = nlohmann::json(at.at(part));
  }
  return at.is_boolean() ? (at.get<bool>() ? 1.0 : 0.0) : at.get<double>();
}

TEST(StudyOutput, EveryNumberIsTheSameInCsvSqlJsonAndOnTheTerminal) {
  const SessionResult result = two_rows();
  const run::Study& study = *result.run.study;
  const std::vector<StudyColumn> columns = run::study_columns(study);
  const auto csv = base::parse_csv(points_csv(study, columns), "csv");
  ASSERT_TRUE(csv) << csv.error().message;
  const nlohmann::json json = nlohmann::json::parse(points_json(result));
  const base::TestFolder temporary;
  const std::string file = temporary.path("a.run");
  ASSERT_TRUE(run::write_run(result.run, file));
  run::Database db(file, run::Database::Access::kRead);
  run::Statement sql(db, "SELECT * FROM points");
  ASSERT_EQ(sql.columns(), static_cast<int>(columns.size()) + 1) << "and the position";

  size_t numbers = 0;
  for (size_t row = 0; row < 2; ++row) {
    ASSERT_TRUE(sql.step()) << db.problem();
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string& name = columns[c].name;
      const int at = static_cast<int>(c) + 1;
      EXPECT_EQ(sql.column_name(at), name);
      const run::StudyCell cell = run::cell(study.points[row], columns[c]);
      const std::string_view in_csv = csv->rows[row].cells[c];
      if (std::holds_alternative<std::monostate>(cell)) {
        EXPECT_EQ(in_csv, "") << name;
        EXPECT_TRUE(sql.is_null(at)) << name;
      } else if (const auto* text = std::get_if<std::string>(&cell)) {
        EXPECT_EQ(in_csv, *text);
        EXPECT_EQ(sql.text(at), *text);
      } else {
        const double number = std::get<double>(cell);
        EXPECT_EQ(*base::parse_number(in_csv), number) << name;
        EXPECT_EQ(sql.real(at), number) << name;
        EXPECT_EQ(in_document(json["rows"][row], name), number) << name;
        ++numbers;
      }
    }
  }
  EXPECT_EQ(numbers, study.points[1].values.size());
  EXPECT_GT(numbers, 60u);
}

TEST(StudyOutput, TheTerminalRoundsTheSameNumbers) {
  const SessionResult result = two_rows();
  const run::StudyPoint& point = result.run.study->points[1];
  const Definition definition = *parse_definition(kTwoRows, "s.yaml");
  for (const auto& [name, value] : point.values) {
    const std::string table =
        points_text(definition, result, {{StudyColumn::Kind::kValue, name, name}}, {});
    std::string shown = base::split(table, '\n')[2];  // behind the head and the refused row
    shown.erase(0, shown.find_first_not_of(' '));
    if (name.find("bytes") != std::string::npos) {
      EXPECT_NEAR(*base::parse_measure(shown, "B"), value, 0.005 * value) << name;
      continue;
    }
    std::erase(shown, ',');
    EXPECT_NEAR(*base::parse_number(shown), value, 0.0006 * std::fabs(value)) << name;
  }
}

TEST(StudyOutput, ARefusedRowHasNoNumbers) {
  const SessionResult result = two_rows();
  EXPECT_TRUE(nlohmann::json::parse(points_json(result))["rows"][0]["run"].is_null());
  EXPECT_TRUE(result.run.study->points[0].values.empty());
}

TEST(StudyOutput, FindingsAreCountedOnTheTerminalAndInJson) {
  const Definition definition = *parse_definition(kTwoRows, "s.yaml");
  SessionResult result = two_rows();
  EXPECT_EQ(points_text(definition, result, {}, {}).find("findings"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(points_json(result)).contains("agreement"));
  run::StudyFinding& finding = result.run.study->findings.emplace_back();
  finding.id = "sign.warm";
  finding.agrees = run::Agreement::kYes;
  const std::string count =
      "1 of 1 signs and rank orders agree, 0 in part; 0 of 0 sizes agree, 0 in part";
  EXPECT_NE(points_text(definition, result, {}, {}).find("findings: " + count), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(points_json(result)).at("agreement"), count);
}

TEST(StudyOutput, ColumnsArePickedByName) {
  const SessionResult result = two_rows();
  const run::Study& study = *result.run.study;
  const auto error = [&](std::string_view list) {
    return base::error_of(pick_columns(list, study));
  };
  const auto picked = pick_columns("status,tp,links.nic.utilization,thermal.max_gpu_c", study);
  ASSERT_TRUE(picked) << picked.error().message;
  ASSERT_EQ(picked->size(), 4u);
  EXPECT_EQ((*picked)[1].kind, StudyColumn::Kind::kAxis);
  EXPECT_NE(error("tp,max_gpu_c").find("did you mean thermal.max_gpu_c?"), std::string::npos);
  EXPECT_NE(error("powr.mean_w_per_gpu").find("did you mean power.mean_w_per_gpu?"),
            std::string::npos);
  EXPECT_NE(error("tp,,id").find("found \"\""), std::string::npos);
  EXPECT_NE(error("tp,id,tp").find("found tp twice"), std::string::npos);
}

TEST(StudyOutput, OnlyAStudyWithoutAJobIsAllRefused) {
  run::Study study;
  EXPECT_EQ(all_refused_text(*two_rows().run.study), "");
  for (const char* reason :
       {"f.yaml:1: tp = 3 is odd", "f.yaml:1: gpus = 0 is none", "f.yaml:1: tp = 5 is odd",
        "f.yaml:1: mbs = 3 does not divide", "f.yaml:1: seq = 7 is odd"}) {
    study.points.emplace_back();
    study.points.back().reason = reason;
  }
  // Two for tp, told by the first of them, and three alone, of which two are shown.
  EXPECT_EQ(all_refused_text(study),
            "all 5 rows are refused\n"
            "      2  f.yaml:1: tp = 3 is odd\n"
            "      1  f.yaml:1: gpus = 0 is none\n"
            "      1  f.yaml:1: mbs = 3 does not divide\n"
            "  reasons of other kinds: 1");
}

}  // namespace
}  // namespace ergometer::study
