export BATCH=2
SEQ=4096 torchrun --nproc_per_node 8 train.py
