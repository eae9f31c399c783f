#pragma once

#include <algorithm>
#include <array>
#include <string_view>

// One thing has one colour on the terminal and on the page. The page's colours stand in
// web/src/base/theme.ts; here are those of the 256 of a terminal that are nearest to what lies
// between its light and its dark one (tests/structure/colours.py holds the two together).
namespace ergometer::report {

struct Colour {
  std::string_view name;   ///< a kind of work or memory as the page knows it, or a judgement
  std::string_view token;  ///< its colour's name on the page
  std::string_view sgr;    ///< parameters of ANSI's SELECT GRAPHIC RENDITION
};

inline constexpr std::array kColours = std::to_array<Colour>({
    {"compute", "compute", "38;5;68"},
    {"exposed_all_reduce", "allreduce", "38;5;166"},
    {"exposed_all_gather", "allgather", "38;5;172"},
    {"exposed_reduce_scatter", "reducescatter", "38;5;221"},
    {"exposed_all_to_all", "alltoall", "38;5;169"},
    {"exposed_send_recv", "sendrecv", "38;5;30"},
    {"optimizer", "optimizer", "38;5;62"},
    {"idle", "idle", "38;5;246"},
    {"weights", "weights", "38;5;68"},
    {"gradients", "gradients", "38;5;172"},
    {"activations", "activations", "38;5;30"},
    {"other", "other", "38;5;246"},
    {"good", "good", "38;5;72"},
    {"fair", "fair", "38;5;136"},
    {"bad", "bad", "38;5;167"},
});

/// Of a name that stands in the table.
constexpr std::string_view sgr_of(std::string_view name) {
  return std::ranges::find(kColours, name, &Colour::name)->sgr;
}

}  // namespace ergometer::report
