CUDA_VISIBLE_DEVICES=$(pick) llamafactory-cli train sft.yaml
