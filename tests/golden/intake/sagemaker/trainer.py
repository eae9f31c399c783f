from sagemaker.modules.train import ModelTrainer
from sagemaker.modules.configs import Compute, SourceCode
from sagemaker.modules.distributed import Torchrun
compute = Compute(instance_type="ml.p5.48xlarge", instance_count=4, keep_alive_period_in_seconds=0)
source_code = SourceCode(source_dir="./src", entry_script="train.py", requirements="requirements.txt")
model_trainer = ModelTrainer(
    training_image=image, source_code=source_code, compute=compute, distributed=Torchrun(),
    hyperparameters={"model_name_or_path": "Qwen/Qwen2.5-7B", "per_device_train_batch_size": 4, "bf16": True, "max_seq_length": 4096},
)
model_trainer.train()
