#pragma once

#include "base/json_writer.h"
#include "study/neighbours/what_if.h"

namespace ergometer::page {

/// The member `what_if`: a WhatIfDocument of web/src/document.ts. Numbers are those of `simulate
/// --json` of every neighbour, digit by digit.
void write_what_if(base::JsonWriter& json, const study::WhatIf& what_if);

}  // namespace ergometer::page
