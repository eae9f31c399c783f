import sagemaker
from sagemaker.pytorch import PyTorch
role = sagemaker.get_execution_role()
hyperparameters = {"model_name_or_path": "tiiuae/falcon-7b", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "bf16": True, "block_size": 2048, "fsdp": "\"full_shard auto_wrap\"", "fsdp_transformer_layer_cls_to_wrap": "FalconDecoderLayer", "gradient_checkpointing": True, "do_train": True, "output_dir": "/opt/ml/model"}
est = PyTorch(entry_point="run_clm.py", source_dir="./scripts", instance_type="ml.p4d.24xlarge", instance_count=4, role=role, framework_version="2.0", py_version="py310",
   hyperparameters=hyperparameters, distribution={"torch_distributed": {"enabled": True}})
est.fit({"train": "s3://x"})
