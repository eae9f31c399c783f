#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

class YamlMap;

inline constexpr int64_t kMostRanks = 1'048'576;

class SettingReader;
struct SettingInfo;
/// What a job says of a setting: a word that is the same exactly when the values are.
using SettingText = std::string (*)(const SettingInfo&, const Job&);
/// Reads a setting into the job, whose value stays where nobody says anything.
using SettingRead = void (*)(SettingReader&, const SettingInfo&, Job&);

enum class SettingKind {
  kInteger,
  kReal,
  kSwitch /* true or false */,
  kChoice,
  kText,
  kList /* comma-separated */,
  kMeasure /* a number with or without a unit */,
  kWords /* comma-separated or given several times; any words */
};

/// What may be said of a setting, and where a job keeps it.
struct SettingValue {
  SettingKind kind = SettingKind::kText;
  double min = 0, max = 0;        ///< numbers only; of a measure, in its base unit
  std::string_view choices = {};  ///< "none|selective|full"; kChoice, and kList of such words
  std::string_view unit = {};     ///< kMeasure: what a plain number is in, "MHz"
  SettingText text = nullptr;     ///< null: the job does not keep it under one name
  SettingRead read = nullptr;     ///< null: it is read by hand
};

/// Who shows and who uses a setting.
struct SettingPlace {
  std::string_view group;        ///< heading in --help: "parallelism", "training", ...
  std::string_view factor = {};  ///< the cause in comparisons that it belongs to; empty: none
};

/// What only some settings have.
struct SettingTraits {
  /// Why the job's own initial value holds where nobody says anything. Empty: what holds follows
  /// from the rest of the job (`resolve`).
  std::string_view reason = {};
  bool habit = false;            ///< a software profile may say it: no size of the job
  std::string_view also = {};    ///< other words for it, with bars between: "zero_stage"
  std::string_view sought = {};  ///< what people look for it under; for messages, not for reading
  /// What Megatron-LM and its relatives call it beside its own name. "no_rope_fusion=false": a
  /// switch that means this value.
  std::string_view megatron = {};
  std::string_view core = {};  ///< in Megatron-Core's configuration: NeMo 2 and Megatron-Bridge
  std::string_view nemo = {};  ///< under `model` of a NeMo 1 file
};
/// In a list of names: the setting's own.
inline constexpr std::string_view kOwnName = "=";

/// One setting of a job: what a user may write in a job file (`name`), on the command line and in a
/// Megatron-LM argument file (`--name` with dashes, `--short_name`). The command line, the readers,
/// --help, --explain, shell completion and the causes of comparisons are all made from this table.
struct SettingInfo : SettingValue, SettingPlace, SettingTraits {
  std::string_view name;        ///< "tensor_model_parallel_size"
  std::string_view short_name;  ///< "tp"; may be empty
  std::string_view help;

  /// `traits`: what sets one of its `SettingTraits`, each.
  template <class... Traits>
  constexpr SettingInfo(std::string_view its_name, std::string_view its_short_name,
                        SettingValue value, SettingPlace place, std::string_view its_help,
                        Traits... traits)
      : SettingValue(value),
        SettingPlace(place),
        name(its_name),
        short_name(its_short_name),
        help(its_help) {
    (traits(*this), ...);
  }
  /// The names in one of the lists of its traits.
  std::vector<std::string> names(std::string_view list) const;
};

std::span<const SettingInfo> setting_table();
/// By name, short name or flag, dashes or underscores.
const SettingInfo* find_setting(std::string_view word);
/// Whether a switch's text is one of "true", "yes", "on", "1", in any case.
bool says_yes(std::string_view text);

/// What is written for a whole number, in digits: "1,024" is 1024, and tokens of a sequence count
/// in 1,024s, so that a `seq_length` of "8k" is 8192. Anything else stays as it is.
std::string plain_number(std::string_view name, std::string text);
/// The setting that people call by another name, "node_count" or "--hardware"; null when there is
/// none. For messages, not for reading: "nodes" are not quite "gpus".
const SettingInfo* setting_also_called(std::string_view word);
/// The setting most likely meant by a word that is none, also when it is misspelt.
std::optional<std::string_view> nearest_setting(std::string_view word);

/// What the user said so far, as text with its origin; later sources override earlier ones.
class Settings {
 public:
  struct Value {
    std::string text;
    Origin origin;
  };
  /// Numbers as people write them become plain ones: see `plain_number`.
  void set(std::string_view name, std::string text, Origin origin) {
    values_[std::string(name)] = Value{plain_number(name, std::move(text)), std::move(origin)};
  }
  void erase(std::string_view name) {
    if (const auto it = values_.find(name); it != values_.end()) values_.erase(it);
  }
  const Value* find(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
  }
  const std::map<std::string, Value, std::less<>>& all() const { return values_; }
  /// Overrides what is set here with what `over` sets. `precision` and the switches bf16, fp16 and
  /// fp8 say the same thing: whoever sets one of them overrides all. So do a step's sequences and
  /// its micro batches, of which one follows from the other.
  void merge(const Settings& over);

 private:
  std::map<std::string, Value, std::less<>> values_;
};

/// A job file: YAML, keys as in the setting table, flat or under the table's groups; `model`,
/// `cluster` and `gpus` among them. Relative paths in it are relative to `file`, its name.
Result<Settings> parse_job_file(const std::string& text, const std::string& file);
/// A NeMo 1 pre-training, fine-tuning or inference YAML.
Result<Settings> parse_nemo(const std::string& text, const std::string& file,
                            std::vector<std::string>& ignored);

/// The settings of a mapping inside another file, in a job file's form. What is wrong is kept in
/// the mapping; keys in `skip` are left to others.
Settings read_settings(YamlMap& map, const std::string& file,
                       std::span<const std::string_view> skip = {});
/// As a job file would hold it: paths of models and clusters start from the folder of `file`.
std::string relocated_value(const SettingInfo& setting, std::string text, const std::string& file);

/// Reads model and cluster, fills defaults, checks everything against everything, and computes dp.
Result<Job> resolve(const Settings& settings);

/// The same in two steps, for whoever tries many layouts of one job: `read_job` fills everything
/// and leaves sizes unchecked against each other; `check_job` says what `resolve` would say against
/// a job whose fields were then set to other values. `settings`: those the job was read from.
Result<Job> read_job(const Settings& settings);
Result<void> check_job(const Settings& settings, const Job& job);

}  // namespace ergometer::spec
