litgpt pretrain --config tinyllama.yaml --devices 8
