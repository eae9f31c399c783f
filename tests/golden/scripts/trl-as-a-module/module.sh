torchrun --nproc_per_node 8 -m trl.scripts.sft --model_name_or_path meta-llama/Meta-Llama-3-8B \
  --use_peft --lora_r 16 --lora_modules_to_save embed_tokens lm_head --per_device_train_batch_size 1 --bf16
