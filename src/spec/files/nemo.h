#pragma once

#include <string>
#include <vector>

#include "spec/settings/settings.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::spec {

/// What `parse_nemo` does with a file's values: NeMo's keys become settings, its model an inline
/// model. `notes` tells what NeMo itself would silently change. `model_open` takes why the model is
/// not known, which is an error where it is null.
Result<Settings> settings_from_nemo(const FlatYaml& values, const std::string& file,
                                    std::vector<std::string>& ignored,
                                    std::vector<std::string>& notes,
                                    std::string* model_open = nullptr);

}  // namespace ergometer::spec
