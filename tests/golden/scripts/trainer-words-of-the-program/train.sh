torchrun --nproc_per_node 8 train.py --model_name_or_path /models/our-llama --bf16 True --lazy_preprocess True \
  --padding_side left --per_device_train_batch_size 2 --model_max_length 2048
