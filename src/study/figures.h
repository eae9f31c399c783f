#pragma once

#include <vector>

#include "run/study.h"
#include "study/file/definition.h"

namespace ergometer::study {

/// The figures that the file asks for, from the study's points. Points that cannot run are left
/// out unless a figure's filter names `status`. Points that differ in their seed alone are one:
/// their mean, with the lowest and highest beside it. Without seeds the 90 % interval of the
/// summary stands there where the figure shows a number that has one.
std::vector<run::Figure> make_figures(const Definition& definition, const run::Study& study);

}  // namespace ergometer::study
