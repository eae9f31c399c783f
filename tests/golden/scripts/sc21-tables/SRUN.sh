#!/bin/bash
#SBATCH -t 0:30:00 --exclusive --mem=0 --overcommit --ntasks-per-node=8
THIS_DIR=`pwd`
run_cmd="python -u pretrain_gpt.py ${options}"
srun -l --container-image ${IMAGE} --container-mounts "$THIS_DIR:/w" sh -c "${run_cmd}"
