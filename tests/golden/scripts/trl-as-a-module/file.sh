accelerate launch --num_processes 8 examples/scripts/sft.py --model_name_or_path meta-llama/Meta-Llama-3-8B \
  --per_device_train_batch_size 1 --bf16
