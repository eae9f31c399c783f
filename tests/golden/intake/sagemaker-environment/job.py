import os
from sagemaker.pytorch import PyTorch

def shared():
    return json.load(open("environment.json"))

environment = {"MODEL_ID": "Qwen/Qwen2.5-7B", "HF_TOKEN": os.environ["HF_TOKEN"]}
environment["MICRO_BATCH"] = "4"
place = dict(instance_type="ml.p4d.24xlarge", instance_count=2)
estimator = PyTorch(
    entry_point="run_it.py",
    role=role,
    environment=environment,
    distribution={"torch_distributed": {"enabled": True}},
    **place,
)
estimator.fit()
