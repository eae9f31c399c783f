#!/bin/bash
sbatch -p ${SLURM_PARTITION} -A ${SLURM_ACCOUNT} --job-name=${JOB_NAME} --nodes=${NNODES} --export=NTASKS_PER_NODE,options,JOB_NAME SRUN.sh
exit 0
