#!/bin/bash
python - > ds.json <<PY
import json
print(json.dumps({"zero_optimization": {"stage": 2}}))
PY
deepspeed --num_gpus 8 train.py --model_name_or_path x --per_device_train_batch_size 2 --max_seq_length 2048 --bf16 \
  --deepspeed ds.json
