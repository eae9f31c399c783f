python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3-70b per_device_batch_size=2 ici_fsdp_parallelism=16
