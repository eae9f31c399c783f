composer -n 8 train/train.py mpt-30b.yaml train_loader.dataset.split=train_small max_duration=10ba
