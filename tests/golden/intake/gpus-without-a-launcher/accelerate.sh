CUDA_VISIBLE_DEVICES=0,1 accelerate launch train.py
