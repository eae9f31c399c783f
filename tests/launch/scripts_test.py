#!/usr/bin/env python3
"""What `ergometer launch` writes for every framework and scheduler: shell that bash and shellcheck take, YAML that reads,
words that survive quotes, and folders that run: through an ssh that stays on this machine, and as a pod would.

    tests/launch/scripts_test.py ERGOMETER
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FRAMEWORKS = ("megatron", "nemo", "torchtitan")
SCHEDULERS = ("slurm", "ssh", "k8s")
ODD = "a \"b\" 'c' $HOME `id` \\ *; #é"
JOB = "model: llama3-8b\ncluster: hgx-h100\ngpus: 16\ngbs: 16\nseq: 2048\nfsdp: true\npower_cap: 500\n"
# Docker and Apptainer, every option that reaches a script.
SITE = """\
container: image
container_runtime: {runtime}
mounts: [/data, "/more data"]
ergometer: {ergometer}
torchrun: [{python}, {torchrun}]
framework: {odd}
data: {odd}
tokenizer: {odd}
record: [--hz, "20", --source, proc]
environment: {{ODD: {odd}}}
secrets: [{secret}]
hosts: [one, user@two]
account: a
partition: b
time_limit: "30"
sbatch_arguments: [--qos=high]
volume_claim: shared
volume_path: /shared
folder: /shared/folder
"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Folders:
    def __init__(self, ergometer, scratch):
        self.ergometer, self.scratch = ergometer, scratch
        (scratch / "job.yaml").write_text(JOB)

    def launch(self, *words, status=0):
        done = subprocess.run([self.ergometer, "launch", *map(str, words)], capture_output=True, text=True)
        check(done.returncode == status, (words, done))
        return done

    def write(self, framework, scheduler, out, runtime="docker", job="job.yaml", edit=lambda site: site, status=0):
        site = SITE.format(runtime=runtime, ergometer=json.dumps(str(self.ergometer)), python=json.dumps(sys.executable),
                           torchrun=json.dumps(str(HERE / "pretend_torchrun.py")), odd=json.dumps(ODD),
                           secret="HF_TOKEN=hugging-face/token" if scheduler == "k8s" else "HF_TOKEN")
        (self.scratch / "site.yaml").write_text(edit(site))
        self.launch(self.scratch / job, "--for", framework, "--scheduler", scheduler, "--out", out, "--site",
                    self.scratch / "site.yaml", "--steps", "6", "--repeats", "2", "--cooldown", "1s", status=status)
        return out


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def scripts_in(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".sh", ".sbatch"))


def check_shell(folder):
    scripts = scripts_in(folder)
    check(len(scripts) >= 7, scripts)
    for script in scripts:
        done = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
        check(done.returncode == 0, done)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True)
        check(done.returncode == 0, done.stdout)


def check_yaml(folder):
    for path in folder.rglob("*.yaml"):
        try:
            import yaml
        except ImportError:
            return
        documents = list(yaml.safe_load_all(path.read_text()))
        if path.name == "kubernetes.yaml":
            check([d["kind"] for d in documents] == ["Service", "Job"], documents)
            pod = documents[1]["spec"]["template"]["spec"]
            check(pod["subdomain"] == documents[0]["metadata"]["name"], documents)
            check(pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 8}, pod)


def check_words(folder):
    """What the shell reads is what the site file says."""
    for name in ("FRAMEWORK", "DATA", "TOKENIZER", "ODD"):
        said = subprocess.run(["bash", "-c", f"source settings.sh; printf %s \"${name}\""], cwd=folder,
                              capture_output=True, text=True).stdout
        check(said == ODD, (name, said))


def check_all(folders):
    for scheduler in SCHEDULERS:
        for framework in FRAMEWORKS:
            for runtime in ("apptainer", "docker"):
                out = folders.write(framework, scheduler, folders.scratch / f"{framework} {scheduler} {runtime}", runtime)
                check_shell(out)
                check_yaml(out)
                check_words(out)
    out = folders.write("megatron", "slurm", folders.scratch / "pyxis", "pyxis")
    check_shell(out)


def check_idempotent(folders):
    """The same again gives the same bytes; anything else in its place is left alone, and said."""
    out = folders.scratch / "twice"
    first = contents(folders.write("megatron", "ssh", out))
    check(contents(folders.write("megatron", "ssh", folders.scratch / "beside")) == first, "other bytes")
    check(contents(folders.write("megatron", "ssh", out)) == first, "another folder")
    folders.write("nemo", "ssh", out, status=2)
    check(contents(out) == first, "a refused folder was changed")
    check(not list(folders.scratch.glob("*.partial")), "a draft is left")
    (folders.scratch / "a file").write_text("x")
    folders.write("nemo", "ssh", folders.scratch / "a file", status=2)


def without_container(site):
    return "\n".join(line for line in site.splitlines() if not line.startswith(("container", "mounts"))) + "\n"


def check_ssh(folders):
    """Two hosts that are this machine; secrets come over the connection and stand on no command line."""
    fake = folders.scratch / "bin"
    fake.mkdir()
    (fake / "ssh").write_text("#!/bin/bash\n"
                              f"echo \"$*\" >> {fake}/said\n"
                              "while [[ $1 == -* ]]; do [[ $1 == -o ]] && shift; shift; done\n"
                              "shift\nexec env -u HF_TOKEN sh -c \"$1\"\n")
    (fake / "ssh").chmod(0o755)
    (folders.scratch / "plain.yaml").write_text(JOB.replace("power_cap: 500\n", ""))
    odd = folders.scratch / "it's a \"folder\" $x"
    folders.write("megatron", "ssh", odd, job="plain.yaml", edit=without_container)
    environment = {**os.environ, "PATH": f"{fake}:{os.environ['PATH']}", "HF_TOKEN": "a hidden\nvalue",
                   "MASTER_ADDR": "127.0.0.1", "PRETEND_STEP_MS": "20"}
    (odd / "settings.sh").write_text((odd / "settings.sh").read_text() + "CLOCK_PORT=0\n")
    run = lambda: subprocess.run(["bash", odd / "run-all.sh"], env=environment, capture_output=True, text=True)
    done = run()
    logs = "\n".join(path.read_text() for path in odd.glob("runs/*/attempts/*/*.log"))
    check(done.returncode == 0 and done.stdout.count("is finished") == 2, (done, logs))
    check("cooling down for 1 s" in done.stdout or "cooling down" not in done.stdout, done)
    collected = json.loads(folders.launch("--collect", odd, "--json").stdout)
    check(all(run["recordings"] == 2 and run["steps"] == 6 for run in collected["runs"]), collected)
    check(collected["jobs"][0]["measured"] == 2 and "deviation_s" in collected["jobs"][0], collected)
    done = run()
    check(done.returncode == 0 and len(list(odd.glob("runs/*/attempts/*"))) == 2, done)
    said = (fake / "said").read_text()
    check("a hidden" not in said and said.count("node.sh") == 4, said)
    for path in odd.rglob("*"):
        check(not path.is_file() or b"a hidden" not in path.read_bytes(), path)
    check_lock(odd, run)
    # One node fails: the other is stopped, and the run is not finished.
    (odd / "runs/001/finished").unlink()
    die = folders.scratch / "die"
    die.touch()
    environment.update(PRETEND_DIE=str(die), PRETEND_STEPS="400")
    done = run()
    check(done.returncode == 1 and "failed: 001" in done.stderr, done)
    check(not (odd / "runs/001/finished").exists() and not (odd / "runs/001/running").exists(), "state")
    check_stop(odd, environment)
    check_dead_recorder(odd, environment)


def processes_of(out):
    """Trainings and recorders of this folder that are alive."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, state = path.read_bytes(), (path.parent / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z" and str(out).encode() in words and (b"record" in words or b"train.sh" in words):
            found.append(int(path.parent.name))
    return found


def wait_until(what, condition):
    end = time.monotonic() + 30
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.05)


def start_run(out, environment):
    """run-all.sh, in the midst of the first run that is not finished."""
    before = set(out.glob("runs/*/attempts/*/node-*.log"))
    process = subprocess.Popen(["bash", out / "run-all.sh"], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    wait_until("no node trains", lambda: sum("iteration" in log.read_text() for log in
                                             set(out.glob("runs/*/attempts/*/node-*.log")) - before) == 1)
    return process


def check_stop(out, environment):
    """Stopping run-all.sh ends the run on its nodes, and starts no other."""
    for path in out.glob("runs/*/finished"):
        path.unlink()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        attempts = len(list(out.glob("runs/*/attempts/*")))
        (out / "last_end").unlink(missing_ok=True)
        process = start_run(out, environment)
        check((out / "runs/001/running").exists(), "no lock")
        process.send_signal(number)
        said = process.communicate(timeout=60)[0]
        check(process.returncode == 130 and not processes_of(out), (number, said, processes_of(out)))
        check((out / "last_end").exists() and not list(out.glob("runs/*/running")), said)
        check(len(list(out.glob("runs/*/attempts/*"))) == attempts + 1, said)


def check_dead_recorder(out, environment):
    (out / "runs/002/finished").write_text("x\n")
    process = start_run(out, environment)
    for path in out.glob("runs/001/attempts/*/node-0.pid"):
        os.kill(int(path.read_text().split()[1]), signal.SIGKILL)
    said = process.communicate(timeout=60)[0]
    check(process.returncode == 1 and "status 137" in said and not processes_of(out), (said, processes_of(out)))


def check_lock(out, run):
    """Whoever is at a run keeps others from it, and nobody who is dead does."""
    running = out / "runs/001/running"
    for process, status in ((os.getpid(), 1), (2 ** 22 + 1, 0)):
        (out / "runs/001/finished").unlink()
        running.write_text(f"{os.uname().nodename} {process}\n")
        done = run()
        check(done.returncode == status and running.exists() == (status == 1), done)
        if status == 1:
            check("is running" in done.stderr, done)
            (out / "runs/001/finished").write_text("x\n")


def fake_program(folders, name, text):
    folder = folders.scratch / f"{name} folder"
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/bash\nfolder='{folder}'\necho \"$*\" >> \"$folder/said\"\n{text}")
    (folder / name).chmod(0o755)
    return folder, {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def check_kubectl(folders):
    """Runs are applied one by one; a job that failed is removed first, one that is complete is passed."""
    out = folders.write("megatron", "k8s", folders.scratch / "cluster", job="plain.yaml")
    folder, environment = fake_program(folders, "kubectl", """\
case $1 in
  get) if [[ -e $folder/$3 ]]; then cat "$folder/$3"; fi ;;
  delete) rm "$folder/ergometer-${4: -3}" ;;
  apply) printf "$(cat "$folder/identity")|Complete " > "$folder/ergometer-$(basename "$(dirname "${@: -1}")")" ;;
esac
""")
    identity = re.search(r"ergometer_folder: (\w+)", (out / "runs/001/kubernetes.yaml").read_text())[1]
    (folder / "identity").write_text(identity)
    (folder / "ergometer-001").write_text(f"{identity}|Failed ")
    (folder / "ergometer-002").write_text("another|Complete ")
    done = subprocess.run(["bash", out / "run-all.sh"], env=environment, capture_output=True, text=True)
    check(done.returncode == 1 and "another folder's" in done.stderr and "failed: 002" in done.stderr, done)
    (folder / "said").unlink()
    (folder / "ergometer-001").write_text(f"{identity}|Failed ")
    (folder / "ergometer-002").write_text(f"{identity}|Complete ")
    done = subprocess.run(["bash", out / "run-all.sh"], env=environment, capture_output=True, text=True)
    said = (folder / "said").read_text()
    check(done.returncode == 0 and done.stdout.count("is finished") == 2, done)
    check(said.count("apply") == 1 and said.count(f"delete jobs --selector ergometer_folder={identity},ergometer_run=001") == 1, said)


def check_submit(folders):
    """Where a later sbatch fails, what was submitted before is said."""
    (folders.scratch / "sizes.yaml").write_text(
        "title: a\nquestion: b?\nbase: {model: llama3-8b, cluster: hgx-h100, gbs: 16, seq: 2048, tp: 8}\naxes:\n  gpus: [8, 16]\n")
    _, environment = fake_program(folders, "sbatch", "[[ $* != *2x8* ]] && echo 4711\n")
    done = subprocess.run([folders.ergometer, "launch", folders.scratch / "sizes.yaml", "--for", "megatron", "--scheduler",
                           "slurm", "--out", folders.scratch / "sizes", "--submit"], env=environment, capture_output=True,
                          text=True)
    check(done.returncode == 3 and "submit-1x8-gpus.sbatch is submitted as job 4711" in " ".join(done.stderr.split()), done)


def check_pod(folders):
    """As two pods would, with a power cap that is set before and taken back afterwards."""
    out = folders.write("megatron", "k8s", folders.scratch / "pods")
    folder, environment = fake_program(
        folders, "nvidia-smi", "[[ $1 == --query* ]] && printf '0, 700.00\\n1, 650.00\\n'; true\n")
    (out / "settings.sh").write_text((out / "settings.sh").read_text() + "CLOCK_PORT=0\n")
    environment.update(HF_TOKEN="x", PRETEND_STEP_MS="20", ERGOMETER_ATTEMPT="4711")

    def pods(ranks=(0, 1)):
        return [subprocess.Popen(["bash", out / "node.sh", "001", "2", "127.0.0.1"], stdout=subprocess.PIPE, text=True,
                                 env={**environment, "JOB_COMPLETION_INDEX": str(i), "NODE_NAME": f"node{i}",
                                      "GPUS_BEFORE": str(folder / f"before{i}")})
                for i in ranks]

    # A node.sh before them was killed while its cap was set.
    (folder / "before0").write_text("0, 600.00\n")
    first = pods([0])
    attempt = out / "runs/001/attempts/k8s-4711"
    wait_until("the first pod does not end", (attempt / "done-0").exists)
    check(not (out / "runs/001/finished").exists(), "finished before the second pod has ended")
    for pod in first + pods([1]):
        pod.communicate()
        check(pod.returncode == 0, [path.read_text() for path in out.glob("runs/001/attempts/*/*.log")])
    check((out / "runs/001/finished").read_text() == "k8s-4711\n", "state")
    said = (folder / "said").read_text()
    check(said.count("--power-limit=500") == 2 and said.count("--id=1 --power-limit=650.00") == 2, said)
    check(said.count("--id=0 --power-limit=600.00") == 1 and not list(folder.glob("before*")), said)
    for pod in pods():
        check("is finished" in pod.communicate()[0], "a finished run was run again")


def main():
    ergometer = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="launch-") as name:
        folders = Folders(ergometer, pathlib.Path(name))
        check_all(folders)
        check_idempotent(folders)
        check_ssh(folders)
        check_pod(folders)
        check_kubectl(folders)
        check_submit(folders)


if __name__ == "__main__":
    main()
