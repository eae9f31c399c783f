#include "cli/record/serve.h"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>

#include "cli/console/stop_at_signal.h"
#include "record/push/token_file.h"
#include "serve/service.h"
#include "watch/actions.h"
#include "watch/rules.h"

namespace ergometer::cli {
namespace {

/// A connection a node, and files: as many as this machine lets one have.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// While it lives, a file that may not grow, or a client that is gone, is an error of the write and
/// not the end of the program.
class NoWriteSignals {
 public:
  NoWriteSignals()
      : file_size_(std::signal(SIGXFSZ, SIG_IGN)), pipe_(std::signal(SIGPIPE, SIG_IGN)) {}
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;
  ~NoWriteSignals() {
    std::signal(SIGXFSZ, file_size_);
    std::signal(SIGPIPE, pipe_);
  }

 private:
  void (*file_size_)(int);
  void (*pipe_)(int);
};

/// While it lives, SIGHUP asks for the rules to be read again, unless another program is the host.
class ReloadAtSignal {
 public:
  explicit ReloadAtSignal(bool leave) : leave_(leave) {
    if (!leave) before_ = std::signal(SIGHUP, [](int) { asked() = true; });
  }
  ReloadAtSignal(const ReloadAtSignal&) = delete;
  ReloadAtSignal& operator=(const ReloadAtSignal&) = delete;
  ~ReloadAtSignal() {
    if (!leave_) std::signal(SIGHUP, before_);
  }
  static std::atomic<bool>& asked() {
    static std::atomic<bool> kAsked = false;
    return kAsked;
  }

 private:
  bool leave_;
  void (*before_)(int) = SIG_DFL;
};

Result<int> check_rules(const Arguments& arguments, const Console& console) {
  if (!arguments.has("rules"))
    return input_error("serve: --check: says what the rules of a file mean; add --rules FILE");
  ERGOMETER_ASSIGN(const std::vector<watch::Rule> rules,
                   watch::read_rules(arguments.value("rules")));
  ERGOMETER_TRY(watch::check_secrets(rules));
  for (const watch::Rule& rule : rules) console.answer(watch::meaning(rule) + '\n');
  return 0;
}

Result<serve::ServeOptions> read_options(const Arguments& arguments) {
  serve::ServeOptions options;
  options.listen = arguments.value("listen", options.listen);
  options.folder = arguments.value("out");
  if (options.folder.empty())
    return input_error(
        "serve: --out DIR is missing; usage: ergometer serve --out DIR [--listen ADDRESS:PORT]");
  std::error_code ignored;
  std::filesystem::create_directory(options.folder, ignored);
  if (arguments.has("token-file")) {
    ERGOMETER_ASSIGN(options.token, record::read_token(arguments.value("token-file")));
  }
  options.follow = arguments.value("follow");
  options.certificate = arguments.value("tls-cert");
  options.key = arguments.value("tls-key");
  options.authorities = arguments.value("tls-client-ca");
  options.scrape = arguments.value("scrape");
  options.rules = arguments.value("rules");
  options.reload = [] { return ReloadAtSignal::asked().exchange(false); };
  if (options.certificate.empty() != options.key.empty())
    return input_error("serve: --tls-cert and --tls-key go together");
  if (!options.authorities.empty() && options.certificate.empty())
    return input_error("serve: --tls-client-ca goes with --tls-cert and --tls-key");
  return options;
}

}  // namespace

std::vector<Flag> serve_flags() {
  return {option("out", "DIR", "what is kept",
                 "the folder of Runs, one a job: JOB.run, which `analyze` reads at any time. Made "
                 "where it is missing")
              .shortened("o"),
          option("follow", "DIR", "who may come",
                 "also watch the Runs that recorders write into this folder, which nodes share "
                 "that may not open connections"),
          option("scrape", "FILE", "who may come",
                 "also ask the recorders of this list, `record --listen` or another exporter of "
                 "GPUs, once a second: a line HOST:PORT or a URL, and behind a space its job"),
          option("listen", "ADDRESS:PORT", "who may come",
                 "where to serve the page and take readings; by default 127.0.0.1:9500, which this "
                 "machine alone reaches. :9500 is for all, and then wants a token"),
          option("token-file", "FILE", "who may come",
                 "what recorders have to say before readings are taken: the file's first line, "
                 "which you alone may read"),
          option("tls-cert", "FILE", "who may come",
                 "encrypt: a certificate in PEM form, with its chain"),
          option("tls-key", "FILE", "who may come", "its key, which you alone may read"),
          option("tls-client-ca", "FILE", "who may come",
                 "let in only who shows a certificate that one in this PEM file signed, page and "
                 "all; then no token is needed"),
          option("rules", "FILE", "alerts",
                 "a YAML file of rules, what to do when one holds among it; read again when it "
                 "changes and at SIGHUP. `standard`: the set that the program holds"),
          option("check", "", "alerts", "of --rules: say what each rule means, and end")};
}

Result<int> run_serve(const Arguments& arguments, const Console& console) {
  if (arguments.has("check")) return check_rules(arguments, console);
  ERGOMETER_ASSIGN(const serve::ServeOptions options, read_options(arguments));
  allow_many_files();
  const NoWriteSignals no_signals;
  const StopAtSignal stop(console.hosted);
  const ReloadAtSignal reload(console.hosted || options.rules.empty());
  ERGOMETER_ASSIGN(
      serve::Service service,
      serve::Service::start(options, [&](const std::string& text) { console.note(text); }));
  console.note("serving {}://{}/; Ctrl-C ends it", options.certificate.empty() ? "http" : "https",
               service.address());
  ERGOMETER_TRY(service.run([] { return StopAtSignal::asked().load(); }));
  return 0;
}

}  // namespace ergometer::cli
