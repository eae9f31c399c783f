#pragma once

#include <string>
#include <vector>

#include "study/definition.h"
#include "study/expand.h"
#include "study/session.h"

namespace ergometer::study {

/// One line a point and counts below: of a matrix its rows by name, else a column for every axis.
std::string points_text(const Definition& definition, const SessionResult& result);
/// `schema_version`, `summary`, `refused_for`, `rows` with each row's Run, `figures`, `findings`.
std::string points_json(const SessionResult& result);

/// The points before anything ran.
std::string list_text(const Definition& definition, const Expansion& expansion);
std::string list_json(const Expansion& expansion);

/// "885 rows: 700 ok, 85 do not fit, 100 refused".
std::string count_text(const run::Study& study);
/// What refusals are about, and how often: the defect that stands behind one in parentheses, or the
/// first key that it names.
std::map<std::string, int64_t> refusals(const run::Study& study);

}  // namespace ergometer::study
