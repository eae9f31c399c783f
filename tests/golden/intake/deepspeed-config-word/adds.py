import argparse
import deepspeed
parser = argparse.ArgumentParser()
parser.add_argument("--model_name_or_path")
parser.add_argument("--per_device_train_batch_size", type=int)
deepspeed.add_config_arguments(parser)
args = parser.parse_args()
