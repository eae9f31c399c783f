NPROC_PER_NODE=2 swift sft --model Qwen/Qwen2.5-32B-Instruct --train_type lora --quant_bits 4 --quant_method bnb --dataset x \
  --torch_dtype bfloat16 --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --max_length 8192 --lora_rank 16 $MORE
