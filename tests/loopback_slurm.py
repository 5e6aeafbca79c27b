"""A real Slurm with two nodes of one core each, all on this machine."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged", "runuser")
NODES = {"n1": 17011, "n2": 17012}
# What Slurm waits for takes seconds, not minutes: lost nodes, processes that do not end, jobs that start again.
# A GPU is a name without a device.
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16818
AuthType=auth/munge
AuthInfo=cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmUser=root
SlurmdUser=root
SlurmdTimeout=10
SlurmctldTimeout=10
KillWait=10
MessageTimeout=5
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2,requeue_delay=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=2000 Gres=gpu:1 State=UNKNOWN"
)


def missing():
    """Why no Slurm can be started here, or None."""
    if os.geteuid() != 0:
        return "only root can start Slurm's daemons"
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    return f"no {', '.join(lacking)}: apt-get install slurm-wlm munge" if lacking else None


class LoopbackSlurm:
    """The daemons, which end with the context."""

    def __init__(self, folder):
        self.folder, self.configuration = folder, folder / "slurm.conf"
        self.environment = os.environ | {
            "SLURM_CONF": str(self.configuration),
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
        }

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        host = self.call("hostname", "-s").strip()
        (self.folder / "state").mkdir(parents=True)
        nodes = "\n".join(NODE.format(name=name, host=host, port=port) for name, port in NODES.items())
        self.configuration.write_text(CONFIGURATION.format(host=host, folder=self.folder, nodes=nodes))
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/zero\n")
        self._start_munge()
        self.call("slurmctld")
        for name in NODES:
            self.start_node(name)
        self.wait(lambda: self.call("sinfo", "-h", "-o", "%T").split() == ["idle"], "the nodes come up")

    def __exit__(self, *_):
        for path in self.folder.glob("*.pid"):
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                continue

    def _start_munge(self):
        if subprocess.run(["munge", "-n"], capture_output=True, check=False).returncode:
            run = Path("/run/munge")
            run.mkdir(exist_ok=True)
            shutil.chown(run, "munge", "munge")
            self.call("runuser", "-u", "munge", "--", "munged")

    def start_node(self, name):
        """Start a node's daemon."""
        self.call("slurmd", "-N", name)

    def kill_node(self, name):
        """Kill a node's daemon and its steps; the processes of its jobs live on."""
        os.kill(int((self.folder / f"slurmd.{name}.pid").read_text()), signal.SIGKILL)
        log = os.path.realpath(self.folder / f"slurmd.{name}.log")  # which they write, too
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_step = (path / "cmdline").read_bytes().startswith(b"slurmstepd")
                if is_step and log in map(os.path.realpath, (path / "fd").iterdir()):
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                continue

    def call(self, *command):
        """What a program prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def wait(self, condition, what, seconds=400):
        """Wait until a condition holds; `what` says for the failure which."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{what}: not within {seconds} s"
            time.sleep(0.2)
