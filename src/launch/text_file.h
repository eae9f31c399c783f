#pragma once

#include <string>

namespace ergometer::launch {

/// A file that is written: its path from the folder of all of them.
struct TextFile {
  std::string path, text;
};

}  // namespace ergometer::launch
