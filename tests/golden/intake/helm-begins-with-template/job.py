import os
from sagemaker.pytorch import PyTorch
est = PyTorch(entry_point="train.py", instance_type="ml.p4d.24xlarge", instance_count=int(os.environ["NODES"]),
  distribution={"torch_distributed": {"enabled": True}},
  hyperparameters={"model_name_or_path": "meta-llama/Llama-3.1-8B", "per_device_train_batch_size": 2, "bf16": True, "output_dir":"x"})
est.fit()
