#pragma once

#include <string>
#include <vector>

#include "report/summary/summary_text.h"
#include "run/study_columns.h"
#include "study/expand.h"
#include "study/file/definition.h"
#include "study/session.h"

namespace ergometer::study {

/// One line a point and counts below: of a matrix its rows by name, else a column for every axis;
/// step time and throughput; of memory, power and heat what moves. What is the same everywhere
/// stands below. With `columns` these and no others. The best rows stand last.
std::string points_text(const Definition& definition, const SessionResult& result,
                        const std::vector<run::StudyColumn>& columns,
                        const report::TextStyle& style);
/// Which rows that fit are the fastest, need the least energy a token and stay the coolest: of
/// every model by itself, since models are not alternatives. Empty where there is nothing to choose
/// from.
std::string best_text(const run::Study& study, const report::TextStyle& style);
/// The columns of all points as CSV; what a point has no value of is an empty cell.
std::string points_csv(const run::Study& study, const std::vector<run::StudyColumn>& columns);
/// `schema_version`, `summary`, `refused_for`, `rows` with each row's Run, `figures`, `findings`.
std::string points_json(const SessionResult& result);

/// The points before anything ran.
std::string list_text(const Definition& definition, const Expansion& expansion,
                      const report::TextStyle& style);
std::string list_json(const Expansion& expansion);

/// "885 rows: 700 ok, 85 do not fit, 100 refused".
std::string count_text(const run::Study& study);
/// What refusals are about, and how often: the defect that stands behind one in parentheses, or the
/// first key that it names.
std::map<std::string, int64_t> refusals(const run::Study& study);
/// Why every row is refused, the commonest reasons first; empty where a row can run.
std::string all_refused_text(const run::Study& study);

}  // namespace ergometer::study
