#!/bin/bash
python train.py config/finetune_shakespeare.py --init_from=gpt2-medium --batch_size=4 --compile=False
