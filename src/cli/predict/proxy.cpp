#include "cli/predict/proxy.h"

#include "base/output_file.h"
#include "base/text.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/settled_job.h"
#include "optimize/files.h"
#include "study/proxy/output.h"

namespace ergometer::cli {
namespace {

using study::proxy::Proxy;

/// The job itself: its GPUs are not those of --gpus.
Result<spec::Settings> large_job(Arguments arguments, const Console& console) {
  arguments.flags.erase("gpus");
  if (arguments.has("job-gpus")) {
    arguments.flags["gpus"] = arguments.value("job-gpus");
    arguments.written["gpus"] = "--job-gpus";
  }
  ERGOMETER_ASSIGN(const spec::Settings given, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(spec::Settings settled, settled_job(given));
  tell_job(settled, "", console);
  return settled;
}

Result<spec::Settings> small_job(const std::string& path, const Console& console) {
  Arguments arguments;
  arguments.words = {path};
  return gather_settings(arguments, console);
}

Result<Proxy> judged_proxy(const Arguments& arguments, const Console& console) {
  if (arguments.has("gpus")) return input_error("--gpus: the job of --judge says its GPUs itself");
  if (arguments.has("save")) return input_error("--save: the job of --judge stands in a file");
  ERGOMETER_ASSIGN(const spec::Settings large, large_job(arguments, console));
  ERGOMETER_ASSIGN(const spec::Settings small, small_job(arguments.value("judge"), console));
  return study::proxy::judge(large, small);
}

Result<Proxy> found_proxy(const Arguments& arguments, const Console& console) {
  if (!arguments.has("gpus"))
    return input_error(
        "proxy: --gpus N is missing: on how many GPUs shall the smaller job run? (--judge JOB.yaml "
        "judges one that is there)");
  const auto gpus = base::parse_count(arguments.value("gpus"));
  if (!gpus || *gpus < 1)
    return input_error("--gpus: found \"{}\"; allowed: a whole number from 1",
                       arguments.value("gpus"));
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const spec::Settings large, large_job(arguments, console));
  return study::proxy::find(large, *gpus, threads);
}

}  // namespace

std::vector<Flag> proxy_flags() {
  std::vector<Flag> flags = {
      option("job-gpus", "N", "proxy",
             "GPUs of the large job, where neither its file nor --dp says it"),
      option("judge", "JOB.yaml", "proxy",
             "set this smaller job beside the large one instead of looking for one"),
      option("save", "FILE.yaml", "proxy", "write the smaller job as a job file")};
  for (Flag& flag : setting_flags()) {
    // A step has no phases.
    if (flag.name == "run-phases") continue;
    if (flag.name == "gpus") flag.help = "GPUs of the smaller job";
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.back().group = "proxy";
  return flags;
}

Result<int> run_proxy(const Arguments& arguments, const Console& console) {
  if (!names_job(arguments))
    return input_error("proxy: JOB is missing; usage: ergometer proxy MODEL|FILE... --gpus N");
  ERGOMETER_ASSIGN(const Proxy proxy, arguments.has("judge") ? judged_proxy(arguments, console)
                                                             : found_proxy(arguments, console));
  if (arguments.has("save"))
    ERGOMETER_TRY(
        base::write_file_atomically(arguments.value("save"), optimize::job_file(proxy.settings)));
  console.answer(arguments.has("json")
                     ? study::proxy::proxy_json(proxy)
                     : study::proxy::proxy_text(proxy, terminal_style(console.out)));
  return 0;
}

}  // namespace ergometer::cli
