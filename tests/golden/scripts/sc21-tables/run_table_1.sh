#!/bin/bash
MODEL_SIZE=175
if [ ${MODEL_SIZE} == "1.7" ]; then
  TP=1; PP=1; MBS=16; GBS=512; NLS=24; HS=2304; NAH=24; NNODES=4
elif [ ${MODEL_SIZE} == "175" ]; then
  TP=8; PP=16; MBS=1; GBS=1536; NLS=96; HS=12288; NAH=96; NNODES=128
  MEGATRON_EXTRA_PARAMS="--activations-checkpoint-method uniform --num-layers-per-virtual-pipeline-stage 3"
else
  echo "Invalid configuration"; exit 1
fi
export JOB_NAME=results_table_1_model_size_${MODEL_SIZE}
. `pwd`/CONFIG.sh
. `pwd`/SBATCH.sh
exit 0
