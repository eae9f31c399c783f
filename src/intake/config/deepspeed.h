#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// A DeepSpeed configuration: batches, ZeRO, number formats, offloading, stages. What is "auto"
/// stays open, for the Trainer's file says it.
Result<Reading> parse_deepspeed(const std::string& text, const std::string& file);
/// The same from values, for whoever holds such a configuration inside another file.
Result<Reading> read_deepspeed(const spec::FlatYaml& values, const std::string& file);

/// Tells of gradients that every rank gets whole (`reduce_scatter: false`), which is not modelled.
void note_whole_gradients(FlatReader& read);

/// What DeepSpeed does by default at a ZeRO stage, into a reading's defaults.
void set_deepspeed_defaults(int64_t stage, const std::string& file, Reading& reading);

/// "deepspeed: FILE" in the file `from`: beside it, or where the command runs; an error if there is
/// none.
Result<Reading> read_deepspeed_beside(const std::string& path, const std::string& from,
                                      const std::string& where);

/// The Trainer stops where DeepSpeed's file says another batch than its arguments.
Result<void> check_batches_agree(const spec::Settings& trainer, const spec::Settings& deepspeed);

/// The file that `path` in the file `from` means: beside it or where the command runs; empty if
/// there is none.
std::string file_beside(const std::string& path, const std::string& from);

/// Adds what another file says: its settings go before, its leftovers and notes behind.
void add_reading(Reading& to, Reading other);

}  // namespace ergometer::intake
