import sagemaker
from sagemaker.huggingface import HuggingFace

role = sagemaker.get_execution_role()
hyperparameters = {
    "model_name_or_path": "meta-llama/Llama-2-7b-hf",
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "gradient_checkpointing": True,
    "bf16": True,
    "max_seq_length": 2048,
    "num_train_epochs": 3,
    "output_dir": "/opt/ml/model",
    "fsdp": "full_shard auto_wrap",
    "fsdp_transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
}
huggingface_estimator = HuggingFace(
    entry_point="run_clm.py",
    source_dir="./scripts",
    instance_type="ml.p4d.24xlarge",
    instance_count=2,
    role=role,
    transformers_version="4.28",
    pytorch_version="2.0",
    py_version="py310",
    hyperparameters=hyperparameters,
    distribution={"torch_distributed": {"enabled": True}},
)
huggingface_estimator.fit({"train": "s3://bucket/train"})
