torchrun --nproc_per_node 4 finetune.py --micro_batch_size=8 --batch_size 128
