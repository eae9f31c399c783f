export NNODES=${WORLD_SIZE:-2} NODE_RANK=${RANK:-0}
NPROC_PER_NODE=${GPUS} swift pt --model_id_or_path Qwen/Qwen2.5-14B --sft_type full --dtype bfloat16 --max_length 8192 --packing true \
  --attn_impl flash_attn --deepspeed zero3_offload --sequence_parallel_size 2 --gradient_checkpointing false --use_liger_kernel true $@
