torchrun --nproc_per_node=8 train.py --config configs/1B.py --launcher torch
