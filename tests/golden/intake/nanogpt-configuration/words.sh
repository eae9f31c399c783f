# own fork of nanoGPT: no train.py here
DS=openwebtext
ARGS="--dataset=$DS --n_layer=24 --n_head=16 --n_embd=1024 --batch_size=8 --gradient_accumulation_steps=64 --block_size=1024"
torchrun --nproc_per_node=8 train.py $ARGS --out_dir=out-$RANDOM
