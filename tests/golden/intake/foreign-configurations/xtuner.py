from mmengine.dataset import DefaultSampler
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from peft import LoraConfig
from xtuner.model import SupervisedFinetune
from xtuner.engine.runner import TrainLoop
pretrained_model_name_or_path = 'internlm/internlm2-7b'
batch_size = 1  # per_device
accumulative_counts = 16
max_length = 2048
pack_to_max_length = True
model = dict(
    type=SupervisedFinetune,
    llm=dict(
        type=AutoModelForCausalLM.from_pretrained,
        pretrained_model_name_or_path=pretrained_model_name_or_path,
        torch_dtype=torch.float16,
        quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True)),
    lora=dict(type=LoraConfig, r=64, lora_alpha=16, task_type='CAUSAL_LM'))
train_dataloader = dict(batch_size=batch_size, num_workers=0)
optim_wrapper = dict(type=AmpOptimWrapper, accumulative_counts=accumulative_counts, dtype='float16')
