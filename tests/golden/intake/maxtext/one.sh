python3 MaxText/train.py llama2_7b.yml per_device_batch_size=2 ici_tensor_parallelism=2 ici_fsdp_parallelism=4 dcn_data_parallelism=1
