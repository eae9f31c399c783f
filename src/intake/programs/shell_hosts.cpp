#include "intake/programs/shell_hosts.h"

#include <algorithm>

#include "base/text.h"
#include "intake/programs/launcher_options.h"

namespace ergometer::intake {
namespace {

constexpr const char* kHostName = "the name of a node";
constexpr int64_t kMostLines = 100'000;

/// "8" of "ppn=8" among parts; empty: none.
std::string value_among(const std::vector<std::string>& parts, std::string_view name) {
  for (const std::string& part : parts)
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      return part.substr(name.size() + 1);
  return "";
}

}  // namespace

void BatchHosts::read_resources(const std::string& list) {
  if (list.starts_with("place=")) {
    shared_ = shared_ || base::contains(list, "pack") || base::contains(list, "free");
    apart_ = apart_ || base::contains(list, "scatter") || base::contains(list, "excl");
    return;
  }
  of_torque_ = list.starts_with("nodes=");
  if (!of_torque_ && !list.starts_with("select=")) return;
  // Several kinds of hosts: 2:ncpus=4+1:ncpus=8.
  const std::vector<std::string> parts = base::split(list.substr(list.find('=') + 1), ':');
  hosts_ = base::contains(list, "+") ? 0 : launcher_number(parts.front());
  const std::string slots = value_among(parts, of_torque_ ? "ppn" : "mpiprocs");
  each_ = slots.empty() ? 1 : launcher_number(slots);
  // Chunks of few GPUs may lie on one host together.
  constexpr int64_t kFewestOfAHost = 4;
  const int64_t gpus = launcher_number(value_among(parts, "ngpus"));
  gpus_ = of_torque_ || base::contains(list, "+") ? 0 : gpus;
  small_ = small_ || (!of_torque_ && gpus > 0 && gpus < kFewestOfAHost);
}

void BatchHosts::read(const std::vector<ShellText>& words, bool of_pbs) {
  of_pbs_ = of_pbs_ || of_pbs;
  for (size_t at = 0; at < words.size(); ++at) {
    if (of_pbs) {
      if (const auto list = option_value(words, at, "-l"))
        for (const std::string& one : base::split(*list, ',')) read_resources(one);
    } else if (words[at].text == "-n" && at + 1 < words.size()) {
      slots_ = launcher_number(words[++at].text);
    } else if (words[at].text == "-gpu" && at + 1 < words.size()) {
      // "num=4:mode=shared" is of a host; "num=1/task" is not.
      const std::string list = words[++at].text;
      gpus_ = launcher_number(value_among(base::split(list, ':'), "num"));
    } else if (const size_t tile = words[at].text.find("ptile="); tile != std::string::npos) {
      const std::string rest = words[at].text.substr(tile + 6);
      each_ = launcher_number(rest.substr(0, rest.find_first_of("] ")));
      hosts_ = -1;
    }
  }
}

void BatchHosts::set(ShellSession& session, ShellState& state) const {
  const bool tiles = !of_pbs_ && hosts_ < 0 && each_ > 0 && slots_ % each_ == 0;
  const int64_t hosts = tiles ? slots_ / each_ : hosts_;
  const bool packed = small_ && !apart_;
  if (gpus_ > 0 && !packed && session.batch.gpus_per_node == 0) session.batch.gpus_per_node = gpus_;
  if (shared_ || packed || hosts < 1 || each_ < 1 || hosts > kMostLines / each_) return;
  std::string lines, counted;
  for (int64_t host = 0; host < hosts; ++host) {
    const std::string name = host_name_mark(session.unknowns);
    for (int64_t slot = 0; slot < each_; ++slot) lines += name + "\n";
    counted += (host > 0 ? " " : "") + name + " " + std::to_string(each_);
  }
  const std::string slots = std::to_string(hosts * each_);
  const std::string path = of_pbs_ ? "/var/spool/pbs/aux/job" : "/var/spool/lsf/hosts";
  state.files[path] = lines;
  if (!of_pbs_) {
    export_variable("LSB_DJOB_HOSTFILE", path, state);
    export_variable("LSB_DJOB_NUMPROC", slots, state);
    export_variable("LSB_MCPU_HOSTS", counted, state);
    return;
  }
  export_variable("PBS_NODEFILE", path, state);
  if (!of_torque_) return;
  export_variable("PBS_NUM_NODES", std::to_string(hosts), state);
  export_variable("PBS_NUM_PPN", std::to_string(each_), state);
  export_variable("PBS_NP", slots, state);
}

bool are_host_names(const std::vector<std::string>& lines, const ShellUnknowns& unknowns) {
  return std::ranges::all_of(lines, [&](const std::string& line) {
    return line.starts_with('\x01') && line.find('\x02') + 1 == line.size() &&
           unknowns.entry(line).reason == kHostName;
  });
}

std::string host_name_mark(ShellUnknowns& unknowns) { return unknowns.mark(kHostName); }

}  // namespace ergometer::intake
