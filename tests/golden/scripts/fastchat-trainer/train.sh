export WANDB_PROJECT=x
NUM_GPUS=4
MODEL=${MODEL:-meta-llama/Llama-2-7b-hf}
python -m torch.distributed.launch --nproc_per_node=$NUM_GPUS --master_port=20001 fastchat/train/train_mem.py \
    --model_name_or_path $MODEL  \
    --data_path data/dummy.json \
    --bf16 True \
    --output_dir output_vicuna \
    --num_train_epochs 3 \
    --per_device_train_batch_size 2 \
    --per_device_eval_batch_size 2 \
    --gradient_accumulation_steps 16 \
    --evaluation_strategy "no" \
    --fsdp "full_shard auto_wrap" \
    --fsdp_transformer_layer_cls_to_wrap 'LlamaDecoderLayer' \
    --tf32 True \
    --model_max_length 2048 \
    --gradient_checkpointing True \
    --lazy_preprocess True
