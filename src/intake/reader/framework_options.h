#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// An option by its name alone: "micro_batch_size" of "--micro-batch-size".
std::string option_name(std::string_view option);
/// The same of a word that may say its value: "--micro-batch-size=4".
std::string name_in_word(std::string_view word);

/// One line of catalog/tables/framework_options.csv.
struct FrameworkOption {
  std::string framework;  ///< "megatron-lm", "deepspeed", ...
  std::string option;     ///< "--save-interval", "zero_optimization.offload_param.*"
  std::string effect;     ///< "none", or what it changes: "memory", "time", "memory and time"
  std::string says;       ///< why: "parameters are on the host"
};

Result<std::vector<FrameworkOption>> parse_framework_options(std::string_view csv,
                                                             const std::string& file);
/// The catalog's.
const std::vector<FrameworkOption>& framework_options();

/// Whether the table names the option itself, not only a section around it.
bool is_listed_option(std::string_view framework, std::string_view name);

/// What an option that did not become a setting means to a prediction. `framework`: megatron-lm,
/// deepspeed, trainer, accelerate, torchtitan, nemo-1, nemo-2, megatron-bridge, primus or peft;
/// `name` as the file writes it, with or without dashes in front; `also`: names that the
/// framework's reader understands, for suggestions.
Leftover classify(std::string_view framework, std::string_view name, std::string where,
                  const std::vector<std::string>& also = {});

/// What Python refuses with a TypeError: a name that a call has no use for and that is nearly one
/// of those that it is `read` by. Nothing where the name is one of them, or like none.
std::optional<Leftover> misspelt_argument(std::string_view name, std::string where,
                                          std::span<const std::string_view> read);
/// Of a call whose arguments are all known, `own`: one that is none of them.
Leftover unknown_argument(std::string_view name, std::string where,
                          std::span<const std::string_view> own);

}  // namespace ergometer::intake
