#include "cli/record/record_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/collection.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/console/option_values.h"
#include "cli/record/record.h"
#include "record/host.h"
#include "record/push/token_file.h"

namespace ergometer::cli {
namespace {

constexpr std::array kSources = {"nvml",     "amd",  "rapl",    "hwmon", "infiniband",
                                 "ethernet", "proc", "redfish", "ipmi",  "replay"};
constexpr double kLowestHz = 0.1, kHighestHz = 1000;

tl::unexpected<base::Error> not_one_of(const std::string& flag, const std::string& word,
                                       const std::vector<std::string>& allowed) {
  return input_error("--{}: '{}' is not one of {}{}", flag, word, fmt::join(allowed, ", "),
                     base::did_you_mean(word, allowed));
}

Result<void> read_sources(const Arguments& arguments, RecordOptions& options) {
  if (!arguments.has("source")) return {};
  const std::vector<std::string> known(kSources.begin(), kSources.end());
  for (const std::string& word : base::split(arguments.value("source"), ',')) {
    if (!base::contains(known, word)) return not_one_of("source", word, known);
    options.wanted.push_back(word);
  }
  return {};
}

Result<record::Endpoint> endpoint(const char* option, std::string_view text) {
  auto read = record::parse_endpoint(text);
  if (!read) return input_error("{}: {}", option, read.error().message);
  return *read;
}

Result<void> read_clocks(const Arguments& arguments, RecordOptions& options) {
  if (arguments.has("clock-listen")) {
    ERGOMETER_ASSIGN(options.clock_listen,
                     endpoint("--clock-listen", arguments.value("clock-listen")));
  }
  if (!arguments.has("clock-peer")) return {};
  for (const std::string& peer : base::split(arguments.value("clock-peer"), ',')) {
    ERGOMETER_ASSIGN(record::Endpoint asked, endpoint("--clock-peer", peer));
    if (asked.host.empty())
      return input_error("--clock-peer: {}: a host is missing; give HOST:PORT, such as node01:9401",
                         peer);
    options.clock_peers.push_back(std::move(asked));
  }
  return {};
}

Result<void> read_metrics(const Arguments& arguments, RecordOptions& options) {
  if (!arguments.has("metrics")) return {};
  std::vector<std::string> names;
  for (size_t m = 0; m < static_cast<size_t>(run::Metric::kCount); ++m)
    names.push_back(run::metric_info(static_cast<run::Metric>(m)).name);
  for (const std::string& word : base::split(arguments.value("metrics"), ',')) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) return not_one_of("metrics", word, names);
    options.sources.metrics.push_back(static_cast<run::Metric>(found - names.begin()));
  }
  return {};
}

Result<void> read_gpus(const Arguments& arguments, RecordOptions& options) {
  if (!arguments.has("gpus")) return {};
  for (const std::string& word : base::split(arguments.value("gpus"), ',')) {
    const auto index = base::parse_integer(word);
    if (!index || *index < 0)
      return input_error(
          "--gpus: '{}' is not the index of a GPU; it is a list like 0,1 in nvidia-smi's order",
          word);
    options.gpus.push_back(*index);
  }
  return {};
}

Result<void> read_tags(const Arguments& arguments, RecordOptions& options) {
  if (!arguments.has("tag")) return {};
  for (const std::string& tag : base::split(arguments.value("tag"), ',')) {
    const size_t equal = tag.find('=');
    if (equal == std::string::npos || equal == 0)
      return input_error("--tag: '{}' is not of the form KEY=VALUE", tag);
    options.tags.push_back({"tag." + tag.substr(0, equal), tag.substr(equal + 1)});
  }
  return {};
}

Result<double> parse_duration(const std::string& text) {
  const auto seconds = parse_seconds(text);
  if (seconds && *seconds > 0) return *seconds;
  return input_error("--duration: '{}' is not a length of time; it is one like 90s, 10m or 2h",
                     text);
}

Result<double> parse_in(const Arguments& arguments, const char* flag, double fallback,
                        double lowest, double highest) {
  if (!arguments.has(flag)) return fallback;
  const auto number = base::parse_number(arguments.value(flag));
  if (!number || *number < lowest || *number > highest)
    return input_error("--{}: found '{}', allowed: a number from {} to {}", flag,
                       arguments.value(flag), lowest, highest);
  return *number;
}

Result<void> read_end(const Arguments& arguments, RecordOptions& options) {
  constexpr int64_t kLargestPid = 1 << 22;
  if (arguments.has("attach")) {
    ERGOMETER_ASSIGN(const int64_t pid, whole_number(arguments, "attach", 0, 1, kLargestPid));
    options.attach = static_cast<pid_t>(pid);
  }
  if (arguments.has("duration")) {
    ERGOMETER_ASSIGN(options.duration_s, parse_duration(arguments.value("duration")));
  }
  return {};
}

/// Of whom readings are that go to a server.
Result<void> read_push(const Arguments& arguments, RecordOptions& options) {
  options.push.target.url = arguments.value("push");
  options.push.host = options.host;
  std::string job = record::environment_variable("SLURM_JOB_ID");
  for (const run::Recording::Fact& tag : options.tags)
    if (tag.key == "tag.job") job = tag.value;
  options.push.job = record::push_job(job, options.host, record::now_ns());
  for (const char* flag : {"token-file", "push-certificate", "push-own-cert", "push-own-key"})
    if (arguments.has(flag) && options.push.target.url.empty())
      return input_error("--{}: goes with --push", flag);
  options.push.target.certificate = arguments.value("push-certificate");
  options.push.target.own_certificate = arguments.value("push-own-cert");
  options.push.target.own_key = arguments.value("push-own-key");
  if (!arguments.has("token-file")) return {};
  ERGOMETER_ASSIGN(options.push.target.token, record::read_token(arguments.value("token-file")));
  return {};
}

/// After `read_push`, which says whose readings they are.
Result<void> read_otlp(const Arguments& arguments, RecordOptions& options) {
  record::PushTarget& target = options.otlp.target;
  target.url = arguments.value("otlp");
  options.otlp.resource = {options.host, options.push.job};
  for (const char* flag : {"otlp-token-file", "otlp-certificate"})
    if (arguments.has(flag) && target.url.empty())
      return input_error("--{}: goes with --otlp", flag);
  target.certificate = arguments.value("otlp-certificate");
  if (!arguments.has("otlp-token-file")) return {};
  ERGOMETER_ASSIGN(target.token, record::read_token(arguments.value("otlp-token-file")));
  return {};
}

/// The file behind standard output may be read where it is one: the command's lines stay its own.
Result<void> read_step_log(const Arguments& arguments, RecordOptions& options) {
  if (!arguments.has("step-log")) return {};
  options.step_log = arguments.value("step-log");
  struct stat about = {};
  if (options.step_log == "-") {
    if (fstat(STDOUT_FILENO, &about) != 0 || !S_ISREG(about.st_mode))
      return input_error(
          "--step-log -: standard output is no file, and a pipe of ours would hold the command's "
          "lines back; let it write one, as with 2>&1 | tee train.log, and name that");
    std::error_code ignored;
    options.step_log = std::filesystem::read_symlink("/proc/self/fd/1", ignored).string();
  } else if (stat(options.step_log.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    return input_error("--step-log {}: is no file", options.step_log);
  }
  return {};
}

Result<void> check_together(const Arguments& arguments, const RecordOptions& options) {
  if (options.attach && !options.command.empty())
    return input_error("record: --attach and a command exclude each other");
  if (options.json && !options.command.empty() && !options.self_test)
    return input_error(
        "record: --json and the command would share standard output; leave it out and ask "
        "afterwards: ergometer analyze FILE --json");
  if (arguments.has("repeats") && !(options.self_test && !options.command.empty()))
    return input_error("--repeats: goes with --self-test and a command");
  if (arguments.has("replay-speed") && options.sources.replay.empty())
    return input_error("--replay-speed: goes with --replay");
  if (options.dcgm_names && options.listen.empty())
    return input_error("--dcgm-names: goes with --listen");
  if (!options.sources.redfish_credentials.empty() && options.sources.redfish.empty())
    return input_error("--redfish-credentials: goes with --redfish");
  return {};
}

}  // namespace

std::vector<Flag> record_flags() {
  return {
      option("out", "FILE", "what is kept",
             "the Run file to write; by default ergometer-HOST-TIME.run, with Slurm's job before "
             "the host")
          .shortened("o"),
      option("hz", "X", "what is kept",
             "readings a second, 0.1 to 1000; by default 10. Controllers over the network: 1"),
      option("metrics", "LIST", "what is kept",
             "only these, by their names in docs/run-file.md: power,energy,sm_clock"),
      option("gpus", "LIST", "what is kept", "only the GPUs of these indices: 0,1"),
      option("tag", "KEY=VALUE", "what is kept",
             "a fact of yours beside the recording; may be given several times")
          .repeated(),
      option("host", "NAME", "what is kept",
             "the node's name; by default this machine's, which in a container means little"),
      option("source", "LIST", "sensors",
             fmt::format("only these, and each must be there: {}", fmt::join(kSources, ","))),
      option("redfish", "URL", "sensors", "ask the node's controller: https://bmc/"),
      option("redfish-credentials", "FILE", "sensors", "a file that holds user:password for it"),
      option("redfish-certificate", "FILE", "sensors",
             "a certificate in PEM form to trust besides the system's"),
      option("redfish-insecure", "", "sensors", "trust any certificate"),
      option("replay", "FILE", "sensors", "play back a Run instead of reading this machine"),
      option("replay-speed", "X", "sensors",
             "recorded seconds in a second; by default 1. 0: a row a round"),
      option("step-log", "FILE", "what is kept",
             "a training program's output, or what it tells by OTLP in a file of JSON lines, "
             "followed as it grows: every step's number, time and length. '-': this command's "
             "standard output, where that is a file"),
      option("predict", "JOB", "what is kept",
             "predict this job first (a job file or whatever simulate reads, or a simulated Run), "
             "keep that in the file, and hold what is measured to it"),
      option("rules", "FILE", "what is kept",
             "a YAML file of rules that alert, or 'standard': what fires becomes a note and is "
             "told by the rules' actions, as serve --rules does for a whole job"),
      option("attach", "PID", "when it ends", "with this process, which goes on as before"),
      option("duration", "TIME", "when it ends",
             "after this time: 90s, 10m, 2h. A command goes on"),
      option("listen", "ADDRESS:PORT", "output",
             "serve the latest readings to Prometheus meanwhile: 127.0.0.1:9400, or :9400 for "
             "everybody"),
      option("push", "URL", "several nodes",
             "send the latest readings once a second to `ergometer serve`: http://monitor:9500. "
             "Nodes of one job meet there by Slurm's job or by --tag job=NAME"),
      option("token-file", "FILE", "several nodes",
             "what to say there: the file's first line, which you alone may read"),
      option("push-certificate", "FILE", "several nodes",
             "a certificate in PEM form to trust there, instead of the system's"),
      option("push-own-cert", "FILE", "several nodes",
             "who this node is, where the server asks (serve --tls-client-ca): a certificate in "
             "PEM form"),
      option("push-own-key", "FILE", "several nodes", "its key, which you alone may read"),
      option("clock-listen", "ADDRESS:PORT", "several nodes",
             "tell other recorders the time, for `ergometer merge`: 9401 for all addresses"),
      option("clock-peer", "HOST:PORT", "several nodes",
             "ask this recorder for its time once a second; may be given several times")
          .repeated(),
      option("otlp", "URL", "output",
             "tell an OTLP receiver the latest readings every ten seconds, and every step, over "
             "HTTP in JSON: http://127.0.0.1:4318 (its /v1/metrics)"),
      option("otlp-token-file", "FILE", "output",
             "what to say there (Authorization: Bearer): the file's first line, which you alone "
             "may read"),
      option("otlp-certificate", "FILE", "output",
             "a certificate in PEM form to trust there, instead of the system's"),
      option("dcgm-names", "", "output", "serve GPUs under the DCGM exporter's names"),
      option("live", "", "output", "the table of GPUs on the terminal beside a command, too"),
      option("self-test", "", "output",
             "what recording costs: processor time, memory, every call to a driver; with a "
             "command, how much longer it takes"),
      option("repeats", "N", "output",
             "of --self-test: runs of the command with and without recording each; by default 5"),
  };
}

Result<RecordOptions> read_record_options(const Arguments& arguments) {
  RecordOptions options;
  options.out = arguments.value("out");
  options.json = arguments.has("json");
  options.listen = arguments.value("listen");
  options.dcgm_names = arguments.has("dcgm-names");
  options.live = arguments.has("live");
  options.self_test = arguments.has("self-test");
  options.host = arguments.value("host", record::host_name());
  if (options.host.empty() || options.host.find('/') != std::string::npos)
    return input_error("--host: '{}' is no name of a node", arguments.value("host"));
  options.command = arguments.command;
  options.sources.redfish = arguments.value("redfish");
  options.sources.redfish_credentials = arguments.value("redfish-credentials");
  options.sources.redfish_certificate = arguments.value("redfish-certificate");
  options.sources.redfish_insecure = arguments.has("redfish-insecure");
  options.sources.replay = arguments.value("replay");
  ERGOMETER_ASSIGN(options.hz, parse_in(arguments, "hz", options.hz, kLowestHz, kHighestHz));
  ERGOMETER_ASSIGN(options.sources.replay_speed, parse_in(arguments, "replay-speed", 1, 0, 1e6));
  ERGOMETER_ASSIGN(options.repeats, whole_number(arguments, "repeats", options.repeats, 2, 1000));
  ERGOMETER_TRY(read_sources(arguments, options));
  ERGOMETER_TRY(read_metrics(arguments, options));
  ERGOMETER_TRY(read_gpus(arguments, options));
  ERGOMETER_TRY(read_tags(arguments, options));
  ERGOMETER_TRY(read_push(arguments, options));
  ERGOMETER_TRY(read_otlp(arguments, options));
  ERGOMETER_TRY(read_clocks(arguments, options));
  ERGOMETER_TRY(read_end(arguments, options));
  ERGOMETER_TRY(read_step_log(arguments, options));
  ERGOMETER_TRY(check_together(arguments, options));
  return options;
}

}  // namespace ergometer::cli
