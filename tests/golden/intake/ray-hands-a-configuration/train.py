import os
import ray
import torch
from ray.train import ScalingConfig, RunConfig
from ray.train.torch import TorchTrainer
from ray.train.huggingface.transformers import prepare_trainer, RayTrainReportCallback
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM, AutoTokenizer

model_name = "EleutherAI/pythia-6.9b"
use_gpu = True
num_workers = 16
block_size = 512

def train_func(config):
    os.environ["OMP_NUM_THREADS"] = str(4)
    batch_size = config.get("batch_size", 4)
    deepspeed = {
        "fp16": {"enabled": "auto", "initial_scale_power": 8},
        "bf16": {"enabled": "auto"},
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu"},
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            "gather_16bit_weights_on_model_save": True,
            "round_robin_gradients": True,
        },
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
    }
    training_args = TrainingArguments(
        "output",
        logging_steps=1,
        save_strategy="steps",
        per_device_train_batch_size=batch_size,
        learning_rate=config.get("lr", 2e-5),
        bf16=True,
        gradient_checkpointing=True,
        deepspeed=deepspeed,
        push_to_hub=False,
    )
    model = AutoModelForCausalLM.from_pretrained(model_name, use_cache=False)
    trainer = Trainer(model=model, args=training_args)
    trainer.add_callback(RayTrainReportCallback())
    trainer = prepare_trainer(trainer)
    trainer.train()

trainer = TorchTrainer(
    train_loop_per_worker=train_func,
    train_loop_config={"epochs": 1, "batch_size": 16},
    scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=use_gpu, resources_per_worker={"GPU": 1, "CPU": 8}),
)
results = trainer.fit()
