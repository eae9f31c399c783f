export BATCH=2
torchrun --nproc_per_node 8 train.py --lr 2e-5 --bs 2 --lora
