from torchtitan.trainer import Trainer
from . import model_registry

def llama3_debugmodel() -> Trainer.Config:
    return Trainer.Config(
        hf_assets_path="./tests/assets/tokenizer",
        model_spec=model_registry("debugmodel"),
        training=TrainingConfig(local_batch_size=8, seq_len=2048, steps=10),
    )

def llama3_8b() -> Trainer.Config:
    return Trainer.Config(
        hf_assets_path="./assets/hf/Llama-3.1-8B",
        profiling=ProfilingConfig(enable_profiling=True, profile_freq=100),
        model_spec=model_registry("8B"),
        optimizer=OptimizersContainer.Config(lr=3e-4),
        training=TrainingConfig(
            local_batch_size=1,
            seq_len=8192,
            steps=1000,
        ),
        dataloader=HuggingFaceTextDataLoader.Config(dataset="c4"),
        checkpoint=CheckpointManager.Config(interval=500),
        activation_checkpoint=ActivationCheckpointConfig(mode="selective"),
    )

def llama3_8b_fp8() -> Trainer.Config:
    config = llama3_8b()
    config.training.local_batch_size = 2
    config.model_converters = ModelConvertersContainer.Config(converters=[Float8LinearConverter.Config(recipe_name="rowwise")])
    return config
