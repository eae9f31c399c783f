litgpt finetune_lora --config lora.yaml --devices 8
