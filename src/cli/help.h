#pragma once

#include <string>

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer --help`: what the program does, first commands to try, the list of commands.
std::string program_help();
/// `ergometer COMMAND --help`: usage and examples first, then the options: by name only when they
/// are many, so that it fits a screen; `everything` gives each one a line or two.
std::string command_help(const Command& command, bool everything);

}  // namespace ergometer::cli
