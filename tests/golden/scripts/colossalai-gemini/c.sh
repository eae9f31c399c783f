#!/bin/bash
cat > hostfile <<H
127.0.0.1
H
colossalai run --nproc_per_node 8 --hostfile hostfile finetune.py --plugin "gemini_auto" --dataset "yizhongw/self_instruct" --model_path meta-llama/Llama-2-7b-hf --task_name "super_natural_instructions" --save_dir "output" --max_length 2048 --batch_size 4 --use_grad_checkpoint
