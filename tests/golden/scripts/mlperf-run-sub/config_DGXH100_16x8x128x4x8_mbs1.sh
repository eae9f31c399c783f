source $(dirname ${BASH_SOURCE[0]})/config_common.sh
export MINIBS=128
export TENSOR_MODEL_PARALLEL=4
export PIPELINE_MODEL_PARALLEL=8
export MICRO_BATCH_SIZE=1
export DGXNNODES=16
export DGXNGPU=8
