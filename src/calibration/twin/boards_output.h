#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "calibration/twin/boards.h"

namespace ergometer::calibration::twin {

/// Why a spread from board to board is not told.
inline constexpr const char* kAlike = "they differ by no more than readings may be off";

/// For people: boards and nodes that are unlike others, how far the rest differ, what the recording
/// does not tell. `from`: the recording's name.
std::string to_text(const Boards& boards, std::string_view from);
/// The same and every board, as members of the object that is open.
void write_boards(base::JsonWriter& json, const Boards& boards);

}  // namespace ergometer::calibration::twin
