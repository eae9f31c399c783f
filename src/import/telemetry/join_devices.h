#pragma once

#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::importer {

/// Puts the readings of one GPU from several files together; series must be in order of time.
///
/// GPUs of one UUID are one. Without UUIDs, so are those of one index and name in files that name
/// no host and whose own names differ in digits alone, where one begins behind the other's end:
/// "smi-12.csv", "smi-13.csv". Files that cover the same time stay different hosts'.
///
/// Of what two files say of the same time the file that began first counts. Returns a sentence on
/// each thing that was assumed or left out.
std::vector<std::string> join_gpus(std::vector<run::Device>& devices);

}  // namespace ergometer::importer
