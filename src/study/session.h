#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "spread/session.h"
#include "study/expand.h"
#include "study/file/definition.h"

namespace ergometer::study {

using spread::Shard;

struct SessionOptions {
  size_t threads = 1;
  Shard shard = {};
  std::string out = {};  ///< the Run file; empty: none
  /// Once, before the first point: how many there are to predict, how many former runs finished.
  std::function<void(size_t missing, size_t finished)> begin = {};
  std::function<void()> advance = {};  ///< after every point
  std::function<bool()> stop = {};     ///< asked between points
};

struct SessionResult {
  run::Run run;                      ///< with the study: of a shard, its points without figures
  std::vector<std::string> sources;  ///< Point::source, one a point of the study
  size_t finished_before = 0;        ///< taken from former runs
  bool stopped = false;  ///< not everything is there, and nothing but the journal is written
  size_t left = 0;       ///< points that are not there
};

/// Predicts a study's points and writes them to `out`. What is finished is kept in `out`.unfinished
/// as it goes; the same call goes on with it. The Run depends on the study alone, not on who
/// predicted what or on interruptions. A file that another study made is an error. In processes of
/// the crew that do not lead the result is empty.
Result<SessionResult> run_study(const Definition& definition, const Expansion& expansion,
                                const SessionOptions& options, spread::Crew& crew);

/// Joins the shards of one study into what the whole study would have written. `files` name the
/// Runs in messages. Shards of different studies, the same shard twice and missing shards are
/// errors.
Result<run::Run> merge_shards(std::vector<run::Run> shards, const std::vector<std::string>& files);

}  // namespace ergometer::study
