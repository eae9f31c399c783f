#!/bin/bash
accelerate launch \
    --config_file=fsdp_qlora.yaml \
    --num_processes 4 \
    trl/scripts/sft.py \
    --model_name_or_path mistralai/Mistral-7B-v0.1 \
    --dataset_name trl-lib/Capybara \
    --learning_rate 2.0e-4 \
    --num_train_epochs 1 \
    --packing \
    --max_length 4096 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --gradient_checkpointing \
    --torch_dtype bfloat16 \
    --bf16 \
    --use_peft \
    --load_in_4bit \
    --lora_r 32 \
    --lora_alpha 16 \
    --lora_target_modules q_proj v_proj \
    --eos_token '<|im_end|>' \
    --output_dir Mistral-SFT
