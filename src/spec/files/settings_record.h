#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// The same settings without files: what `model`, `cluster` and `software` name outside the catalog
/// stands in them as inline text, so that they mean the same anywhere and later.
Result<Settings> without_files(const Settings& settings);

/// Settings as JSON, an object a setting with `text`, `origin` and `key`: what a Run file keeps to
/// let its job be simulated again, and back. `file` is what messages call it.
std::string settings_json(const Settings& settings);
Result<Settings> parse_settings_json(std::string_view json, const std::string& file);

}  // namespace ergometer::spec
