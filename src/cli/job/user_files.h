#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/console/command.h"
#include "intake/reader/reading.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {

/// What several files say together: a later one overrides an earlier one, and what a framework does
/// by default gives way to what any file says.
class UserFiles {
 public:
  explicit UserFiles(const Console& console, intake::ScriptContext context = {})
      : console_(console), context_(std::move(context)) {}

  /// A file of any kind that `intake` reads. What of it is not used is told.
  Result<void> add(const std::string& path);
  /// Several, of which some may be parts of one configuration.
  Result<void> add(const std::vector<std::string>& paths);
  Result<void> add_nemo(const std::string& path);
  /// A launch script or a list of arguments, whatever the file is called.
  Result<void> add_script(const std::string& path);
  /// What the command behind -- starts.
  Result<void> add_run(const Arguments& arguments);
  /// Settings from elsewhere, as strong as a file's.
  void add(const spec::Settings& settings) { said_.merge(settings); }

  /// Everything, with `options` over it. An error when a file leaves a setting open that nobody
  /// else gives.
  Result<spec::Settings> settings(const spec::Settings& options) const;
  /// The same where more may be said later.
  spec::Settings settings_so_far(const spec::Settings& options) const;
  /// Tells what the files leave unsaid and `settings` do not have.
  void note_unsaid(const spec::Settings& settings) const;
  /// All that is told of a job that is predicted with these settings.
  void tell(const spec::Settings& settings) const;
  /// What is open in `settings`, with why.
  std::map<std::string, std::string> open(const spec::Settings& settings) const;

 private:
  Result<void> take(Result<intake::Reading> reading, const std::string& path);
  /// A launcher that uses another number of GPUs of a node than the cluster's nodes have.
  void note_nodes(const spec::Settings& settings) const;
  /// What of a model on a hub its file in the catalog has not.
  void note_left_out(const spec::Settings& settings) const;

  const Console& console_;
  intake::ScriptContext context_;
  spec::Settings said_, defaults_, fallbacks_;
  std::map<std::string, std::string, std::less<>> open_, unsaid_;
  int64_t node_gpus_ = 0;
  std::string node_gpus_from_;
};

/// Whether a command's word is a file with a job's settings rather than a model.
bool is_file_word(const std::string& word);

/// What the command's words and --model name: the files' settings, weaker than the model that is
/// named by itself.
Result<spec::Settings> settings_of_words(const Arguments& arguments, UserFiles& files);

}  // namespace ergometer::cli
