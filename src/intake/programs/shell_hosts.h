#pragma once

#include <string>
#include <vector>

#include "intake/shell/shell_state.h"

namespace ergometer::intake {

/// Hosts that a batch script asks PBS or LSF for in its lines, each with as many slots:
/// `#PBS -l select=4:mpiprocs=8`, `#PBS -l nodes=4:ppn=8`, `#BSUB -n 32 -R "span[ptile=8]"`. A
/// chunk of PBS is a host, unless chunks may share one: place=pack, place=free, or fewer than four
/// GPUs without place=scatter or place=excl.
class BatchHosts {
 public:
  /// The words behind "#PBS" or qsub (`of_pbs`), "#BSUB" or bsub.
  void read(const std::vector<ShellText>& words, bool of_pbs);
  /// PBS_NODEFILE, LSB_DJOB_HOSTFILE and what stands beside them; nothing where hosts are not told.
  /// Names of hosts are marks. The GPUs of a node are the session's.
  void set(ShellSession& session, ShellState& state) const;

 private:
  void read_resources(const std::string& list);
  bool of_pbs_ = false, shared_ = false, apart_ = false, small_ = false, of_torque_ = false;
  int64_t hosts_ = 0, each_ = 1, slots_ = 0, gpus_ = 0;
};

/// Whether every line of a text is the name of a host that nobody knows.
bool are_host_names(const std::vector<std::string>& lines, const ShellUnknowns& unknowns);
/// A mark for the name of a host.
std::string host_name_mark(ShellUnknowns& unknowns);

}  // namespace ergometer::intake
