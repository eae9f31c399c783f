#include "launch/site.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/file.h"
#include "base/text.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::launch {
namespace {

constexpr std::array<std::string_view, 3> kRuntimes = {"pyxis", "apptainer", "docker"};

bool made_of(std::string_view text, std::string_view further) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return base::is_letter_or_digit(c) || further.find(c) != std::string_view::npos;
  });
}

bool is_variable(std::string_view name) {
  return made_of(name, "_") && !base::is_digit(name.front());
}

/// Names by which variables with secrets go.
bool sounds_secret(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const char* word : {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "CREDENTIAL",
                           "PRIVATE_KEY", "ACCESS_KEY"})
    if (name.find(word) != std::string::npos) return true;
  return name.ends_with("KEY") || name.ends_with("PASS") || name.ends_with("AUTH");
}

/// What Kubernetes takes as a name: RFC 1123.
bool is_label(std::string_view name) {
  constexpr size_t kLongest = 63;
  return name.size() <= kLongest && made_of(name, "-") && base::is_letter_or_digit(name.front()) &&
         base::is_letter_or_digit(name.back()) && base::lower(name) == name;
}

/// "30", "30:00", "2:00:00", "1-12", "1-12:30:00": sbatch's forms.
bool is_time_limit(std::string_view text) {
  const size_t dash = text.find('-');
  const std::string_view days = dash == std::string_view::npos ? "0" : text.substr(0, dash);
  std::string_view rest = dash == std::string_view::npos ? text : text.substr(dash + 1);
  int parts = 1;
  for (const std::string_view part : {days, rest})
    if (!made_of(part, ":") || std::ranges::any_of(part, base::is_letter)) return false;
  for (size_t at = rest.find(':'); at != std::string_view::npos; at = rest.find(':')) {
    if (at == 0) return false;
    rest.remove_prefix(at + 1);
    ++parts;
  }
  return parts <= 3 && !rest.empty() && days.find(':') == std::string_view::npos;
}

/// An error of a value, at its place in the file.
template <class T>
void keep(spec::YamlMap& map, std::string_view key, const Result<T>& result) {
  if (!result) map.refuse(key, result.error().message);
}

void read_texts(spec::YamlMap& map, Site& site) {
  const std::array<std::pair<const char*, std::string*>, 14> fields = {
      {{"name", &site.name},
       {"account", &site.account},
       {"partition", &site.partition},
       {"time_limit", &site.time_limit},
       {"namespace", &site.namespace_name},
       {"volume_claim", &site.volume_claim},
       {"volume_path", &site.volume_path},
       {"folder", &site.folder},
       {"gpu_resource", &site.gpu_resource},
       {"container", &site.container},
       {"ergometer", &site.ergometer},
       {"framework", &site.framework},
       {"data", &site.data},
       {"tokenizer", &site.tokenizer}}};
  for (const auto& [key, field] : fields) *field = map.text(key, *field);
}

void read_lists(spec::YamlMap& map, Site& site) {
  const std::array<std::pair<const char*, std::vector<std::string>*>, 5> lists = {
      {{"sbatch_arguments", &site.sbatch_arguments},
       {"hosts", &site.hosts},
       {"mounts", &site.mounts},
       {"torchrun", &site.torchrun},
       {"record", &site.record}}};
  for (const auto& [key, list] : lists)
    if (map.has(key)) *list = map.texts(key);
}

void read_environment(spec::YamlMap& map, Site& site) {
  auto environment = map.map("environment");
  if (!environment && map.has("environment"))
    map.refuse("environment", "allowed: a mapping of names to values, {NAME: value}");
  if (!environment) return;
  for (const spec::YamlMap::Item& item : environment->items()) {
    if (!item.is_scalar)
      environment->refuse(item.key, "found a list or mapping; allowed: a number or text");
    keep(*environment, item.key, add_environment(item.key, item.value, site));
  }
}

void read_pod_resources(spec::YamlMap& map, Site& site) {
  constexpr int64_t kMost = 1'000'000;
  auto resources = map.map("pod_resources");
  if (!resources && map.has("pod_resources"))
    map.refuse("pod_resources", "allowed: a mapping of resources to counts, {rdma/hca: 8}");
  if (!resources) return;
  for (const spec::YamlMap::Item& item : resources->items()) {
    if (!made_of(item.key, "-_./"))
      resources->refuse(item.key, "allowed: a resource's name, as rdma/hca");
    site.pod_resources[item.key] = resources->integer(item.key, 1, 1, kMost);
  }
}

constexpr int64_t kLastPort = 65535;

Result<void> check_slurm(const Site& site) {
  for (const auto& [what, text] :
       {std::pair("account", &site.account), std::pair("partition", &site.partition)})
    if (!text->empty() && !made_of(*text, "_.,-+@:"))
      return input_error("{}: found '{}', allowed: letters, digits and _.,-+@:", what, *text);
  if (!site.time_limit.empty() && !is_time_limit(site.time_limit))
    return input_error("time limit: found '{}', allowed: MINUTES, [DAYS-]HH:MM:SS",
                       site.time_limit);
  for (const std::string& argument : site.sbatch_arguments) {
    // sbatch takes a beginning for the whole name. `--wrap` runs another command in the script's
    // place, and what such a command holds is not ours to keep in a file.
    const std::string_view name =
        std::string_view(argument).substr(0, argument.find_first_of("= "));
    const bool another =
        name.size() > 2 && (std::string_view("--array").starts_with(name) ||
                            (name.size() > 3 && std::string_view("--wrap").starts_with(name)));
    if (!argument.starts_with("--") || argument.find_first_of("\n\r") != std::string::npos ||
        another)
      return input_error(
          "sbatch_arguments: found '{}', allowed: one option of sbatch each, as --qos=high, and "
          "not --array or --wrap",
          base::hide_passwords(argument));
    if (base::hide_passwords(argument) != argument)
      return input_error(
          "sbatch_arguments: {} holds a password (user:password@), and would stand in a file",
          base::hide_passwords(argument));
  }
  return {};
}

Result<void> check_kubernetes(const Site& site) {
  const auto need = [](std::string_view what, const std::string& text) -> Result<void> {
    if (!text.empty()) return {};
    return input_error("k8s: {} is missing", what);
  };
  ERGOMETER_TRY(need("a container image (--container)", site.container));
  ERGOMETER_TRY(
      need("volume_claim in the site file: a claim that all pods mount", site.volume_claim));
  ERGOMETER_TRY(need("volume_path in the site file: where pods mount the claim", site.volume_path));
  ERGOMETER_TRY(need("folder in the site file: where pods find this folder", site.folder));
  // A run's number, its hyphen and a pod's come behind it.
  constexpr size_t kLongestName = 50;
  if (site.name.size() > kLongestName)
    return input_error("name: found '{}', allowed: {} characters at most", site.name, kLongestName);
  if (!base::is_letter(site.name.front()))
    return input_error(
        "name: found '{}', allowed: a lower-case letter first: a Service has that name", site.name);
  for (const auto& [what, text] :
       {std::pair("namespace", &site.namespace_name), std::pair("name", &site.name),
        std::pair("volume_claim", &site.volume_claim)})
    if (!text->empty() && !is_label(*text))
      return input_error("{}: found '{}', allowed: lower-case letters, digits and -, 63 at most",
                         what, *text);
  return {};
}

}  // namespace

std::optional<Scheduler> scheduler_of(std::string_view word) {
  if (word == "slurm") return Scheduler::kSlurm;
  if (word == "ssh") return Scheduler::kSsh;
  if (word == "k8s") return Scheduler::kKubernetes;
  return std::nullopt;
}

std::string_view to_word(Scheduler scheduler) {
  constexpr std::array<std::string_view, 3> kWords = {"slurm", "ssh", "k8s"};
  return kWords[static_cast<size_t>(scheduler)];
}

Result<Secret> parse_secret(Scheduler scheduler, std::string_view text) {
  const size_t equals = text.find('=');
  Secret secret{std::string(text.substr(0, equals)), "", ""};
  const bool reference = equals != std::string_view::npos;
  if (!is_variable(secret.variable))
    return input_error(
        "found no name of an environment variable; allowed: HF_TOKEN, and for k8s "
        "HF_TOKEN=SECRET/KEY");
  if (scheduler != Scheduler::kKubernetes) {
    // Not repeated: it may be the secret itself.
    if (reference)
      return input_error(
          "{} has something behind it; allowed: the variable's name alone, whose value is taken "
          "from the environment of who submits",
          secret.variable);
    return secret;
  }
  const std::string_view behind = reference ? text.substr(equals + 1) : "";
  const size_t slash = behind.find('/');
  secret.secret = behind.substr(0, slash);
  secret.key = slash == std::string_view::npos ? "" : behind.substr(slash + 1);
  if (!is_label(secret.secret) || !made_of(secret.key, "-_."))
    return input_error("{} does not name a Kubernetes Secret; allowed: {}=SECRET/KEY",
                       secret.variable, secret.variable);
  return secret;
}

Result<void> add_environment(const std::string& name, const std::string& value, Site& site) {
  if (!is_variable(name)) return input_error("found '{}', allowed: NAME=VALUE", name);
  if (sounds_secret(name))
    return input_error(
        "{} looks like a secret, and its value would stand in a file; name it with --secret {}",
        name, name);
  if (base::hide_passwords(value) != value)
    return input_error(
        "{}: its value holds a password (user:password@), and would stand in a file; name it with "
        "--secret {}",
        name, name);
  if (value.find_first_of("\n\r") != std::string::npos)
    return input_error("{}: its value has several lines", name);
  site.environment[name] = value;
  return {};
}

Result<void> parse_site(const std::string& text, const std::string& file, Site& site) {
  ERGOMETER_ASSIGN(spec::YamlMap map, spec::YamlMap::parse(text, file));
  map.allow({"name",         "account",           "partition", "time_limit",
             "gpu_request",  "sbatch_arguments",  "hosts",     "namespace",
             "volume_claim", "volume_path",       "folder",    "gpu_resource",
             "container",    "container_runtime", "mounts",    "ergometer",
             "torchrun",     "framework",         "data",      "tokenizer",
             "record",       "environment",       "secrets",   "port",
             "clock_port",   "pod_resources"});
  read_texts(map, site);
  read_lists(map, site);
  constexpr std::array<const char*, 3> kRequests = {"gpus-per-node", "gres", "none"};
  if (map.has("gpu_request"))
    site.gpu_request = kRequests[static_cast<size_t>(
        map.choice("gpu_request", {"gpus-per-node", "gres", "none"}, 0))];
  site.runtime = static_cast<Runtime>(map.choice("container_runtime",
                                                 {kRuntimes[0], kRuntimes[1], kRuntimes[2]},
                                                 static_cast<int>(site.runtime)));
  site.port = map.integer("port", site.port, 1, kLastPort);
  site.clock_port = map.integer("clock_port", site.clock_port, 0, kLastPort);
  read_environment(map, site);
  read_pod_resources(map, site);
  for (const std::string& one : map.texts("secrets")) {
    const auto secret = parse_secret(site.scheduler, one);
    keep(map, "secrets", secret);
    if (secret) site.secrets.push_back(*secret);
  }
  if (map.error()) return tl::unexpected(*map.error());
  return {};
}

Result<void> read_site(const std::string& path, Site& site) {
  constexpr size_t kMostBytes = 1 << 20;
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kMostBytes));
  return parse_site(text, path, site);
}

Result<void> check_site(const Site& site) {
  if (!made_of(site.name, "_.-"))
    return input_error("name: found '{}', allowed: letters, digits and _.-", site.name);
  if (site.torchrun.empty()) return input_error("torchrun: found nothing, allowed: a command");
  for (const std::string* text : {&site.container, &site.ergometer, &site.framework, &site.data,
                                  &site.tokenizer, &site.folder, &site.volume_path})
    if (text->find_first_of("\n\r") != std::string::npos)
      return input_error("'{}': has several lines", *text);
  for (const std::string& host : site.hosts)
    if (!made_of(host, "_.-@:") || host.starts_with('-'))
      return input_error("hosts: found '{}', allowed: [USER@]HOST of letters, digits and .-_",
                         host);
  if (!site.container.empty() && site.scheduler == Scheduler::kSsh &&
      site.runtime == Runtime::kPyxis)
    return input_error("container_runtime: pyxis is Slurm's; allowed with ssh: apptainer, docker");
  if (site.scheduler == Scheduler::kSlurm) return check_slurm(site);
  if (site.scheduler == Scheduler::kKubernetes) return check_kubernetes(site);
  return {};
}

}  // namespace ergometer::launch
