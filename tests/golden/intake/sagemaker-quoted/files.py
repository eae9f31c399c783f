from sagemaker.modules.train import ModelTrainer
from sagemaker.modules.configs import Compute, SourceCode, InputData
from sagemaker.modules.distributed import Torchrun
compute = Compute(instance_type="ml.p5.48xlarge", instance_count=2)
source = SourceCode(source_dir="src", entry_script="train.py", requirements="requirements.txt")
mt = ModelTrainer(training_image="x", source_code=source, compute=compute, distributed=Torchrun(),
  hyperparameters={"model_name_or_path": "meta-llama/Llama-3.1-8B", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "bf16": True, "max_length": 4096, "packing": True, "gradient_checkpointing": True, "deepspeed": "ds_z3.json", "output_dir": "/opt/ml/model"})
mt.train()
