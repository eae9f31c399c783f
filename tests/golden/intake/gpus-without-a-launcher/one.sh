CUDA_VISIBLE_DEVICES=2 python train.py
