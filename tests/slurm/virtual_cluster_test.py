#!/usr/bin/env python3
"""The virtual Slurm cluster runs steps, arrays and PMIx over both of its nodes. Ends with 77 where Slurm is missing."""
from virtual_cluster import run_test, virtual_cluster


def main():
    with virtual_cluster() as cluster:
        nodes = cluster.run("srun", "-N2", "--ntasks-per-node=2", "printenv", "SLURMD_NODENAME").stdout.split()
        assert sorted(nodes) == ["n1", "n1", "n2", "n2"], nodes
        ranks = cluster.run("srun", "--mpi=pmix", "-N2", "-n4", "printenv", "PMIX_RANK").stdout.split()
        assert sorted(ranks) == ["0", "1", "2", "3"], ranks
        script = "#!/bin/sh\necho $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT\n"
        cluster.run("sbatch", "--wait", "--array=0-3", f"--output={cluster.folder}/out-%a", input=script)
        said = [(cluster.folder / f"out-{i}").read_text() for i in range(4)]
        assert said == [f"{i} of 4\n" for i in range(4)], said


if __name__ == "__main__":
    run_test(main)
