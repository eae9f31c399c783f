#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/file_form.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// Any file in which users say what they train and how. A file that is none of those that can be
/// read is an error that names what can be. A reading's relative paths start from the file.
Result<Reading> read_user_file(const std::string& path, const ScriptContext& context = {});
/// The same from text; `file` is what messages call it, and other files are looked for beside it.
Result<Reading> parse_user_file(const std::string& text, const std::string& file,
                                const ScriptContext& context = {});

/// Of several files those that are parts of one configuration of GPT-NeoX, which lays the sizes of
/// a model and the site's paths into files of their own; none where none is surely GPT-NeoX's.
std::vector<std::string> neox_parts(const std::vector<std::string>& paths);
Result<Reading> read_neox_files(const std::vector<std::string>& paths);

/// A NeMo file of any of its generations.
Result<Reading> read_nemo_file(const std::string& path, const ScriptContext& context = {});

/// Whether the path is surely a file that says how a job is run; false too for one that cannot be
/// read, for a model alone, and for text of which a few words look like options.
bool is_user_file(const std::string& path);

}  // namespace ergometer::intake
