"""A Slurm cluster of two virtual nodes, n1 and n2, on this machine, for tests.

    with virtual_cluster() as cluster:
        cluster.run("srun", "-N2", "-n4", "hostname")

All of it (controller, two node daemons, an authentication daemon with a key of its own) runs as the user who starts
it, from one scratch folder, on free ports, and is gone at the end: a Slurm of the machine's own is not touched. Raises
Unavailable where Slurm's programs are missing.
"""
import contextlib
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CPUS_PER_NODE = 4
START_LIMIT_S = 60
SKIPPED = 77
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")

# TmpFS by node: PMIx makes its folder there, and both nodes share one file system.
CONFIGURATION = """\
ClusterName=virtual
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 Port={ports[1]}
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 Port={ports[2]}
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


class Unavailable(Exception):
    """Slurm's programs are not installed."""


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """`environment` is what a command needs to reach the cluster; `folder` is its scratch folder."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "PATH": search_path(), "SLURM_CONF": str(folder / "slurm.conf"),
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.daemons = []

    def run(self, *words, check=True, timeout=120, **options):
        return subprocess.run([str(word) for word in words], env=self.environment, check=check, timeout=timeout,
                              capture_output=True, text=True, **options)

    def start(self, name, *words):
        log = open(self.folder / f"{name}.out", "w")
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log,
                                             start_new_session=True))
        log.close()

    def idle_nodes(self):
        answer = self.run("sinfo", "--noheader", "-o", "%D %t", check=False)
        return sum(int(line.split()[0]) for line in answer.stdout.splitlines() if line.split()[1] == "idle")

    def logs(self):
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-2000:]}"
                         for path in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out")))

    def wait_for(self, what, condition):
        end = time.monotonic() + START_LIMIT_S
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} after {START_LIMIT_S} s\n{self.logs()}")
            time.sleep(0.1)

    def stop(self):
        self.run("scancel", "--full", "--user", str(os.getuid()), check=False)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()


def configure(folder, more):
    for name in ("munge", "state", "spool/n1", "spool/n2", "tmp/n1", "tmp/n2"):
        (folder / name).mkdir(parents=True)
    (folder / "munge").chmod(0o755)
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.getuid()).pw_name, folder=folder,
        ports=free_ports(3), cpus=CPUS_PER_NODE) + more.format(folder=folder))


def run_test(main):
    """Runs a test script; where Slurm is missing it ends with the status by which ctest skips it."""
    try:
        main()
    except Unavailable as reason:
        print(reason)
        sys.exit(SKIPPED)


@contextlib.contextmanager
def virtual_cluster(more="", scripts=None):
    """`more` are lines of slurm.conf, and `scripts` shell scripts by name in the scratch folder, which lines call {folder}."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=search_path())]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    # Not the folder of TMPDIR: socket paths are limited to 107 characters.
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        configure(folder, more)
        for script, text in (scripts or {}).items():
            (folder / script).write_text(text.format(folder=folder))
            (folder / script).chmod(0o755)
        cluster = Cluster(folder)
        munge = folder / "munge"
        try:
            # --force: it would refuse a folder below one that others may write to, as /tmp is.
            cluster.start("munged", "munged", "--foreground", "--force", f"--socket={munge}/socket",
                          f"--key-file={munge}/key", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed",
                          f"--log-file={munge}/log")
            cluster.wait_for("no authentication daemon", (munge / "socket").exists)
            cluster.start("slurmctld", "slurmctld", "-D", "-i")
            for node in ("n1", "n2"):
                cluster.start(f"slurmd-{node}", "slurmd", "-D", "-N", node)
            cluster.wait_for("not two idle nodes", lambda: cluster.idle_nodes() == 2)
            yield cluster
        finally:
            cluster.stop()
