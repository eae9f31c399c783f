#include "cli/job/user_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/file.h"
#include "cli/job/script_run.h"
#include "intake/launch_script.h"
#include "intake/read_user_file.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_names.h"
#include "spec/model/model_names.h"

namespace ergometer::cli {
namespace {

using intake::Leftover;

/// What was not used: what may make another job, each by itself; what changes nothing, together.
void tell_leftovers(const intake::Reading& reading, const std::string& path,
                    const Console& console) {
  for (const std::string& note : reading.notes) console.note("{}: {}", path, note);
  std::vector<std::string> idle;
  for (const Leftover& it : reading.leftovers) {
    if (it.kind == Leftover::Kind::kNoEffect) idle.push_back(it.name);
    if (it.kind == Leftover::Kind::kNotModelled)
      console.note("warning: {}: {} is not modelled; {}", it.where, it.name, it.says);
    if (it.kind == Leftover::Kind::kUnknown)
      console.note("warning: {}: {} is not known here and was not used{}", it.where, it.name,
                   it.says.empty() ? "" : fmt::format("; did you mean {}?", it.says));
  }
  if (!idle.empty()) console.note("{}: no effect on a simulation: {}", path, fmt::join(idle, ", "));
}

bool has_ending(const std::string& word, std::initializer_list<const char*> endings) {
  for (const char* ending : endings)
    if (word.ends_with(ending)) return true;
  return false;
}

}  // namespace

Result<void> UserFiles::take(Result<intake::Reading> reading, const std::string& path) {
  if (!reading) return tl::unexpected(std::move(reading).error());
  tell_leftovers(*reading, path, console_);
  said_.merge(reading->settings);
  defaults_.merge(reading->defaults);
  fallbacks_.merge(reading->fallbacks);
  for (const auto& [setting, why] : reading->open) open_[setting] = why;
  for (const auto& [setting, note] : reading->unsaid)
    unsaid_[setting] = fmt::format("{}: {}", path, note);
  if (reading->node_gpus > 0) {
    node_gpus_ = reading->node_gpus;
    node_gpus_from_ = reading->node_gpus_from;
  }
  return {};
}

Result<void> UserFiles::add(const std::string& path) {
  return take(intake::read_user_file(path, context_), path);
}

Result<void> UserFiles::add(const std::vector<std::string>& paths) {
  const std::vector<std::string> parts = intake::neox_parts(paths);
  for (const std::string& path : paths) {
    const bool alone = parts.size() < 2 || !base::contains(parts, path);
    if (!alone && path != parts.front()) continue;
    ERGOMETER_TRY(alone ? add(path) : take(intake::read_neox_files(parts), path));
  }
  return {};
}

Result<void> UserFiles::add_nemo(const std::string& path) {
  return take(intake::read_nemo_file(path, context_), path);
}

Result<void> UserFiles::add_script(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  return take(intake::parse_launch_script(text, path, context_), path);
}

Result<void> UserFiles::add_run(const Arguments& arguments) {
  return take(read_megatron_run(arguments), arguments.command.back());
}

Result<spec::Settings> UserFiles::settings(const spec::Settings& options) const {
  spec::Settings all = settings_so_far(options);
  const auto left = open(all);
  if (!left.empty()) return input_error(left.begin()->second);
  tell(all);
  return all;
}

void UserFiles::tell(const spec::Settings& settings) const {
  note_unsaid(settings);
  note_nodes(settings);
  note_left_out(settings);
}

void UserFiles::note_left_out(const spec::Settings& settings) const {
  const spec::Settings::Value* named = settings.find("model");
  const auto* entry = named == nullptr ? nullptr : spec::find_hub_model(named->text);
  // The catalog's own name means the catalog's file.
  if (entry == nullptr || entry->name == named->text) return;
  if (const std::string left = spec::left_out_of(*entry); !left.empty())
    console_.note("warning: {}: memory: {} is not modelled; predicted as the language model alone",
                  named->text, left);
}

void UserFiles::note_unsaid(const spec::Settings& settings) const {
  for (const auto& [setting, note] : unsaid_)
    if (settings.find(setting) == nullptr) console_.note("{}", note);
}

void UserFiles::note_nodes(const spec::Settings& settings) const {
  const spec::Settings::Value* named = settings.find("cluster");
  if (node_gpus_ == 0 || named == nullptr) return;
  const auto cluster = spec::read_cluster(named->text);
  if (!cluster || cluster->node.gpus == node_gpus_) return;
  console_.note(
      "warning: {} uses {} GPUs of each node, and a node of {} has {}, which are all used; a "
      "cluster whose nodes have {} says otherwise",
      node_gpus_from_, node_gpus_, cluster->name, cluster->node.gpus, node_gpus_);
}

spec::Settings UserFiles::settings_so_far(const spec::Settings& options) const {
  spec::Settings strong = said_;
  strong.merge(options);
  spec::Settings all = fallbacks_;
  all.merge(defaults_);
  // Sharded as somebody says, or as FSDP does: no framework's default may speak against it.
  const spec::Settings::Value* fsdp = strong.find("fsdp");
  if (fsdp != nullptr && spec::says_yes(fsdp->text))
    for (const char* name : {"zero", "overlap_grad_reduce", "overlap_param_gather"})
      all.erase(name);
  all.merge(strong);
  return all;
}

std::map<std::string, std::string> UserFiles::open(const spec::Settings& settings) const {
  std::map<std::string, std::string> left;
  for (const auto& [setting, why] : open_)
    if (settings.find(setting) == nullptr) left[setting] = why;
  return left;
}

bool is_file_word(const std::string& word) {
  if (has_ending(word, {".yaml", ".yml", ".toml", ".sh", ".py"})) return true;
  if (spec::find_in_catalog(spec::CatalogKind::kModel, word) != nullptr) return false;
  std::error_code error;
  return std::filesystem::is_regular_file(word, error) || std::filesystem::is_fifo(word, error) ||
         std::filesystem::is_character_file(word, error);
}

Result<spec::Settings> settings_of_words(const Arguments& arguments, UserFiles& files) {
  spec::Settings named;
  std::vector<std::string> paths;
  for (const std::string& word : arguments.words) {
    if (is_file_word(word)) {
      paths.push_back(word);
      continue;
    }
    if (const auto* first = named.find("model"))
      return input_error(
          "unexpected argument '{}': {} is the model already, and there is no such file{}", word,
          first->text,
          spec::find_cluster(word) != nullptr ? fmt::format("; --cluster {} names a cluster", word)
                                              : "");
    named.set("model", word, {"the command line", "MODEL"});
  }
  ERGOMETER_TRY(files.add(paths));
  if (arguments.has("model"))
    named.set("model", arguments.value("model"), {arguments.written.at("model"), ""});
  return named;
}

}  // namespace ergometer::cli
