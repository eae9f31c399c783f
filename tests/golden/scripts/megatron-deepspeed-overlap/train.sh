cat > ds.json <<EOT
{"train_micro_batch_size_per_gpu": 4, "train_batch_size": 256, "bf16": {"enabled": true},
 "zero_optimization": {"stage": 1, "overlap_comm": true, "reduce_bucket_size": 5e7}}
EOT
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 256 --vocab-size 50257 --bf16 \
  --deepspeed --deepspeed_config ds.json --zero-stage 1 --no-pipeline-parallel
