from sagemaker.huggingface import HuggingFace
job = HuggingFace(entry_point="train.py", instance_type="ml.p4d.24xlarge", instance_cuont=4, role=role, py_version="py310",
                  distribution={"torch_distributed": {"enabled": True}},
                  hyperparameters={"model_name_or_path": "meta-llama/Llama-3.1-8B", "per_device_train_batch_size": 2, "bf16": True})
job.fit()
