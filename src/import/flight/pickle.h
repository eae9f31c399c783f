#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import/flight/value_tree.h"

namespace ergometer::importer {

/// Whether a text begins as a pickle of protocol 2 to 5.
bool is_pickle(std::string_view bytes);

/// Reads a pickle of plain values: None, truths, numbers of 64 bits, texts, lists, tuples (which
/// become lists) and dicts, as PyTorch's pickler in C++ and Python's write them. Nothing in it is
/// ever called: of names, PyTorch's builders of lists alone are known (torch.jit._pickle), which
/// stand for the list that they are given. Takes memory in proportion to the bytes. Input error
/// names the byte, what was found and what is allowed.
Result<TreeValue> read_pickle(std::string_view bytes, const std::string& file, ValueTree& tree);

}  // namespace ergometer::importer
