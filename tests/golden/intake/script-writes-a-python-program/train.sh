cat > train.py <<PY
from transformers import TrainingArguments, Trainer, AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2-xl")
args = TrainingArguments("o", per_device_train_batch_size=${BS:-4}, bf16=True)
Trainer(model, args)
PY
torchrun --nproc_per_node=2 train.py
