#!/bin/bash
export MASTER_ADDR=192.168.0.1 MASTER_PORT=29500
mkdir -p examples
cat > ds_z3.json <<'EOF'
{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
 "gradient_clipping": "auto", "zero_allow_untested_optimizer": true, "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"},
 "zero_optimization": {"stage": 3, "overlap_comm": false, "contiguous_gradients": true, "sub_group_size": 1e9,
 "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
 "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true}}
EOF
cat > sft.yaml <<EOF
### model
model_name_or_path: Qwen/Qwen2.5-14B-Instruct
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: full
deepspeed: ds_z3.json

### dataset
dataset: identity,alpaca_en_demo
template: qwen
cutoff_len: 4096
packing: true
max_samples: 1000
overwrite_cache: true
preprocessing_num_workers: 16

### output
output_dir: saves/qwen2_5-14b/full/sft
logging_steps: 10
save_steps: 500

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
EOF
for NODE_RANK in 0 1; do
  ssh "node-$NODE_RANK" "cd $PWD && FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=$NODE_RANK MASTER_ADDR=$MASTER_ADDR MASTER_PORT=$MASTER_PORT NPROC_PER_NODE=8 llamafactory-cli train sft.yaml" &
done
wait
