#include <fmt/format.h>

#include <array>

#include "cli/analyze/analyze.h"
#include "cli/analyze/merge.h"
#include "cli/analyze/report.h"
#include "cli/catalog.h"
#include "cli/completion.h"
#include "cli/console/command.h"
#include "cli/doctor.h"
#include "cli/mcp/mcp.h"
#include "cli/predict/calibrate.h"
#include "cli/predict/compare.h"
#include "cli/predict/loop.h"
#include "cli/predict/optimize.h"
#include "cli/predict/plan.h"
#include "cli/predict/proxy.h"
#include "cli/predict/replan.h"
#include "cli/predict/simulate.h"
#include "cli/predict/swarm.h"
#include "cli/predict/sweep.h"
#include "cli/predict/together.h"
#include "cli/predict/validate.h"
#include "cli/record/launch.h"
#include "cli/record/record.h"
#include "cli/record/serve.h"
#include "cli/search/search.h"
#include "cli/search/search_run.h"

namespace ergometer::cli {
namespace {

constexpr std::array kCommands = std::to_array<Command>({
    {"simulate", "Predict one job: step time, memory, links",
     "simulate MODEL|FILE... --cluster CLUSTER [--gpus N] [options]",
     "  ergometer simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4\n"
     "  ergometer simulate config.json ds.json --cluster hgx-h100 --report step.html\n",
     "MODEL", 0, 16, simulate_flags, run_simulate, true},
    {"sweep", "Predict every job of a study: axes, constraints, figures",
     "sweep STUDY|STUDY.yaml|FILE.csv [FILE...] [options]",
     "  ergometer sweep charllm --out charllm.run\n"
     "  ergometer sweep my-study.yaml --list\n"
     "  ergometer sweep my-study.yaml --out my-study.run --shard 1/4\n"
     "  ergometer sweep my-study.yaml ds_config.json  (what its base does not say)\n"
     "  ergometer sweep my-runs.csv --threads 8 --json > my-runs.json\n",
     "STUDY", 1, 16, sweep_flags, run_sweep, false, true},
    {"search", "Find the best way to run a job: every layout estimated, the best ones played",
     "search MODEL|FILE... --cluster CLUSTER --gpus N --gbs B",
     "  ergometer search llama3-8b --cluster hgx-h100 --gpus 8 --gbs 16\n"
     "  ergometer search mixtral-8x7b --cluster hgx-h100 --gpus 64 --gbs 256 --top 3\n"
     "  ergometer search llama3-8b --cluster hgx-h100 --gpus 8 --gbs 16 --fix tp=4\n"
     "  ergometer search job.yaml  (its layout searched anew and compared)\n",
     "MODEL", 0, 16, search_flags, run_search, true, true},
    {"compare", "Say why one job is faster than another: every cause with what it is worth",
     "compare A B... [--with SETTING=VALUE] [options]",
     "  ergometer compare a.yaml b.yaml\n"
     "  ergometer compare job.yaml --with tp=8,pp=2\n"
     "  ergometer compare h200.run h100.run\n"
     "  ergometer compare monday.run tuesday.run --json\n"
     "  ergometer compare recorded.run --predicted job.yaml\n",
     "A B", 1, 16, compare_flags, run_compare},
    {"optimize", "Place, divide, cap and clock a job better, or say that it is best as it is",
     "optimize MODEL|FILE... --cluster CLUSTER [options]",
     "  ergometer optimize job.yaml --objective energy --out better\n", "MODEL", 0, 16,
     optimize_flags, run_optimize, true},
    {"replan", "Say when to plan a running job anew as inlets, feeds or GPUs change",
     "replan MODEL|FILE... --changes FILE --length TIME [options]",
     "  ergometer replan job.yaml --changes changes.yaml --length 8h\n"
     "  ergometer replan job.yaml --changes changes.yaml --length 1d --restart 5min\n",
     "MODEL", 0, 16, replan_flags, run_replan, true},
    {"plan", "Plan a whole training run: days, energy, cost, failures, how many GPUs",
     "plan MODEL|FILE... --tokens N --gpus N,N,... [options]",
     "  ergometer plan llama3-8b --tokens 1T --cluster hgx-h100 --gpus 64,128 --tp 4\n"
     "  ergometer plan job.yaml --phases run.yaml --mtbf 50000h --price-kwh 0.1\n",
     "MODEL", 0, 16, plan_flags, run_plan, true},
    {"loop", "Predict an iteration of post-training: rollouts, scores, updates",
     "loop PROGRAM.yaml [options]",
     "  ergometer loop grpo.yaml\n"
     "  ergometer loop grpo.yaml --json\n",
     "PROGRAM.yaml", 1, 1, loop_flags, run_loop},
    {"together", "Predict jobs that share a cluster: what each loses, what they draw",
     "together JOB.yaml JOB.yaml... [--cluster CLUSTER] [options]",
     "  ergometer together a.yaml b.yaml --cluster pod.yaml --placement interleaved\n"
     "  ergometer together a.yaml b.yaml c.yaml --feed '2 MW'\n"
     "  ergometer together a.yaml b.yaml --nodes 0-15 --nodes 16-23+32-39\n",
     "JOB.yaml", 2, 8, together_flags, run_together},
    {"swarm", "Predict a pipeline of far GPUs that join and leave, stage by stage",
     "swarm MODEL|FILE... --peers FILE.yaml [options]",
     "  ergometer swarm job.yaml --peers peers.yaml\n"
     "  ergometer swarm job.yaml --peers peers.yaml --compress-activations int8\n"
     "  ergometer swarm gpt3-1.3b --pp 4 --gbs 64 --peers peers.yaml --json\n",
     "MODEL", 0, 16, swarm_flags, run_swarm, true},
    {"proxy", "Find a small job that keeps what limits a large one, or judge one",
     "proxy MODEL|FILE... --cluster CLUSTER --gpus N [options]",
     "  ergometer proxy job.yaml --gpus 32 --save small.yaml\n"
     "  ergometer proxy gpt3-175b --cluster selene --tp 8 --pp 8 --dp 16 --gpus 32\n"
     "  ergometer proxy job.yaml --judge small.yaml\n",
     "MODEL", 0, 16, proxy_flags, run_proxy, true},
    {"validate", "Hold predictions to measured runs: errors row by row and by kind",
     "validate FILE.csv... [options]",
     "  ergometer validate training_runs.csv --tier A\n"
     "  ergometer validate my-runs.csv --by gpu,precision --limit 10\n"
     "  ergometer validate my-runs.csv --explain --json > errors.json\n"
     "  ergometer validate --microbench microbench.csv\n",
     "FILE.csv", 0, 16, validate_flags, run_validate},
    {"calibrate", "Fit the catalog's numbers to measured runs, cross-validated by group",
     "calibrate --truth FILE... | --device [GPU] | --from FILE JOB",
     "  ergometer calibrate --truth training_runs.csv,bulk.csv --out fitted\n"
     "  ergometer calibrate --truth training_runs.csv --catalog catalog\n"
     "  ergometer calibrate --truth training_runs.csv --leave-out source\n"
     "  ergometer calibrate --device 0 --out measured\n"
     "  ergometer calibrate --from recorded.run job.yaml --out twin\n",
     "FILE", 0, 16, calibrate_flags, run_calibrate},
    {"launch", "Write the scripts that run jobs for real, recorded; collect what came back",
     "launch FILE...|STUDY --for NAME --scheduler NAME --out FOLDER",
     "  ergometer launch job.yaml --for megatron --scheduler slurm --out runs --submit\n"
     "  ergometer launch study.yaml --for nemo --scheduler ssh --out runs --repeats 3\n"
     "  ergometer launch --collect runs\n",
     "JOB or STUDY", 0, 16, launch_flags, run_launch, true},
    {"record", "Record this machine's power, heat, clocks and traffic while a command runs",
     "record [options] [-- COMMAND...]",
     "  ergometer record -- torchrun --nproc-per-node 8 train.py\n"
     "  ergometer record --out job.run --hz 20 --tag run=baseline -- ./train.sh\n"
     "  ergometer record --duration 10m --source nvml,rapl\n"
     "  ergometer record --attach 4711\n"
     "  ergometer record --self-test -- ./train.sh --steps 20\n",
     "", 0, 0, record_flags, run_record, true},
    {"serve", "Watch jobs live: take what recorders of many nodes push, show it as one page",
     "serve --out DIR [--listen ADDRESS:PORT] [--token-file FILE]",
     "  ergometer serve --out watched\n"
     "  ergometer serve --listen :9500 --token-file token --out watched\n"
     "  ergometer record --push http://monitor:9500 --token-file token -- ./train.sh\n"
     "  ergometer analyze watched/4711.run\n",
     "", 0, 0, serve_flags, run_serve},
    {"analyze", "Tell where recorded time and power go: traces rank by rank, telemetry GPU by GPU",
     "analyze FILE|FOLDER... [options]",
     "  ergometer analyze rank0.json.gz\n"
     "  ergometer analyze traces/ --json\n"
     "  ergometer analyze nvidia-smi.csv\n"
     "  ergometer analyze result_0.txt power/result_0/\n",
     "FILE", 1, 65536, analyze_flags, run_analyze},
    {"import", "Keep traces and telemetry of other tools as a Run file",
     "import FILE|FOLDER... --out FILE",
     "  ergometer import traces/ --out job.run\n"
     "  ergometer analyze job.run\n",
     "FILE", 1, 65536, import_flags, run_import},
    {"merge", "Join what several nodes recorded of one job, or shards of a study or search",
     "merge FILE|FOLDER... [--out FILE]",
     "  ergometer merge node01.run node02.run --out job.run\n"
     "  ergometer merge node*.run traces/ --out job.run --reference node01\n"
     "  ergometer merge study-1.run study-2.run --out study.run\n"
     "  ergometer merge search-1 search-2 search-3\n",
     "FILE", 1, 65536, merge_flags, run_merge},
    {"report", "Show Runs as one page: an HTML file that needs no network",
     "report RUN...|JOB.yaml --what-if LIST -o FILE.html",
     "  ergometer simulate job.yaml --run job.run\n"
     "  ergometer report job.run -o job.html\n"
     "  ergometer report before.run after.run -o both.html --title 'TP 4 or TP 8'\n"
     "  ergometer report job.run --json > job.json\n"
     "  ergometer report job.yaml --what-if tp,pp,mbs,cap -o job.html\n",
     "RUN", 1, 64, report_flags, run_report},
    {"catalog", "List the built-in models, GPUs, nodes, clusters and software; show one",
     "catalog list [KIND] | catalog show [KIND] NAME",
     "  ergometer catalog list models\n"
     "  ergometer catalog show llama3-70b\n"
     "  ergometer catalog show cluster charllm-h200 > my-cluster.yaml\n",
     "list or show", 1, 3, catalog_flags, run_catalog},
    {"mcp", "Answer an assistant: a server of the Model Context Protocol on standard input", "mcp",
     "  ergometer mcp   (an MCP client starts it; docs/guide/ask-from-an-assistant.md)\n", "", 0, 0,
     mcp_flags, run_mcp},
    {"doctor", "Check that everything works on this machine", "doctor", "  ergometer doctor\n", "",
     0, 0, doctor_flags, run_doctor},
    {"completion", "Print the shell's completion script", "completion bash|zsh|fish",
     "  source <(ergometer completion bash)\n"
     "  ergometer completion fish > ~/.config/fish/completions/ergometer.fish\n",
     "bash, zsh or fish", 1, 1, completion_flags, run_completion},
});

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> flags = command.flags();
  flags.push_back(option("json", "", "output", "one JSON document on standard output"));
  flags.push_back(option("quiet", "", "output", "no notes on standard error").shortened("q"));
  flags.push_back(option("help", "all", "output", "this text; 'all': every option explained")
                      .shortened("h")
                      .with_optional_value()
                      .one_of({"all"}));
  return flags;
}

void Console::note(std::string_view text) const {
  if (!quiet) say(err, fmt::format("ergometer: {}\n", text));
}

}  // namespace ergometer::cli
