export CUDA_VISIBLE_DEVICES=$(pick)
python train.py
