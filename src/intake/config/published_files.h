#pragma once

#include <string>
#include <string_view>

namespace ergometer::intake {

/// A file that a framework's repository holds and its examples name by its path there, which users
/// seldom bring along: "examples/deepspeed/ds_z3_config.json".
struct PublishedFile {
  std::string_view path;       ///< from the repository's root
  std::string_view publisher;  ///< "LLaMA-Factory"
  std::string_view text;       ///< what of it counts
};

/// The one that a path means; null: none.
const PublishedFile* published_file(std::string_view path);
/// What is said where one stands in for a file that is not here.
std::string taken_as_published(std::string_view path, const PublishedFile& file);

}  // namespace ergometer::intake
