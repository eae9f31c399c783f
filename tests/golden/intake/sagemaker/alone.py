from sagemaker.pytorch import PyTorch
est = PyTorch(entry_point="sft.py", instance_type="ml.g5.12xlarge", instance_count=1, hyperparameters={"epochs": 1, "model_name_or_path": "Qwen/Qwen2.5-0.5B", "per_device_train_batch_size": 4, "max_seq_length": 1024})
