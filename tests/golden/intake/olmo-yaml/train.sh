torchrun --nnodes 4 --nproc_per_node=8 scripts/train.py OLMo-7B.yaml --run_name=x --model.n_layers=16 --device_train_microbatch_size=4 --save_overwrite
